/** Movements that one key asks for and another one approves. */

import type { Act } from '../domain/act.ts';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import type { MovementSide } from '../domain/event.ts';
import { limitOf, type OperatorKey } from '../domain/operator-rights.ts';
import { parseDecimal, toScaledDown } from '../domain/units.ts';
import { checkSameMovement } from '../engine/index.ts';
import type { WaitingMovement } from '../ledger/index.ts';
import { findAsset, type ScaledMovement } from './movements.ts';
import type { Servers } from './servers.ts';

/** True if the key may not move the amount alone. */
export function isAboveLimit(
  { twoPersons }: Pick<OperatorKey, 'twoPersons'>,
  { asset, amountAtoms, scale }: ScaledMovement,
): boolean {
  const limit = limitOf(twoPersons, asset);
  // The engine refuses an amount that is not positive, or beyond every balance.
  if (limit === undefined || amountAtoms <= 0n || amountAtoms >= 2n ** 63n) return false;
  return amountAtoms > toScaledDown(parseDecimal(limit)!, scale);
}

/**
 * Resolves when another key approved the movement.
 * @throws OperatorRefusal APPROVAL_NEEDED while it waits; APPROVAL_REFUSED; REFERENCE_CONFLICT; SCALE_CHANGED
 */
export async function requireApproval(
  { ledger }: Pick<Servers, 'ledger'>,
  key: string,
  { scale, ...movement }: ScaledMovement,
  reason: string,
): Promise<void> {
  const found = await ledger.waiting.ask(key, movement, scale, reason);
  if (found === undefined)
    throw new Refusal('SERVICE_UNAVAILABLE', 'too many movements of the key wait for approval');
  checkScale(found, scale);
  checkSameMovement(movement, found.movement);
  if (found.state === 'refused')
    throw new OperatorRefusal('APPROVAL_REFUSED', `${movement.reference} was refused: nothing was moved`);
  if (found.key !== key)
    throw new OperatorRefusal('REFERENCE_CONFLICT', `another key asked for ${movement.reference}`);
  if (found.state === 'waiting')
    throw new OperatorRefusal(
      'APPROVAL_NEEDED',
      `${movement.reference} waits until ${new Date(found.expiresAtMs).toISOString()} for the approval of another key: nothing was moved`,
    );
}

/** Atoms of another scale are another amount. */
function checkScale({ movement, scale }: WaitingMovement, now: number): void {
  if (scale !== now)
    throw new OperatorRefusal(
      'SCALE_CHANGED',
      `${movement.asset} had ${scale} decimals when ${movement.reference} was asked for, and has ${now}: nothing was moved`,
    );
}

/** Whose approval it is, and the movement. */
interface Decision {
  readonly side: MovementSide;
  readonly reference: string;
  /** When the decided movement was asked for: later the reference may wait with another content. */
  readonly askedAtMs: number;
  readonly isApproved: boolean;
}

/**
 * Approves or refuses a movement that waits, as an act. The same decision again changes nothing.
 * @returns the movement
 * @throws OperatorRefusal NOT_WAITING | APPROVAL_REFUSED | SCALE_CHANGED; REFERENCE_CONFLICT when it was approved before, or
 *   asked for at another time; Refusal FORBIDDEN to the key that asked for it
 */
export async function decideMovement(
  { engine, ledger }: Servers,
  { side, reference, askedAtMs, isApproved }: Decision,
  act: Act,
): Promise<WaitingMovement> {
  let decided: WaitingMovement | undefined;
  const state = isApproved ? 'approved' : 'refused';
  await ledger.waiting.decide(side, reference, async (found) => {
    const isOver = found === undefined || (found.state !== 'refused' && found.isExpired);
    if (isOver) throw new OperatorRefusal('NOT_WAITING', `no ${side} waits under the reference ${reference}`);
    if (found.key === act.by) throw new Refusal('FORBIDDEN', 'another key has to decide it');
    if (found.askedAtMs !== askedAtMs)
      throw new OperatorRefusal(
        'REFERENCE_CONFLICT',
        `${reference} was asked for anew at ${new Date(found.askedAtMs).toISOString()}: nothing was decided`,
      );
    decided = { ...found, state };
    if (found.state === state) return state;
    if (found.state === 'refused')
      throw new OperatorRefusal('APPROVAL_REFUSED', `${reference} was refused: nothing was moved`);
    if (found.state === 'approved')
      throw new OperatorRefusal('REFERENCE_CONFLICT', `${reference} was approved before`);
    const { kind, wallet, asset, amountAtoms } = found.movement;
    if (isApproved) checkScale(found, (await findAsset(engine, asset)).scale);
    const name = isApproved ? 'movement approve' : 'movement refuse';
    const after = `${kind} ${asset} ${amountAtoms}`;
    await engine.acts.note({ name, wallet, subject: reference, after }, act);
    return state;
  });
  return decided!;
}
