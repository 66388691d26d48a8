/** The price that a market's base asset is valued at. */

import type { Market } from './market.ts';
import { marketGrid } from './market-grid.ts';
import { formatCount, halfExactly } from './units.ts';

/** Prices from which the mark is computed, in ticks; null for a missing price. */
export interface MarkSources {
  readonly bestBidTicks: bigint | null;
  readonly bestAskTicks: bigint | null;
  readonly lastTicks: bigint | null;
}

/**
 * Returns the mid of a two-sided book, else the last price, else the only quoted side, else the operator's reference
 * price, else null. The result is a plain decimal; the mid may lie half a tick off the grid.
 */
export function markOf(market: Market, sources: MarkSources): string | null {
  const { bestBidTicks: bid, bestAskTicks: ask, lastTicks: last } = sources;
  const { tick } = marketGrid(market);
  if (bid !== null && ask !== null) return halfExactly(formatCount(bid + ask, tick));
  const ticks = last ?? bid ?? ask;
  return ticks === null ? market.referencePrice : formatCount(ticks, tick);
}
