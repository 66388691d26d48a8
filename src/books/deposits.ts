/** Deposits that are announced before they arrive, and then credited or dropped. */

import type { Act } from '../domain/act.ts';
import { ANNOUNCED_DEPOSITS } from '../domain/bounds.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import type { AccountMoved } from '../domain/event.ts';
import type { OperatorKey } from '../domain/operator-rights.ts';
import { formatScaled, parseDecimal } from '../domain/units.ts';
import type { DepositState } from '../domain/withdrawal-states.ts';
import type { AnnouncedCounts } from '../ledger/index.ts';
import { bookMovements } from './book-movements.ts';
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

/** Longest wait for a settlement that makes no progress. */
const PATIENCE_MS = 5_000;

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
 * @throws OperatorRefusal REFERENCE_CONFLICT if it was announced otherwise, credited or dropped; TOO_MANY_ANNOUNCED; and
 *   what `move` throws
 */
export async function announceDeposit(
  servers: Servers,
  asked: Omit<AskedMovement, 'kind'>,
  act: Act,
): Promise<{ duplicate: boolean }> {
  const { scale, ...movement } = await scaledMovement(servers.engine, { ...asked, kind: 'announced' });
  return servers.ledger.deposits.inTurn(async () => {
    await requireRoom(servers, asked.reference, act.by);
    return moveFundsOnce(servers, movement, scale, act);
  });
}

/**
 * Refuses an announcement beyond the bound. It has its turn: no other one is under way.
 * @throws OperatorRefusal TOO_MANY_ANNOUNCED; SETTLEMENT_STALLED if nobody can tell how many there are
 */
async function requireRoom(servers: Servers, reference: string, by: string): Promise<void> {
  const { ofHolder: share, inAll: total } = ANNOUNCED_DEPOSITS;
  const counted = (): Promise<AnnouncedCounts> => servers.ledger.deposits.count(by, share);
  const isFull = ({ ofHolder, inAll }: AnnouncedCounts, more = 0): boolean =>
    ofHolder + more >= share || inAll + more >= total;
  const [counts, { newest }] = await Promise.all([counted(), servers.engine.pages.readHead()]);
  const unsettled = Math.max(0, (newest?.sequence ?? 0) - counts.settledTo);
  if (!isFull(counts, unsettled)) return;
  // A repeat adds nothing.
  if ((await findMovement(servers, 'announced', reference))?.kind === 'announced') return;
  await untilAllSettled(servers, PATIENCE_MS);
  const now = await counted();
  if (!isFull(now)) return;
  const whose = now.ofHolder >= share ? `of ${by} ` : '';
  throw new OperatorRefusal(
    'TOO_MANY_ANNOUNCED',
    `${whose ? share : total} deposits ${whose}are announced: credit or drop some of them first`,
  );
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
