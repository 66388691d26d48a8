/**
 * Closes a month of the books, and reopens it.
 *
 * The figures are kept first. The act that has their digest puts them in force once it is settled, so it is in the chain
 * of events. A command that was interrupted before its act leaves figures that nothing reads, and the next one finds them.
 */

import type { Act } from '../domain/act.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import { monthOf, monthSpan } from '../domain/months.ts';
import { CLOSE_ACT, type Closing, REOPEN_ACT } from '../ledger/index.ts';
import type { Servers } from './servers.ts';
import { untilAllSettled, untilSettled } from './until-settled.ts';

/** Maximum step of the engine's clock backwards, for example when another copy becomes its primary. */
const CLOCK_STEPS_MS = 60_000;

interface ClosingOptions {
  /** True to close a month without entries. */
  readonly isEmpty?: boolean;
  /** Longest time that settlement may make no progress meanwhile. */
  readonly patienceMs: number;
}

/** A closing whose balances are kept. */
export type KeptClosing = Closing & { readonly figures: NonNullable<Closing['figures']> };

const isKept = (closing: Closing): closing is KeptClosing => closing.figures !== null;

const isInForce = ({ reopenedAtMs }: Closing): boolean => reopenedAtMs === null;

/** Returns the closings whose balances are kept, by month and in the order in which they were made. */
export const keptClosings = async ({ ledger }: Pick<Servers, 'ledger'>): Promise<KeptClosing[]> =>
  (await ledger.closings.all()).filter(isKept);

async function closingsInForce({ ledger }: Servers): Promise<Closing[]> {
  return (await ledger.closings.all()).filter(isInForce);
}

type ClosedMonth = KeptClosing & { readonly isNew: boolean };

/**
 * Keeps the balances at the end of a month, once everything before it is settled. A month that is closed stays as it is.
 * @throws OperatorRefusal MONTH_NOT_OVER | MONTH_OUT_OF_ORDER | MONTH_EMPTY | CLOSING_DIFFERS | SETTLEMENT_STALLED; Refusal
 *   SERVICE_UNAVAILABLE while somebody else closes or reopens one
 */
export const closeMonth = (
  servers: Servers,
  month: string,
  options: ClosingOptions,
  act: Act,
): Promise<ClosedMonth> => servers.ledger.closings.inTurn(() => closeInTurn(servers, month, options, act));

async function closeInTurn(
  servers: Servers,
  month: string,
  { isEmpty = false, patienceMs }: ClosingOptions,
  act: Act,
): Promise<ClosedMonth> {
  const { engine, ledger } = servers;
  await untilSettled(servers, await sequenceAfter(servers, month), patienceMs);
  const inForce = await closingsInForce(servers);
  const closed = inForce.find((one) => one.month === month);
  if (closed !== undefined && isKept(closed)) return { ...closed, isNew: false };
  if (closed === undefined) await checkOrder(servers, month, inForce.at(-1), isEmpty);
  const digest = await ledger.closings.keep(month);
  if (closed === undefined) await engine.acts.note({ name: CLOSE_ACT, subject: month, after: digest }, act);
  else if (closed.digest !== digest)
    throw new OperatorRefusal(
      'CLOSING_DIFFERS',
      `${month} was closed with digest ${closed.digest}, whose balances are lost, and its entries give ${digest}: reopen it, and close it again`,
    );
  await untilAllSettled(servers, patienceMs);
  const kept = (await closingsInForce(servers)).find((one) => one.month === month);
  if (kept === undefined || !isKept(kept))
    throw new OperatorRefusal('NOT_CLOSED', `${month} was reopened while it was being closed`);
  return { ...kept, isNew: true };
}

/**
 * Returns the newest event of the engine, if the month is over.
 * @throws OperatorRefusal MONTH_NOT_OVER
 */
async function sequenceAfter({ engine }: Servers, month: string): Promise<number> {
  const [{ newest }, nowMs] = await Promise.all([engine.pages.readHead(), engine.reads.time()]);
  const { endMs } = monthSpan(month);
  // No event is earlier than the one before it; without one of the next month, the engine's clock decides.
  if ((newest?.timeMs ?? 0) < endMs && nowMs < endMs + CLOCK_STEPS_MS)
    throw new OperatorRefusal(
      'MONTH_NOT_OVER',
      nowMs < endMs
        ? `${month} is not over yet (UTC)`
        : `${month} ended less than a minute ago (UTC): close it a minute later`,
    );
  return newest?.sequence ?? 0;
}

/** @throws OperatorRefusal MONTH_OUT_OF_ORDER | MONTH_EMPTY */
async function checkOrder(
  { ledger }: Servers,
  month: string,
  last: Closing | undefined,
  isEmpty: boolean,
): Promise<void> {
  const { startMs, endMs } = monthSpan(month);
  if (last !== undefined && month < last.month)
    throw new OperatorRefusal(
      'MONTH_OUT_OF_ORDER',
      `${month} is before ${last.month}, the last closed month: reopen the months after ${month} first, the last one first`,
    );
  const open = last === undefined ? null : await ledger.closings.firstBookedAt(last.endMs);
  if (open !== null && open < startMs)
    throw new OperatorRefusal(
      'MONTH_OUT_OF_ORDER',
      `${monthOf(open)} has entries and is not closed: close it before ${month}`,
    );
  const first = await ledger.closings.firstBookedAt(startMs);
  if (!isEmpty && (first === null || first >= endMs))
    throw new OperatorRefusal(
      'MONTH_EMPTY',
      `${month} has no entries: if it is meant, close it with --empty, or with "empty": true in the request`,
    );
}

type ReopenedMonth = Closing & { readonly reopenedAtMs: number; readonly isNew: boolean };

/**
 * Withdraws the closing of the last closed month. Its figures stay on record, and its balances follow from entries again.
 * @returns the withdrawn closing; `isNew` false when it was withdrawn before
 * @throws OperatorRefusal NOT_CLOSED | MONTH_OUT_OF_ORDER | SETTLEMENT_STALLED; Refusal SERVICE_UNAVAILABLE while somebody
 *   else closes or reopens a month
 */
export const reopenMonth = (
  servers: Servers,
  month: string,
  patienceMs: number,
  act: Act,
): Promise<ReopenedMonth> =>
  servers.ledger.closings.inTurn(() => reopenInTurn(servers, month, patienceMs, act));

async function reopenInTurn(
  servers: Servers,
  month: string,
  patienceMs: number,
  act: Act,
): Promise<ReopenedMonth> {
  await untilAllSettled(servers, patienceMs);
  const inForce = await closingsInForce(servers);
  const closed = inForce.find((one) => one.month === month);
  const last = inForce.at(-1);
  if (closed !== undefined && last !== undefined && last.month !== month)
    throw new OperatorRefusal(
      'MONTH_OUT_OF_ORDER',
      `${month} is not the last closed month: reopen ${last.month} first`,
    );
  if (closed !== undefined) {
    await servers.engine.acts.note({ name: REOPEN_ACT, subject: month, before: closed.digest }, act);
    await untilAllSettled(servers, patienceMs);
  }
  const withdrawn = (await servers.ledger.closings.all()).findLast((one) => one.month === month);
  if (withdrawn === undefined || withdrawn.reopenedAtMs === null)
    throw new OperatorRefusal(
      'NOT_CLOSED',
      withdrawn === undefined ? `${month} is not closed` : `${month} was closed again meanwhile`,
    );
  return { ...withdrawn, reopenedAtMs: withdrawn.reopenedAtMs, isNew: closed !== undefined };
}
