/** Deposits that are announced before they arrive, and then credited or dropped. */

import type { Act } from '../domain/act.ts';
import type { AccountMoved } from '../domain/event.ts';
import type { OperatorKey } from '../domain/operator-rights.ts';
import { formatScaled, parseDecimal } from '../domain/units.ts';
import type { DepositState } from '../domain/withdrawal-states.ts';
import { bookMovements } from './movement-batch.ts';
import {
  type AskedMovement,
  findMovement,
  moveFundsOnce,
  scaledMovement,
  unknownDeposit,
} from './movements.ts';
import type { Servers } from './servers.ts';
import { untilAllSettled } from './until-settled.ts';
import { scaleFinder } from './withdrawals.ts';

/** A deposit as operators see it. */
export interface Deposit {
  readonly reference: string;
  readonly wallet: string;
  readonly asset: string;
  /** Plain decimal. */
  readonly amount: string;
  readonly state: DepositState;
}

/** @throws OperatorRefusal UNKNOWN_DEPOSIT */
async function announcementOf(servers: Servers, reference: string): Promise<AccountMoved> {
  const announced = await findMovement(servers, 'announced', reference);
  if (announced?.kind === 'announced') return announced;
  throw unknownDeposit(reference);
}

/**
 * Returns a deposit that was announced; one that was credited otherwise, as it was credited.
 * @throws OperatorRefusal UNKNOWN_DEPOSIT
 */
export async function findDeposit(servers: Servers, reference: string): Promise<Deposit> {
  const announced = await announcementOf(servers, reference);
  const [ended, scaleOf] = await Promise.all([
    findMovement(servers, 'credited', reference),
    scaleFinder(servers),
  ]);
  const state = ended === null ? 'announced' : ended.kind === 'dropped' ? 'dropped' : 'credited';
  const { wallet, asset, amountAtoms } = ended ?? announced;
  return { reference, wallet, asset, amount: formatScaled(amountAtoms, scaleOf(asset)), state };
}

/**
 * Announces a deposit, which moves nothing.
 * @returns `duplicate`: true if it was announced before
 * @throws OperatorRefusal REFERENCE_CONFLICT if it was announced otherwise, credited or dropped, and what `move` throws
 */
export async function announceDeposit(
  servers: Servers,
  asked: Omit<AskedMovement, 'kind'>,
  act: Act,
): Promise<{ duplicate: boolean }> {
  const { scale, ...movement } = await scaledMovement(servers.engine, { ...asked, kind: 'announced' });
  return moveFundsOnce(servers, movement, scale, act);
}

/**
 * Credits exactly what was announced.
 * @param key whose caps hold; none for the command line
 * @returns `duplicate`: true if it was credited before
 * @throws OperatorRefusal UNKNOWN_DEPOSIT; REFERENCE_CONFLICT if it was dropped, and what `bookMovements` rejects with
 */
export async function creditDeposit(
  servers: Servers,
  reference: string,
  act: Act,
  key?: OperatorKey,
): Promise<{ duplicate: boolean }> {
  const { wallet, asset, amountAtoms } = await announcementOf(servers, reference);
  const amount = parseDecimal(formatScaled(amountAtoms, (await scaleFinder(servers))(asset)))!;
  const movement = { kind: 'credited', wallet, asset, amount, reference, act } as const;
  const [booked] = await bookMovements(servers, [movement], key);
  if (booked!.status === 'rejected') throw booked!.reason;
  return booked!.value;
}

/**
 * Drops a deposit that never arrives.
 * @returns `duplicate`: true if it was dropped before
 * @throws OperatorRefusal UNKNOWN_DEPOSIT; REFERENCE_CONFLICT if it was credited
 */
export async function dropDeposit(
  servers: Servers,
  reference: string,
  act: Act,
): Promise<{ duplicate: boolean }> {
  const { wallet, asset, amountAtoms } = await announcementOf(servers, reference);
  return moveFundsOnce(servers, { kind: 'dropped', wallet, asset, amountAtoms, reference }, undefined, act);
}

/** Longest wait for a settlement that makes no progress. */
const PATIENCE_MS = 5_000;

/**
 * Returns a page of the announced deposits, with every one that was answered before.
 * @param after `sequence` of the last one of the page before; 0: none
 * @throws OperatorRefusal SETTLEMENT_STALLED
 */
export async function listAnnounced(servers: Servers, after: number, limit: number) {
  await untilAllSettled(servers, PATIENCE_MS);
  const [rows, scaleOf] = await Promise.all([
    servers.ledger.deposits.announced(after, limit),
    scaleFinder(servers),
  ]);
  return rows.map(({ amountAtoms, announcedAtMs, ...row }) => ({
    ...row,
    state: 'announced' as const,
    amount: formatScaled(amountAtoms, scaleOf(row.asset)),
    announcedAt: new Date(announcedAtMs).toISOString(),
  }));
}
