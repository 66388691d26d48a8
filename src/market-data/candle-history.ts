/** Joins settled candles with unsettled executions. */

import { bucketStartMs, type Candle, candleOfSum, joinCandles, type Timeframe } from '../domain/candle.ts';
import type { CandleRange, Ledger } from '../ledger/index.ts';
import { sumsBeyond, type UnsettledReader } from './unsettled-trades.ts';

/** Returns the newest or the oldest candles of a market in a range, oldest first. Omits buckets without executions. */
export async function readCandles(
  unsettled: Pick<UnsettledReader, 'read'>,
  ledger: Pick<Ledger, 'candles'>,
  symbol: string,
  timeframe: Timeframe,
  range: CandleRange,
): Promise<Candle[]> {
  const beyond = await unsettled.read();
  const { cursor, candles } = await ledger.candles.history(symbol, timeframe, range);
  const { limit, pick, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = range;
  for (const sum of sumsBeyond(cursor, beyond, symbol)) {
    const openMs = bucketStartMs(timeframe, sum.second * 1_000);
    if (openMs < fromMs || openMs > toMs) continue;
    const candle = candleOfSum(openMs, sum);
    // Times never decrease, so an unsettled execution belongs to the last bucket or a later one.
    const last = candles.at(-1);
    if (last?.openMs === openMs) candles[candles.length - 1] = joinCandles(last, candle);
    else candles.push(candle);
  }
  return pick === 'oldest' ? candles.slice(0, limit) : candles.slice(-limit);
}
