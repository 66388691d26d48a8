/** Closes a month of the books. */

import type { Act } from '../domain/act.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import { monthSpan } from '../domain/months.ts';
import type { Closing } from '../ledger/index.ts';
import type { Servers } from './servers.ts';
import { untilSettled } from './until-settled.ts';

/** Most by which the engine's clock may step back, for example when another copy becomes its primary. */
const CLOCK_STEPS_MS = 60_000;

/**
 * Keeps the balances at the end of a month, once everything before it is settled.
 * @param patienceMs longest time that settlement may make no progress meanwhile
 * @throws OperatorRefusal MONTH_NOT_OVER, SETTLEMENT_STALLED
 */
export async function closeMonth(
  servers: Servers,
  month: string,
  patienceMs: number,
  act?: Act,
): Promise<Closing & { readonly isNew: boolean }> {
  const { engine, ledger } = servers;
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
  await untilSettled(servers, newest?.sequence ?? 0, patienceMs);
  const isClosed = (await ledger.balances.closings()).some((closing) => closing.month === month);
  if (act !== undefined && !isClosed) await engine.acts.note({ name: 'ledger close', subject: month }, act);
  return ledger.balances.close(month);
}
