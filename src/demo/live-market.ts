/** A market as the live wallets see it: a price that walks, and levels and sizes that its rules allow. */

import type { Connection } from '../client/index.ts';
import type { Market } from '../domain/market.ts';
import { marketGrid } from '../domain/market-grid.ts';
import type { Side } from '../domain/order.ts';
import { formatCount, greatest, least } from '../domain/units.ts';
import type { Random } from './random.ts';
import { openMarkets, type Prices, powerOfTenBelow, presentTicks, quarterOf } from './stage.ts';
import { DemoStopped } from './trader.ts';

/** Number of price levels that are quoted on each side. */
export const LEVELS = 8n;
const MAX_UNITS = 4n;
/** Maximum atoms of an order: the engine refuses an order of 2^53 atoms, and the walk may double the price. */
const MAX_ATOMS = 2n ** 51n;

export interface LiveMarket {
  readonly market: Market;
  /** Price at which the walk begins. */
  readonly startTicks: bigint;
  /** Ticks between two price levels. */
  readonly gapTicks: bigint;
  /** Bounds of the size of an order. */
  readonly minOrderSteps: bigint;
  readonly maxOrderSteps: bigint;
}

export interface PlannedLevel {
  readonly side: Side;
  readonly priceTicks: bigint;
}

/**
 * Looks up the markets to trade on.
 * @param symbol of the only one; otherwise the first `max` open markets
 * @throws DemoStopped when there is none
 */
export async function findLiveMarkets(
  connection: Connection,
  symbol: string | undefined,
  max: number,
): Promise<LiveMarket[]> {
  const open = await openMarkets(connection);
  const chosen =
    symbol === undefined ? open.slice(0, max) : open.filter((one) => one.market.symbol === symbol);
  const found = chosen.flatMap(({ market, prices }) => liveMarket(market, prices) ?? []);
  if (found.length > 0) return found;
  const symbols = open.map(({ market }) => market.symbol).join(', ');
  throw new DemoStopped(
    chosen.length === 0
      ? `${symbol} is no open market; open are ${symbols}`
      : 'the rules of the market leave no size to trade with: its smallest order is too large to be exact',
  );
}

/** Returns undefined when even the smallest order that the rules allow could not be placed. */
export function liveMarket(market: Market, prices: Prices): LiveMarket | undefined {
  const { minSteps, maxSteps } = marketGrid(market);
  const present = presentTicks(market, prices);
  const gapTicks = powerOfTenBelow(present / 2000n);
  const lowest = (LEVELS + 2n) * gapTicks;
  const startTicks = present > lowest ? present : lowest;
  const exact = least(
    MAX_ATOMS / market.baseAtomsPerStep,
    MAX_ATOMS / (startTicks * market.quoteAtomsPerLot),
  );
  const max = maxSteps === null ? exact : least(exact, maxSteps);
  const smallest = minSteps ?? 1n;
  if (max < smallest) return undefined;
  const minOrderSteps = greatest(least(quarterOf(market), max / MAX_UNITS), smallest);
  const maxOrderSteps = least(minOrderSteps * MAX_UNITS, max);
  return { market, startTicks, gapTicks, minOrderSteps, maxOrderSteps };
}

export const priceText = ({ market }: LiveMarket, ticks: bigint): string =>
  formatCount(ticks, marketGrid(market).tick);

/** Draws a size between the bounds, in tenths of the least one. */
export function drawSize({ market, minOrderSteps, maxOrderSteps }: LiveMarket, random: Random): string {
  const tenths = (minOrderSteps * BigInt(10 + random.below(31))) / 10n;
  return formatCount(least(tenths, maxOrderSteps), marketGrid(market).step);
}

/** Opens a random walk: each step is at most one gap, and the price stays between 2/3 and 3/2 of its start. */
export function openWalk({ startTicks, gapTicks }: LiveMarket, random: Random): () => bigint {
  const lowest = greatest((startTicks * 2n) / 3n, (LEVELS + 1n) * gapTicks);
  const highest = (startTicks * 3n) / 2n;
  let midTicks = startTicks;
  return () => {
    const quarters = BigInt(random.below(9) - 4);
    midTicks = greatest(lowest, least(highest, midTicks + (quarters * gapTicks) / 4n));
    return midTicks;
  };
}

/**
 * Returns the levels to quote around a price. They lie on whole gaps, so that most stay in place when the price moves.
 */
export function levelsAround({ gapTicks }: LiveMarket, midTicks: bigint): PlannedLevel[] {
  const bestBid = (midTicks - 1n) / gapTicks;
  const levels: PlannedLevel[] = [];
  for (let away = 0n; away < LEVELS; away += 1n) {
    if (bestBid > away) levels.push({ side: 'buy', priceTicks: (bestBid - away) * gapTicks });
    levels.push({ side: 'sell', priceTicks: (bestBid + 1n + away) * gapTicks });
  }
  return levels;
}
