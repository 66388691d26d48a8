/** Books deposits and withdrawals exactly once, even when the answer to the first attempt was lost. */

import type { Act } from '../domain/act.ts';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import type { AccountMoved, MovementKind } from '../domain/event.ts';
import type { Asset } from '../domain/market.ts';
import { type Decimal, formatDecimal, toScaled } from '../domain/units.ts';
import { endsWithdrawal } from '../domain/withdrawal-states.ts';
import { checkSameMovement, type Engine, type EngineMoment, type PostgresLook } from '../engine/index.ts';
import type { Servers } from './servers.ts';
import { untilAllSettled } from './until-settled.ts';

/** Maximum look-ups in Postgres. A second is for a first one that took minutes. */
const LOOKS = 3;

/**
 * Moves funds under a reference.
 * @param scale decimals of the asset that the amount was made with
 * @param takenBy name of whoever took the withdrawal that is confirmed
 * @returns `duplicate`: true if the reference already belongs to this same movement, so that nothing was moved now;
 *   `owedAtoms` as in `AccountMoved`
 * @throws OperatorRefusal REFERENCE_CONFLICT when the reference belongs to another movement, and what
 *   `Engine.moveFunds` throws
 */
export async function moveFundsOnce(
  servers: Servers,
  movement: AccountMoved,
  scale?: number,
  act?: Act,
  takenBy?: string,
): Promise<{ duplicate: boolean; owedAtoms: bigint }> {
  const { movement: booked, duplicate } = await moveUnlessKnown(servers, movement, scale, act, takenBy);
  if (duplicate) checkSameMovement(movement, booked);
  return { duplicate, owedAtoms: booked.owedAtoms ?? 0n };
}

/** Longest wait for a settlement that makes no progress, when a movement to reverse may not be settled yet. */
const PATIENCE_MS = 10_000;

/**
 * Checks that Postgres has the movement that another one reverses. The engine checks that enough of it is left, after it
 * has looked whether the reversal itself is booked.
 * @returns atoms of it that Postgres has no reversal of
 * @throws OperatorRefusal UNKNOWN_MOVEMENT | NO_REVERSAL | SETTLEMENT_STALLED
 */
async function checkReversal(servers: Servers, movement: AccountMoved, reverses: string): Promise<bigint> {
  const { ledger } = servers;
  const { kind, wallet, asset, amountAtoms } = movement;
  await untilAllSettled(servers, PATIENCE_MS);
  const reversed = await ledger.journal.movement(kind === 'credited' ? 'debited' : 'credited', reverses);
  if (reversed === null || (reversed.kind !== 'credited' && reversed.kind !== 'debited'))
    throw new OperatorRefusal(
      'UNKNOWN_MOVEMENT',
      `no ${kind === 'credited' ? 'withdrawal' : 'deposit'} has the reference ${reverses}`,
    );
  if (reversed.wallet !== wallet || reversed.asset !== asset || reversed.amountAtoms < amountAtoms)
    throw new OperatorRefusal(
      'NO_REVERSAL',
      `${reverses} moved ${reversed.amountAtoms} atoms of ${reversed.asset} for ${reversed.wallet}: a reversal has the same wallet and asset, and at most this amount`,
    );
  const leftAtoms = reversed.amountAtoms - (await ledger.journal.reversedAtoms(kind, reverses));
  return leftAtoms > 0n ? leftAtoms : 0n;
}

/**
 * Checks that Postgres has the request that a step ends, which the engine has forgotten.
 * @throws OperatorRefusal UNKNOWN_WITHDRAWAL
 */
async function checkRequest({ journal }: Servers['ledger'], reference: string): Promise<void> {
  if ((await journal.movement('requested', reference))?.kind !== 'requested')
    throw unknownWithdrawal(reference);
}

export const unknownDeposit = (reference: string): OperatorRefusal =>
  new OperatorRefusal('UNKNOWN_DEPOSIT', `no deposit was announced under the reference ${reference}`);

export const unknownWithdrawal = (reference: string): OperatorRefusal =>
  new OperatorRefusal('UNKNOWN_WITHDRAWAL', `no withdrawal was requested under the reference ${reference}`);

/**
 * Moves funds under a reference unless the reference already belongs to a movement.
 * @param scale decimals of the asset that the amount was made with
 * @returns the movement that was made now, or with `duplicate` the earlier one
 * @throws what `Engine.moveFunds` throws
 */
export async function moveUnlessKnown(
  servers: Servers,
  movement: AccountMoved,
  scale?: number,
  act?: Act,
  takenBy?: string,
): Promise<{ movement: AccountMoved; duplicate: boolean }> {
  const { engine, ledger } = servers;
  return answered<PostgresLook, { movement: AccountMoved; duplicate: boolean }>(async (checked) => {
    const moved = await engine.funds.move(movement, checked, scale, act, takenBy);
    if (moved.outcome === 'moved') return { result: { movement: moved.movement, duplicate: false } };
    if (moved.outcome === 'claimed') return { result: { movement: moved.movement, duplicate: true } };
    const { kind, reference } = movement;
    const earlier =
      (await ledger.journal.movement(kind, reference)) ??
      (kind === 'announced' ? await ledger.journal.movement('credited', reference) : null);
    if (earlier !== null) return { result: { movement: earlier, duplicate: true } };
    return { checked: await lookFor(servers, movement, moved.moment) };
  });
}

