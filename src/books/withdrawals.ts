/** Withdrawals in two steps: requested, and later confirmed with the transaction that paid it, or returned. */

import type { Act } from '../domain/act.ts';
import { Refusal } from '../domain/errors.ts';
import type { AccountMoved } from '../domain/event.ts';
import { formatScaled } from '../domain/units.ts';
import type { Take, WithdrawalState } from '../domain/withdrawal-states.ts';
import type { Direction } from '../ledger/index.ts';
import { changeTake, findMovement, moveFundsOnce, unknownWithdrawal } from './movements.ts';
import type { Servers } from './servers.ts';
import { untilAllSettled } from './until-settled.ts';

/** A withdrawal as operators see it. */
export interface Withdrawal {
  readonly reference: string;
  readonly wallet: string;
  readonly asset: string;
  /** Plain decimal. */
  readonly amount: string;
  readonly state: WithdrawalState;
  /** Transaction that paid it; null unless it is confirmed. */
  readonly txid: string | null;
  /** True while the wallet is on custody hold: do not pay then. */
  readonly held: boolean;
  /** Who pays it; null while nobody took it. */
  readonly taken: TakenWithdrawal | null;
}

interface TakenWithdrawal extends Pick<Take, 'by' | 'key'> {
  readonly until: string;
}

const takenOf = (take: Take | null): TakenWithdrawal | null =>
  take && { by: take.by, key: take.key, until: new Date(take.untilMs).toISOString() };

/** Returns a function that finds the decimals of an asset that a movement is in; it throws SERVICE_UNAVAILABLE. */
export async function scaleFinder({ engine }: Pick<Servers, 'engine'>): Promise<(asset: string) => number> {
  const scales = new Map((await engine.assets.all()).map(({ symbol, scale }) => [symbol, scale]));
  return (asset) => {
    const scale = scales.get(asset);
    // No asset ever leaves an engine: this one was emptied, is older than the movement, or is being rebuilt.
    if (scale === undefined)
      throw new Refusal('SERVICE_UNAVAILABLE', `the matching engine lacks the asset ${asset}; try again`);
    return scale;
  };
}

/** @throws OperatorRefusal UNKNOWN_WITHDRAWAL */
async function requestOf(servers: Servers, reference: string): Promise<AccountMoved> {
  const requested = await findMovement(servers, 'requested', reference);
  if (requested?.kind !== 'requested') throw unknownWithdrawal(reference);
  return requested;
}

/**
 * Returns the withdrawal, settled or not.
 * @throws OperatorRefusal UNKNOWN_WITHDRAWAL
 */
export async function findWithdrawal(servers: Servers, reference: string): Promise<Withdrawal> {
  const { wallet, asset, amountAtoms } = await requestOf(servers, reference);
  const take = await servers.engine.funds.takeOf(reference);
  // Read after the take, which an end removes.
  const [ended, { held }, scaleOf] = await Promise.all([
    findMovement(servers, 'confirmed', reference),
    servers.engine.switches.readAccount(wallet),
    scaleFinder(servers),
  ]);
  const state = ended === null ? 'pending' : ended.kind === 'confirmed' ? 'confirmed' : 'returned';
  const amount = formatScaled(amountAtoms, scaleOf(asset));
  const taken = ended === null ? takenOf(take) : null;
  return { reference, wallet, asset, amount, state, txid: ended?.txid ?? null, held, taken };
}

export type WithdrawalEnd =
  /** `takenBy`: name of whoever took it. */
  | { readonly kind: 'confirmed'; readonly txid: string; readonly takenBy?: string }
  | { readonly kind: 'returned' };

/**
 * Ends a withdrawal: confirms that a transaction paid it, or returns its amount to the wallet. One of them holds.
 * @returns true if the withdrawal had ended like this before, so that nothing was moved now
 * @throws OperatorRefusal UNKNOWN_WITHDRAWAL; PAYMENT_UNDER_WAY; REFERENCE_CONFLICT when it ended otherwise
 */
export async function endWithdrawal(
  servers: Servers,
  reference: string,
  end: WithdrawalEnd,
  act: Act,
): Promise<{ duplicate: boolean }> {
  const { wallet, asset, amountAtoms } = await requestOf(servers, reference);
  const movement = { kind: end.kind, wallet, asset, amountAtoms, reference };
  return end.kind === 'returned'
    ? moveFundsOnce(servers, movement, undefined, act)
    : moveFundsOnce(servers, { ...movement, txid: end.txid }, undefined, act, end.takenBy);
}

/**
 * Takes a pending withdrawal for whoever pays it; who took it may take it again, until another time.
 * @returns false if nothing changed
 * @throws OperatorRefusal UNKNOWN_WITHDRAWAL; PAYMENT_UNDER_WAY; REFERENCE_CONFLICT when it ended; Refusal CUSTODY_HOLD,
 *   VALIDATION_ERROR for a time that is past, or further ahead than 7 days
 */
export async function takeWithdrawal(
  servers: Servers,
  reference: string,
  { by, untilMs }: Omit<Take, 'key'>,
  act: Act,
): Promise<boolean> {
  const requested = await requestOf(servers, reference);
  const take = { by, key: act.by, untilMs };
  return changeTake(servers, reference, (checked) =>
    servers.engine.funds.take(requested, take, act, checked),
  );
}

/**
 * Gives up a taken withdrawal, whose payment is not under way.
 * @param by name of whoever took it
 * @returns false if nobody had taken it
 * @throws OperatorRefusal UNKNOWN_WITHDRAWAL | PAYMENT_UNDER_WAY
 */
export async function releaseWithdrawal(
  servers: Servers,
  reference: string,
  by: string,
  act: Act,
): Promise<boolean> {
  const requested = await requestOf(servers, reference);
  return changeTake(servers, reference, (checked) =>
    servers.engine.funds.release(requested, by, act, checked),
  );
}

/** Longest wait for a settlement that makes no progress. */
const PATIENCE_MS = 5_000;

/**
 * Returns a page of the withdrawals of a state, with every one that was answered before.
 * @param after `sequence` of the last one of the page before; 0: none
 * @throws OperatorRefusal SETTLEMENT_STALLED
 */
export async function listWithdrawals(
  servers: Servers,
  state: WithdrawalState,
  limit: number,
  direction?: Direction,
  after?: number,
) {
  const { ledger } = servers;
  await untilAllSettled(servers, PATIENCE_MS);
  const [rows, scaleOf] = await Promise.all([
    ledger.withdrawals.list(state, limit, direction, after),
    scaleFinder(servers),
  ]);
  return rows.map(({ amountAtoms, requestedAtMs, endedAtMs, taken, ...row }) => ({
    ...row,
    taken: takenOf(taken),
    amount: formatScaled(amountAtoms, scaleOf(row.asset)),
    requestedAt: new Date(requestedAtMs).toISOString(),
    endedAt: endedAtMs === null ? null : new Date(endedAtMs).toISOString(),
  }));
}
