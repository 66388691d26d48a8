/** The reader's own orders and fills as the chart marks them: a line at each price, an arrow at each candle and side. */

import type { Order, WalletTrade } from '../../client/index.ts';
import { bucketStartMs, type Timeframe } from '../../domain/candle.ts';
import type { CandleSeries } from './candle-series.ts';

/** Live orders at one price and side are one line. */
export interface OwnLine {
  readonly side: Order['side'];
  /** Plain decimal. */
  readonly price: string;
}

export interface OwnArrow {
  readonly side: Order['side'];
  /** Unix seconds of the candle's start. */
  readonly time: number;
}

/** Most lines of a chart, so that a ladder of quotes leaves candles to see. */
const MAX_LINES = 40;

/** @param orders newest first; the newest of the market are marked */
export function linesOf(
  orders: readonly Pick<Order, 'market' | 'side' | 'price'>[],
  symbol: string,
): OwnLine[] {
  const lines = new Map<string, OwnLine>();
  for (const { market, side, price } of orders)
    if (market === symbol && price !== null) lines.set(`${side} ${price}`, { side, price });
  return [...lines.values()].slice(0, MAX_LINES);
}

/** Returns the arrows of fills within the candles that are drawn, oldest first. */
export function arrowsOf(
  fills: readonly Pick<WalletTrade, 'market' | 'side' | 'createdAt'>[],
  symbol: string,
  timeframe: Timeframe,
  candles: CandleSeries,
): OwnArrow[] {
  const drawn = new Set(candles.map(({ time }) => time));
  const arrows = new Map<string, OwnArrow>();
  for (const { market, side, createdAt } of fills) {
    const time = bucketStartMs(timeframe, Date.parse(createdAt)) / 1_000;
    if (market === symbol && drawn.has(time)) arrows.set(`${side} ${time}`, { side, time });
  }
  return [...arrows.values()].sort((one, other) => one.time - other.time);
}
