/**
 * The stage of the story: a market, with a price and sizes on its grid, out of reach of resting orders. On an empty
 * book of ETH/USDC, these are always 3,000 and quarters of an ETH.
 */

import { type Connection, getMarkets, getOrderBook, getPairs, getTickers } from '../client/index.ts';
import type { Market } from '../domain/market.ts';
import { marketGrid } from '../domain/market-grid.ts';
import { rulesOf } from '../domain/published-rules.ts';
import { floorCountOf, formatCount, formatScaled, parseDecimal } from '../domain/units.ts';
import { DemoStopped, stopAt } from './trader.ts';

export interface Stage {
  readonly market: Market;
  /** Returns the price `levels` levels above (or below) the middle, as a decimal. */
  price(levels: bigint): string;
  /** Returns `quarters` of the usual size, as a decimal; the usual size is 1 base unit where the rules allow it. */
  size(quarters: bigint): string;
  /** Returns the notional of `quarters` at `levels` above the middle, as a decimal of the quote asset. */
  notional(quarters: bigint, levels: bigint): string;
  baseAtoms(quarters: bigint): bigint;
  quoteAtoms(quarters: bigint, levels: bigint): bigint;
}

/** Prices of a market in ticks; null: there is none. */
export interface Prices {
  readonly bestBidTicks: bigint | null;
  readonly bestAskTicks: bigint | null;
  readonly lastTicks: bigint | null;
}

/** Number of levels that the story quotes on each side. */
const LEVELS = 3n;
/** Price of a market that has none yet, by its base asset. */
const USUAL_PRICES: Readonly<Record<string, string>> = { BTC: '60000' };
const USUAL_PRICE = '3000';

/** @throws DemoStopped when no market can be played on */
export async function setStage(connection: Connection): Promise<Stage> {
  for (const { market, prices } of await openMarkets(connection)) {
    const place = findRoom(market, prices);
    if (place !== undefined) return stageOn(market, place.middleTicks, place.levelTicks);
  }
  throw new DemoStopped('no market has room between its best bid and ask for the quotes of the demo');
}

/**
 * Returns the markets that anybody may buy and sell on, with their prices.
 * @throws DemoStopped when there is none
 */
export async function openMarkets(connection: Connection): Promise<{ market: Market; prices: Prices }[]> {
  const [pairs, markets, tickers] = await Promise.all([
    getPairs(connection),
    getMarkets(connection),
    getTickers(connection),
  ]).catch((error: unknown) => stopAt('reading the markets', error));
  const listed = new Set(pairs.map(({ ticker_id }) => ticker_id));
  const open = markets.filter(({ symbol, sellEnabled }) => sellEnabled && listed.has(tickerOf(symbol)));
  if (open.length === 0) throw new DemoStopped('no market is open: publish one with redbook market create');
  return Promise.all(
    open.map(async (record) => {
      const market = rulesOf(record);
      const tickerId = tickerOf(record.symbol);
      const { bids, asks } = await getOrderBook(connection, { tickerId, depth: 2 }).catch((error: unknown) =>
        stopAt('reading a book', error),
      );
      const last = tickers.find(({ ticker_id }) => ticker_id === tickerId)?.last_price;
      const ticksOf = (price: string | undefined): bigint | null =>
        price === undefined ? null : floorCountOf(parseDecimal(price)!, marketGrid(market).tick);
      const prices = {
        bestBidTicks: ticksOf(bids[0]?.[0]),
        bestAskTicks: ticksOf(asks[0]?.[0]),
        lastTicks: ticksOf(last),
      };
      return { market, prices };
    }),
  );
}

const tickerOf = (symbol: string): string => symbol.replace('/', '_');

/** Returns the current price of a market in ticks: the middle of its book, else its last price, else a usual one. */
export function presentTicks(market: Market, { bestBidTicks, bestAskTicks, lastTicks }: Prices): bigint {
  if (bestBidTicks !== null && bestAskTicks !== null) return (bestBidTicks + bestAskTicks) / 2n;
  const usual = USUAL_PRICES[market.base.symbol] ?? USUAL_PRICE;
  const usualTicks = floorCountOf(parseDecimal(usual)!, marketGrid(market).tick);
  return lastTicks ?? bestBidTicks ?? bestAskTicks ?? (usualTicks > 0n ? usualTicks : 3000n);
}

interface FreeLevels {
  readonly middleTicks: bigint;
  readonly levelTicks: bigint;
}

/** Finds a middle with all levels of the story strictly between the best bid and the best ask. */
function findRoom(market: Market, prices: Prices): FreeLevels | undefined {
  const { bestBidTicks: bid, bestAskTicks: ask } = prices;
  const around = presentTicks(market, prices);
  const levelTicks = powerOfTenBelow(around / 1000n);
  const reach = levelTicks * (LEVELS + 1n);
  // A round price, so that the last price of the story leads back to its first.
  const round = levelTicks * 10n;
  let middleTicks = ((around + round / 2n) / round) * round;
  if (bid !== null && middleTicks - reach < bid) middleTicks = bid + reach;
  if (ask !== null && middleTicks + reach > ask) middleTicks = ask - reach;
  const fits = middleTicks - reach >= (bid ?? 0n) && middleTicks > reach;
  return fits ? { middleTicks, levelTicks } : undefined;
}

/** Returns the greatest power of ten that is not above a count. */
export const powerOfTenBelow = (count: bigint): bigint =>
  10n ** BigInt(Math.max(0, count.toString().length - 1));

/** Returns a quarter of the usual size in steps; the usual size is 1 base unit where the rules allow it. */
export function quarterOf(market: Market): bigint {
  const { step, minSteps } = marketGrid(market);
  const quarterOfOne = floorCountOf(parseDecimal('0.25')!, step);
  const least = minSteps ?? 1n;
  return quarterOfOne > least ? quarterOfOne : least;
}

function stageOn(market: Market, middleTicks: bigint, levelTicks: bigint): Stage {
  const { tick, step } = marketGrid(market);
  const quarterSteps = quarterOf(market);
  const ticksAt = (levels: bigint): bigint => middleTicks + levels * levelTicks;
  const quoteAtoms = (quarters: bigint, levels: bigint): bigint =>
    ticksAt(levels) * quarters * quarterSteps * market.quoteAtomsPerLot;
  return {
    market,
    price: (levels) => formatCount(ticksAt(levels), tick),
    size: (quarters) => formatCount(quarters * quarterSteps, step),
    notional: (quarters, levels) => formatScaled(quoteAtoms(quarters, levels), market.quote.scale),
    baseAtoms: (quarters) => quarters * quarterSteps * market.baseAtomsPerStep,
    quoteAtoms,
  };
}
