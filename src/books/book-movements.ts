/** Books deposits and withdrawals, each by itself, within the caps of the key that asks for them. */

import type { Act } from '../domain/act.ts';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import { limitOf, type OperatorKey } from '../domain/operator-rights.ts';
import { formatScaled, parseDecimal, toScaledDown } from '../domain/units.ts';
import { checkSameMovement, EventRefused } from '../engine/index.ts';
import type { CappedAmount } from '../ledger/index.ts';
import {
  type AskedMovement,
  findMovement,
  moveFundsOnce,
  type ScaledMovement,
  scaledMovement,
} from './movements.ts';
import type { Servers } from './servers.ts';
import { isAboveLimit, requireApproval } from './two-persons.ts';

/** A movement that is booked now, or was booked before. */
export interface BookedMovement {
  /** Plain decimal. */
  readonly amount: string;
  /** Plain decimal of `owedAtoms` as in `AccountMoved`. */
  readonly receivable: string;
  readonly duplicate: boolean;
}

/** A key as far as it limits movements. */
type LimitedKey = Pick<OperatorKey, 'name' | 'caps' | 'twoPersons'>;

/** True for a refusal after which the movement is surely not booked. */
const isCertain = (error: unknown): boolean =>
  error instanceof OperatorRefusal ||
  error instanceof EventRefused ||
  (error instanceof Refusal && error.code !== 'SERVICE_UNAVAILABLE');

/**
 * Books each movement by itself.
 * @param key whose caps hold; none for the command line
 * @returns for each movement the booked one, or why it was not booked
 * @throws OperatorRefusal INVALID_ACT if a command bears the name of a key
 */
export async function bookMovements(
  servers: Servers,
  asked: readonly (AskedMovement & { readonly act: Act })[],
  key?: LimitedKey,
): Promise<PromiseSettledResult<BookedMovement>[]> {
  if (key === undefined) await checkNoKeyNamed(servers, asked);
  const scaled = await Promise.allSettled(
    asked.map(({ act: _, ...one }) => scaledMovement(servers.engine, one)),
  );
  const ready = scaled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const caps = key === undefined ? new Map<ScaledMovement, Cap>() : await reserve(servers, key, ready);
  const booked = await Promise.allSettled(
    scaled.map(async (one, at) => {
      if (one.status === 'rejected') throw one.reason;
      return book(servers, one.value, caps.get(one.value), asked[at]!.act, key);
    }),
  );
  if (key !== undefined && caps.size > 0) await settleCaps(servers, key, scaled, booked, caps);
  return booked;
}

/**
 * Checks that no movement bears the name of a key, which alone tells movements of keys from those of commands.
 * @throws OperatorRefusal INVALID_ACT
 */
async function checkNoKeyNamed({ ledger }: Servers, asked: readonly { readonly act: Act }[]): Promise<void> {
  const names = new Set(asked.map(({ act }) => act.by));
  const named = (await ledger.keys.all()).find(({ name }) => names.has(name));
  if (named !== undefined)
    throw new OperatorRefusal(
      'INVALID_ACT',
      `${named.name} is the name of a key: give another one with --by`,
    );
}

async function book(
  servers: Servers,
  one: ScaledMovement,
  cap: Cap | undefined,
  act: Act,
  key: LimitedKey | undefined,
): Promise<BookedMovement> {
  const { scale, ...movement } = one;
  const amount = formatScaled(movement.amountAtoms, scale);
  const move = async (): Promise<BookedMovement> => {
    if (cap !== undefined) cap.isSent = true;
    const { duplicate, owedAtoms } = await moveFundsOnce(servers, movement, scale, act);
    return { amount, receivable: formatScaled(owedAtoms, scale), duplicate };
  };
  const isAllowed = cap?.isAllowed ?? true;
  const needsApproval = key !== undefined && isAboveLimit(key, one);
  if (isAllowed && !needsApproval) return move();
  // A repeated movement is answered as before, however much the key has moved since.
  const earlier = await findMovement(servers, movement.kind, movement.reference);
  if (earlier !== null) {
    checkSameMovement(movement, earlier);
    return { amount, receivable: formatScaled(earlier.owedAtoms ?? 0n, scale), duplicate: true };
  }
  if (!isAllowed)
    throw new OperatorRefusal(
      'CAP_EXCEEDED',
      `the key may not move as much ${movement.asset} in one day (UTC): nothing was moved`,
    );
  await requireApproval(servers, key!.name, one, act.reason);
  return move();
}

interface Cap {
  readonly amount: CappedAmount;
  readonly isAllowed: boolean;
  /** True as soon as the engine was asked: without that, the amount is surely not moved. */
  isSent: boolean;
}

async function reserve(
  { ledger }: Servers,
  { name, caps }: Pick<OperatorKey, 'name' | 'caps'>,
  movements: readonly ScaledMovement[],
): Promise<Map<ScaledMovement, Cap>> {
  const amounts = movements.flatMap((movement) => {
    const { kind, reference, asset, amountAtoms: atoms, scale } = movement;
    const cap = limitOf(caps, asset);
    // An amount that is not positive, or beyond every balance, is refused by the engine.
    if (cap === undefined || atoms <= 0n || atoms >= 2n ** 63n) return [];
    const capAtoms = toScaledDown(parseDecimal(cap)!, scale);
    return [[movement, { kind, reference, asset, atoms, capAtoms }] as const];
  });
  if (amounts.length === 0) return new Map();
  const may = await ledger.caps.reserve(
    name,
    amounts.map(([, amount]) => amount),
  );
  return new Map(
    amounts.map(([movement, amount], at) => [movement, { amount, isAllowed: may[at]!, isSent: false }]),
  );
}

const reservationOf = ({ kind, reference, asset, atoms }: CappedAmount): string =>
  JSON.stringify([kind, reference, asset, `${atoms}`]);

/** Counts what was moved and gives back what surely was not. Without Postgres, all of it stays counted. */
async function settleCaps(
  { ledger }: Servers,
  { name }: Pick<OperatorKey, 'name'>,
  scaled: readonly PromiseSettledResult<ScaledMovement>[],
  booked: readonly PromiseSettledResult<BookedMovement>[],
  caps: ReadonlyMap<ScaledMovement, Cap>,
): Promise<void> {
  const moved: CappedAmount[] = [];
  const unknown: CappedAmount[] = [];
  const refused: CappedAmount[] = [];
  scaled.forEach((one, at) => {
    const cap = one.status === 'fulfilled' ? caps.get(one.value) : undefined;
    if (cap === undefined || !cap.isAllowed) return;
    const result = booked[at]!;
    if (result.status === 'rejected') {
      const isSure = !cap.isSent || isCertain(result.reason);
      (isSure ? refused : unknown).push(cap.amount);
    } else if (result.value.duplicate) refused.push(cap.amount);
    else moved.push(cap.amount);
  });
  // Equal movements of a request have one reservation together.
  const held = new Set([...moved, ...unknown].map(reservationOf));
  const released = refused.filter((amount) => !held.has(reservationOf(amount)));
  await Promise.allSettled([ledger.caps.keep(name, moved), ledger.caps.release(name, released)]);
}
