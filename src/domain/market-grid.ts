/** The grid of a market: its rules in integer units, for checking orders. */

import type { Market } from './market.ts';
import { countOf, floorCountOf, type Grid, gridOf, parseDecimal } from './units.ts';

/** A market's rules in integer units. */
export interface MarketGrid {
  readonly tick: Grid;
  readonly step: Grid;
  /** Smallest size in steps, rounded up; null when not enforced. */
  readonly minSteps: bigint | null;
  /** Largest size in steps, rounded down; null when not enforced. */
  readonly maxSteps: bigint | null;
}

const grids = new WeakMap<Market, MarketGrid>();

/** Returns a market's rules in integer units. They are cached with the record, because records do not change. */
export function marketGrid(market: Market): MarketGrid {
  let grid = grids.get(market);
  if (grid === undefined) {
    const step = gridOf(market.step)!;
    const max = market.maxOrderSize === null ? null : floorCountOf(parseDecimal(market.maxOrderSize)!, step);
    const min = market.minOrderSize === null ? null : parseDecimal(market.minOrderSize)!;
    const minSteps = min === null ? null : (countOf(min, step) ?? floorCountOf(min, step) + 1n);
    grid = { tick: gridOf(market.tick)!, step, minSteps, maxSteps: max };
    grids.set(market, grid);
  }
  return grid;
}
