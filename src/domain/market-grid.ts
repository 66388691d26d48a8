/** The grid of a market: its rules in integer units, for checking orders. */

import type { Market } from './market.ts';
import { countOf, type Decimal, floorCountOf, type Grid, gridOf, parseDecimal } from './units.ts';

/** A market's rules in integer units. */
export interface MarketGrid {
  readonly tick: Grid;
  readonly step: Grid;
  /** Smallest size in steps, rounded up; null when not enforced. */
  readonly minSteps: bigint | null;
  /** Largest size in steps, rounded down; null when not enforced. */
  readonly maxSteps: bigint | null;
  /** Smallest value of a limit order in quote atoms, rounded up; null when not enforced. */
  readonly minNotionalAtoms: bigint | null;
}

const roundedUp = (value: Decimal, grid: Grid): bigint =>
  countOf(value, grid) ?? floorCountOf(value, grid) + 1n;

const grids = new WeakMap<Market, MarketGrid>();

/** Returns a market's rules in integer units. They are cached with the record, because records do not change. */
export function marketGrid(market: Market): MarketGrid {
  let grid = grids.get(market);
  if (grid === undefined) {
    const step = gridOf(market.step)!;
    const max = market.maxOrderSize === null ? null : floorCountOf(parseDecimal(market.maxOrderSize)!, step);
    const min = market.minOrderSize === null ? null : parseDecimal(market.minOrderSize)!;
    const minValue = market.minNotional === null ? null : parseDecimal(market.minNotional)!;
    grid = {
      tick: gridOf(market.tick)!,
      step,
      minSteps: min && roundedUp(min, step),
      maxSteps: max,
      minNotionalAtoms: minValue && roundedUp(minValue, { coefficient: 1n, places: market.quote.scale }),
    };
    grids.set(market, grid);
  }
  return grid;
}