/**
 * Looks in Postgres for all that a movement builds on, for an engine that does not remember it.
 * @throws OperatorRefusal UNKNOWN_DEPOSIT | UNKNOWN_WITHDRAWAL, and what `checkReversal` throws
 */
async function lookFor(
  servers: Servers,
  movement: AccountMoved,
  moment: EngineMoment,
): Promise<PostgresLook> {
  const { ledger } = servers;
  const { kind, reference, reverses } = movement;
  const leftAtoms = reverses === undefined ? 0n : await checkReversal(servers, movement, reverses);
  if (endsWithdrawal(kind)) await checkRequest(ledger, reference);
  if (kind === 'dropped' && !(await ledger.journal.movement('announced', reference)))
    throw unknownDeposit(reference);
  return { ...moment, leftAtoms };
}

/** The result of a call of the engine, or the look in Postgres that its next call needs. */
type Answer<Look, Result> = { readonly result: Result } | { readonly checked: Look };

/**
 * Calls the engine again after each look in Postgres, until the look is new enough for the engine.
 * @throws Refusal SERVICE_UNAVAILABLE when every look took minutes
 */
async function answered<Look, Result>(
  call: (checked: Look | undefined) => Promise<Answer<Look, Result>>,
): Promise<Result> {
  let checked: Look | undefined;
  for (let look = 0; look < LOOKS; look += 1) {
    const answer = await call(checked);
    if ('result' in answer) return answer.result;
    checked = answer.checked;
  }
  throw new Refusal('SERVICE_UNAVAILABLE', 'Postgres takes minutes to answer: nothing changed');
}

/**
 * Takes a pending withdrawal, or releases it.
 * @param change asks the engine, with the moment of a look in Postgres if it needed one
 * @returns false if nothing changed
 * @throws OperatorRefusal REFERENCE_CONFLICT if the withdrawal has ended, and what `change` throws
 */
export const changeTake = (
  { ledger }: Servers,
  reference: string,
  change: (checked: EngineMoment | undefined) => ReturnType<Engine['funds']['take']>,
): Promise<boolean> =>
  answered<EngineMoment, boolean>(async (checked) => {
    const taking = await change(checked);
    if (taking.outcome === 'claimed') throw endedBefore(reference, taking.movement);
    if (taking.outcome !== 'unchecked') return { result: taking.outcome === 'changed' };
    const ended = await ledger.journal.movement('confirmed', reference);
    if (ended !== null) throw endedBefore(reference, ended);
    await checkRequest(ledger, reference);
    return { checked: taking.moment };
  });

const endedBefore = (reference: string, { kind }: AccountMoved): OperatorRefusal =>
  new OperatorRefusal('REFERENCE_CONFLICT', `the withdrawal ${reference} was ${kind} before`);

/** A movement as an operator asks for it. */
export interface AskedMovement extends Omit<AccountMoved, 'amountAtoms'> {
  readonly amount: Decimal;
}

/** A movement in atoms, with the scale that they were made with. */
export interface ScaledMovement extends AccountMoved {
  readonly scale: number;
}

/** @throws OperatorRefusal UNKNOWN_ASSET | INVALID_AMOUNT */
export async function scaledMovement(engine: Engine, asked: AskedMovement): Promise<ScaledMovement> {
  const { amount, ...movement } = asked;
  const asset = await findAsset(engine, asked.asset);
  return { ...movement, amountAtoms: atomsOf(amount, asset), scale: asset.scale };
}

/**
 * Returns the movement that a reference stands for, settled or not.
 * @param kind of the movement; one that shares its references may be returned
 */
export const findMovement = async (
  { engine, ledger }: Servers,
  kind: MovementKind,
  reference: string,
): Promise<AccountMoved | null> =>
  (await engine.funds.claimed(kind, reference)) ?? ledger.journal.movement(kind, reference);

/** @throws OperatorRefusal INVALID_AMOUNT when the amount is finer than the asset's atom */
export function atomsOf(amount: Decimal, { symbol, scale }: Asset): bigint {
  const atoms = toScaled(amount, scale);
  if (atoms === undefined) {
    throw new OperatorRefusal(
      'INVALID_AMOUNT',
      `${symbol} has ${scale} decimals: ${formatDecimal(amount)} is finer`,
    );
  }
  return atoms;
}

/** @throws OperatorRefusal UNKNOWN_ASSET */
export async function findAsset(engine: Engine, symbol: string): Promise<Asset> {
  const found = await engine.assets.bySymbol(symbol);
  if (found !== undefined) return found;
  throw new OperatorRefusal(
    'UNKNOWN_ASSET',
    `unknown asset ${symbol}: create a market that uses it, or register it with asset set ${symbol} --scale N`,
  );
}
