/** Closes a month of the books. */

import type { Act } from '../domain/act.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import { monthSpan } from '../domain/months.ts';
import type { Closing } from '../ledger/index.ts';
import type { Servers } from './servers.ts';
import { untilSettled } from './until-settled.ts';

/** Most by which the clocks of this machine and of the engine's Redis may differ. */
const CLOCKS_DIFFER_MS = 60_000;

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
  const { newest } = await engine.pages.readHead();
  const { endMs } = monthSpan(month);
  // No event is earlier than the one before it; without one of the next month, clocks of two machines are compared.
  if ((newest?.timeMs ?? 0) < endMs && Date.now() < endMs + CLOCKS_DIFFER_MS)
    throw new OperatorRefusal('MONTH_NOT_OVER', `${month} is not over yet (UTC)`);
  await untilSettled(servers, newest?.sequence ?? 0, patienceMs);
  const isClosed = (await ledger.balances.closings()).some((closing) => closing.month === month);
  if (act !== undefined && !isClosed) await engine.acts.note({ name: 'ledger close', subject: month }, act);
  return ledger.balances.close(month);
}
