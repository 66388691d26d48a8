/** The reader's own orders and fills as the chart marks them: a line at each price, an arrow at each candle and side. */

import { add, type Order, type WalletTrade } from '../../client/index.ts';
import { bucketStartMs, type Timeframe } from '../../domain/candle.ts';
import type { CandleSeries } from './candle-series.ts';

/** Live orders at one price and side are one line. */
export interface OwnLine {
  readonly side: Order['side'];
  /** Plain decimal. */
  readonly price: string;
  /** Sum of what is left of the orders. */
  readonly size: string;
}

export interface OwnArrow {
  readonly side: Order['side'];
  /** Unix seconds of the candle's start. */
  readonly time: number;
}

/** Maximum lines of a chart, so that a ladder of quotes leaves candles to see. */
const MAX_LINES = 40;

/**
 * Returns the lines that stand nearest to a price, nearest first.
 * @param near the last price; null while there is none
 */
export function linesOf(
  orders: readonly Pick<Order, 'market' | 'side' | 'price' | 'remainingSize'>[],
  symbol: string,
  near: string | null,
): OwnLine[] {
  const lines = new Map<string, OwnLine>();
  for (const { market, side, price, remainingSize } of orders) {
    if (market !== symbol || price === null) continue;
    const size = lines.get(`${side} ${price}`)?.size ?? '0';
    lines.set(`${side} ${price}`, { side, price, size: add(size, remainingSize) });
  }
  // Doubles are enough to choose what is drawn.
  const distance = ({ price }: OwnLine): number =>
    near === null ? 0 : Math.abs(Number(price) - Number(near));
  return [...lines.values()].sort((one, other) => distance(one) - distance(other)).slice(0, MAX_LINES);
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
