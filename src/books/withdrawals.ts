/** Withdrawals in two steps: requested, and later confirmed with the transaction that paid it, or returned. */

import type { Act } from '../domain/act.ts';
import type { AccountMoved } from '../domain/event.ts';
import { formatScaled } from '../domain/units.ts';
import type { WithdrawalState } from '../domain/withdrawal-states.ts';
import { findMovement, moveFundsOnce, unknownWithdrawal } from './movements.ts';
import type { Servers } from './servers.ts';
import { untilSettled } from './until-settled.ts';

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
}

/** Returns a function that finds the decimals of an asset. */
export async function scaleFinder({ engine }: Pick<Servers, 'engine'>): Promise<(asset: string) => number> {
  const assets = await engine.assets.all();
  return (asset) => assets.find(({ symbol }) => symbol === asset)!.scale;
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
  const [ended, { held }, scaleOf] = await Promise.all([
    findMovement(servers, 'confirmed', reference),
    servers.engine.switches.readAccount(wallet),
    scaleFinder(servers),
  ]);
  const state = ended === null ? 'pending' : ended.kind === 'confirmed' ? 'confirmed' : 'returned';
  const amount = formatScaled(amountAtoms, scaleOf(asset));
  return { reference, wallet, asset, amount, state, txid: ended?.txid ?? null, held };
}

export type WithdrawalEnd =
  | { readonly kind: 'confirmed'; readonly txid: string }
  | { readonly kind: 'returned' };

/**
 * Ends a withdrawal: confirms that a transaction paid it, or returns its amount to the wallet. One of them holds.
 * @returns true if the withdrawal had ended like this before, so that nothing was moved now
 * @throws OperatorRefusal UNKNOWN_WITHDRAWAL; REFERENCE_CONFLICT when it ended otherwise
 */
export async function endWithdrawal(
  servers: Servers,
  reference: string,
  end: WithdrawalEnd,
  act: Act,
): Promise<{ duplicate: boolean }> {
  const { wallet, asset, amountAtoms } = await requestOf(servers, reference);
  return moveFundsOnce(servers, { ...end, wallet, asset, amountAtoms, reference }, undefined, act);
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
  after: number,
  limit: number,
) {
  const { engine, ledger } = servers;
  const { newest } = await engine.pages.readHead();
  await untilSettled(servers, newest?.sequence ?? 0, PATIENCE_MS);
  const [rows, scaleOf] = await Promise.all([
    ledger.withdrawals.list(state, after, limit),
    scaleFinder(servers),
  ]);
  return rows.map(({ amountAtoms, requestedAtMs, endedAtMs, ...row }) => ({
    ...row,
    amount: formatScaled(amountAtoms, scaleOf(row.asset)),
    requestedAt: new Date(requestedAtMs).toISOString(),
    endedAt: endedAtMs === null ? null : new Date(endedAtMs).toISOString(),
  }));
}
