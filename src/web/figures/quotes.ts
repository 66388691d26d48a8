/** Prices of a frame that are worth a button beside the price. */

import type { MarketFrame } from '../../client/index.ts';
import { countOf, formatCount, type Grid, parseDecimal } from '../../domain/units.ts';

interface Quote {
  readonly name: string;
  readonly title: string;
  /** On the grid; null when the frame has none. */
  readonly price: string | null;
}

/** Returns the best prices, the mid and the last price. The mid is rounded to a tick against the other side. */
export function quotesOf(frame: MarketFrame | null, side: 'buy' | 'sell', tick: Grid): readonly Quote[] {
  const bid = frame?.book.bids[0]?.price ?? null;
  const ask = frame?.book.asks[0]?.price ?? null;
  const last = frame?.trades[0]?.price ?? null;
  return [
    { name: 'Bid', title: 'best bid', price: bid },
    { name: 'Mid', title: 'mid of the book', price: bid && ask && midOf(bid, ask, side, tick) },
    { name: 'Ask', title: 'best ask', price: ask },
    { name: 'Last', title: 'last price', price: last },
  ];
}

function midOf(bid: string, ask: string, side: 'buy' | 'sell', tick: Grid): string {
  const sum = countOf(parseDecimal(bid)!, tick)! + countOf(parseDecimal(ask)!, tick)!;
  return formatCount(side === 'buy' ? sum / 2n : (sum + 1n) / 2n, tick);
}
