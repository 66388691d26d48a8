/**
 * Where the story plays: a market, a price and sizes on its grid, out of reach of whatever rests there already.
 * On an empty book of ETH/USDC that is 3,000 and quarters of an ETH, every time.
 */

import { type Market, marketGrid } from '../domain/market.ts';
import { countOf, floorCountOf, formatCount, formatScaled, parseDecimal } from '../domain/units.ts';
import type { Engine, Quotes } from '../engine/index.ts';
import { DemoStopped } from './trader.ts';

export interface Stage {
  readonly market: Market;
  /** Price `levels` levels above (or below) the middle, as a decimal. */
  price(levels: bigint): string;
  /** `quarters` of the usual size, as a decimal; the usual size is 1 base unit where the rules admit it. */
  size(quarters: bigint): string;
  /** Notional of `quarters` at `levels` above the middle, as a decimal of the quote asset. */
  notional(quarters: bigint, levels: bigint): string;
  baseAtoms(quarters: bigint): bigint;
  quoteAtoms(quarters: bigint, levels: bigint): bigint;
}

/** The story quotes this many levels to either side. */
const LEVELS = 3n;
const USUAL_PRICE = '3000';

/** @throws DemoStopped when no market can be played on */
export async function setStage(engine: Engine): Promise<Stage> {
  const isOpen = ({ status, tradingEnabled, sellEnabled }: Market): boolean =>
    status === 'active' && tradingEnabled && sellEnabled;
  const { markets, quotes } = await engine.quotes((all) => all.filter(isOpen));
  const open = markets.filter(isOpen);
  for (const market of open) {
    const place = findRoom(market, quotes.get(market.symbol)!);
    if (place !== undefined) return stageOn(market, place.middleTicks, place.levelTicks);
  }
  throw new DemoStopped(
    open.length === 0
      ? 'no market is open: publish one with redbook market create'
      : 'no market has room between its best bid and ask for the quotes of the demo',
  );
}

interface Place {
  readonly middleTicks: bigint;
  readonly levelTicks: bigint;
}

/** A middle with all levels of the story strictly between the best bid and the best ask. */
function findRoom(
  market: Market,
  { bestBidTicks: bid, bestAskTicks: ask, lastTicks }: Quotes,
): Place | undefined {
  const usual = countOf(parseDecimal(USUAL_PRICE)!, marketGrid(market).tick) ?? 3000n;
  const around = bid !== null && ask !== null ? (bid + ask) / 2n : (lastTicks ?? bid ?? ask ?? usual);
  const levelTicks = powerOfTenBelow(around / 1000n);
  const reach = levelTicks * (LEVELS + 1n);
  // Round, so that the price the story ends at leads back to where it began.
  const round = levelTicks * 10n;
  let middleTicks = ((around + round / 2n) / round) * round;
  if (bid !== null && middleTicks - reach < bid) middleTicks = bid + reach;
  if (ask !== null && middleTicks + reach > ask) middleTicks = ask - reach;
  const fits = middleTicks - reach >= (bid ?? 0n) && middleTicks > reach;
  return fits ? { middleTicks, levelTicks } : undefined;
}

const powerOfTenBelow = (count: bigint): bigint => 10n ** BigInt(Math.max(0, count.toString().length - 1));

function stageOn(market: Market, middleTicks: bigint, levelTicks: bigint): Stage {
  const { tick, step, minSteps } = marketGrid(market);
  const quarterOfOne = floorCountOf(parseDecimal('0.25')!, step);
  const least = minSteps ?? 1n;
  const quarterSteps = quarterOfOne > least ? quarterOfOne : least;
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
