/** Lists the executions of a market: those of Postgres joined with those that it may not have yet. */

import { type PublicTrade, publicTradeOf } from '../domain/order.ts';
import type { Ledger } from '../ledger/index.ts';
import type { UnsettledExecution } from './backlog.ts';
import type { TradeFilter } from './index.ts';
import { executionsBeyond, type UnsettledReader } from './unsettled-trades.ts';

type Reader = Pick<UnsettledReader, 'read' | 'readTrades'>;

/** Returns trades, newest first: the last ones of a filter, or the first ones after an id. */
export async function readMarketTrades(
  unsettled: Reader,
  ledger: Pick<Ledger, 'trades'>,
  symbol: string,
  filter: TradeFilter,
): Promise<PublicTrade[]> {
  const { side, limit, fromSeconds, toSeconds, afterId, beforeId } = filter;
  const beyond = await unsettled.read();
  const { cursor, trades } = await ledger.trades.ofMarket(symbol, {
    side,
    limit,
    afterId,
    beforeId,
    fromMs: fromSeconds === undefined ? undefined : fromSeconds * 1000,
    toMs: toSeconds === undefined ? undefined : (toSeconds + 1) * 1000,
  });
  const executions = executionsBeyond(cursor, beyond, symbol);
  if (afterId !== undefined && trades.length === limit) return trades;
  return afterId === undefined
    ? [...(await newestOf(unsettled, executions, filter)), ...trades].slice(0, limit)
    : [...trades.toReversed(), ...(await oldestOf(unsettled, executions, filter, afterId))]
        .slice(0, limit)
        .toReversed();
}

/**
 * Goes from the newest execution backwards and stops at the limit, because the trades of a long backlog are mostly not
 * in memory and must be read from the stream.
 */
async function newestOf(
  unsettled: Reader,
  executions: readonly UnsettledExecution[],
  filter: TradeFilter,
): Promise<PublicTrade[]> {
  const { limit, beforeId = Number.POSITIVE_INFINITY } = filter;
  const end =
    filter.beforeId === undefined ? executions.length : await placeOf(unsettled, executions, beforeId);
  const found: PublicTrade[] = [];
  for (let at = end - 1; at >= 0 && found.length < limit; at -= 1) {
    if (!passes(filter, executions[at]!)) continue;
    const trades = (await unsettled.readTrades(executions[at]!)).map(publicTradeOf);
    found.push(...trades.filter(({ tradeId }) => tradeId < beforeId).toReversed());
  }
  return found;
}

/** Returns the first trades after an id, oldest first. */
async function oldestOf(
  unsettled: Reader,
  executions: readonly UnsettledExecution[],
  filter: TradeFilter,
  afterId: number,
): Promise<PublicTrade[]> {
  const found: PublicTrade[] = [];
  // The execution before may go beyond the id.
  const begin = Math.max(0, (await placeOf(unsettled, executions, afterId)) - 1);
  for (let at = begin; at < executions.length && found.length < filter.limit; at += 1) {
    if (!passes(filter, executions[at]!)) continue;
    const trades = (await unsettled.readTrades(executions[at]!)).map(publicTradeOf);
    found.push(...trades.filter(({ tradeId }) => tradeId > afterId));
  }
  return found;
}

/** Returns the place of the first execution whose trades all have this id or later ones, in a few reads. */
async function placeOf(
  unsettled: Reader,
  executions: readonly UnsettledExecution[],
  tradeId: number,
): Promise<number> {
  let from = 0;
  let to = executions.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    const [first] = await unsettled.readTrades(executions[middle]!);
    if (first!.tradeId >= tradeId) to = middle;
    else from = middle + 1;
  }
  return from;
}

function passes({ side, fromSeconds, toSeconds }: TradeFilter, execution: UnsettledExecution): boolean {
  const seconds = Math.floor(execution.timeMs / 1000);
  return (
    (side === undefined || execution.takerSide === side) &&
    (fromSeconds === undefined || seconds >= fromSeconds) &&
    (toSeconds === undefined || seconds <= toSeconds)
  );
}
