/** The largest size that a share of the available balance pays for, fee included, in whole steps. */

import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import { heldAtoms } from '../../domain/order.ts';
import { EXACT_LIMIT } from '../../domain/placing.ts';
import { type Asked, type OtherSide, walkBook } from './preview.ts';

/**
 * Returns the quote atoms that a buy of this size needs. It counts the maximum of fills that the levels may hold, so
 * that a size computed from it is not refused for one atom. The rest of a limit order counts at its limit, even where
 * it would be dropped.
 */
function quoteNeed(
  market: Market,
  asked: Asked,
  priceTicks: bigint | null,
  steps: bigint,
  other: OtherSide,
): bigint {
  const taking = asked.postOnly ? { ...other, levels: [] } : other;
  const walk = walkBook(market, asked, { priceTicks, sizeSteps: steps, budgetAtoms: null }, taking);
  const rest = { side: 'buy', priceTicks: priceTicks ?? 0n, remainingSteps: steps - walk.steps } as const;
  return walk.notionalAtoms + walk.maxFeeAtoms + heldAtoms(rest, market);
}

/** Returns the largest count for which `fits` holds; it must hold for all smaller ones too. */
function largest(max: bigint, fits: (count: bigint) => boolean): bigint {
  let low = 0n;
  let high = max;
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (fits(middle)) low = middle;
    else high = middle - 1n;
  }
  return low;
}

/**
 * @param priceTicks of a limit order; null for a market order, which buys at most what the book shows
 * @param availableAtoms of the quote asset for a buy, of the base asset for a sell
 * @returns steps; 0n when the share does not pay for one
 */
export function shareSteps(
  market: Market,
  asked: Asked,
  priceTicks: bigint | null,
  other: OtherSide,
  availableAtoms: bigint,
  percent: number,
): bigint {
  const atoms = (availableAtoms * BigInt(percent)) / 100n;
  const { maxSteps } = marketGrid(market);
  const exact = (EXACT_LIMIT - 1n) / market.baseAtomsPerStep;
  const maxExact = maxSteps !== null && maxSteps < exact ? maxSteps : exact;
  if (asked.side === 'sell') {
    const steps = atoms / market.baseAtomsPerStep;
    return steps < maxExact ? steps : maxExact;
  }
  const shown = other.levels.reduce((sum, level) => sum + level.sizeSteps, 0n);
  const bound = priceTicks === null && shown < maxExact ? shown : maxExact;
  return largest(bound, (steps) => quoteNeed(market, asked, priceTicks, steps, other) <= atoms);
}
