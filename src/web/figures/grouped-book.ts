/** Computes the rows of the order book: levels grouped by price, with the cumulative size. Integers throughout. */

import {
  countOf,
  formatCount,
  formatScaled,
  type Grid,
  greatest,
  halfExactly,
  parseDecimal,
} from '../../domain/units.ts';

/** A level as the stream has it: plain decimal strings. */
interface StreamLevel {
  readonly price: string;
  readonly size: string;
}

export interface BookGrid {
  readonly tick: Grid;
  readonly step: Grid;
}

export type BookSide = 'bid' | 'ask';

export interface BookRow {
  /** Plain decimal, and the key of the row. For a group: every order of the group has this price or a better one. */
  readonly price: string;
  /** Size of this row, base units. */
  readonly size: string;
  /** Size from the best price up to and including this row. */
  readonly total: string;
  /** Width of the depth bar in percent, 0 to 100. */
  readonly depth: number;
}

interface GroupedBook {
  /** Best first. */
  readonly bids: readonly BookRow[];
  readonly asks: readonly BookRow[];
}

/**
 * Rows of a side that set the scale of the depth bars: about as many as fit on a screen, and none farther from the mid
 * than a twentieth of it, so that one far order cannot flatten all bars. Deeper bars are full.
 */
const ROWS_OF_SCALE = 24;
const SCALE_PART_OF_MID = 20n;

interface Group {
  readonly ticks: bigint;
  readonly steps: bigint;
  readonly totalSteps: bigint;
}

/**
 * @throws RangeError when the text is not a whole number of the grid's units, as for a level of other rules than the
 *   market's
 */
function unitsOf(text: string, grid: Grid): bigint {
  const decimal = parseDecimal(text);
  const count = decimal === undefined ? undefined : countOf(decimal, grid);
  if (count === undefined) throw new RangeError(`${text} is not on the grid of the market`);
  return count;
}

/**
 * Returns the start of the group that contains a price: bids are rounded down, asks up, so that no group looks better
 * than it is.
 */
function groupOf(ticks: bigint, factor: bigint, side: BookSide): bigint {
  const rest = ticks % factor;
  if (rest === 0n) return ticks;
  return side === 'bid' ? ticks - rest : ticks - rest + factor;
}

function groupSide(levels: readonly StreamLevel[], side: BookSide, grid: BookGrid, factor: bigint): Group[] {
  const groups: Group[] = [];
  let totalSteps = 0n;
  for (const { price, size } of levels) {
    const ticks = groupOf(unitsOf(price, grid.tick), factor, side);
    const steps = unitsOf(size, grid.step);
    totalSteps += steps;
    const last = groups.at(-1);
    if (last?.ticks === ticks) groups[groups.length - 1] = { ticks, steps: last.steps + steps, totalSteps };
    else groups.push({ ticks, steps, totalSteps });
  }
  return groups;
}

/** Returns the cumulative size of the rows of the scale. The best row always belongs to them. */
function totalOfScale(groups: readonly Group[], doubleMid: bigint): bigint {
  const isNear = ({ ticks }: Group): boolean => {
    const distance = ticks * 2n - doubleMid;
    return (distance < 0n ? -distance : distance) * SCALE_PART_OF_MID <= doubleMid;
  };
  const last = groups.slice(0, ROWS_OF_SCALE).findLast(isNear) ?? groups[0];
  return last?.totalSteps ?? 0n;
}

/** Returns a part of the whole in percent with one decimal, at most 100. It is a width on the screen, not an amount. */
const percentOf = (part: bigint, whole: bigint): number =>
  part >= whole ? 100 : Number((part * 1_000n) / whole) / 10;

/**
 * Groups both sides of a book.
 * @param levels each side best first, on the grid
 * @param factor ticks in a group, at least 1
 */
export function groupBook(
  levels: { readonly bids: readonly StreamLevel[]; readonly asks: readonly StreamLevel[] },
  grid: BookGrid,
  factor: bigint,
): GroupedBook {
  const bids = groupSide(levels.bids, 'bid', grid, factor);
  const asks = groupSide(levels.asks, 'ask', grid, factor);
  const bid = bids[0] ?? asks[0];
  const ask = asks[0] ?? bids[0];
  const doubleMid = (bid?.ticks ?? 0n) + (ask?.ticks ?? 0n);
  const bidTotal = totalOfScale(bids, doubleMid);
  const askTotal = totalOfScale(asks, doubleMid);
  const whole = greatest(askTotal, bidTotal);
  const rowOf = ({ ticks, steps, totalSteps }: Group): BookRow => ({
    price: formatCount(ticks, grid.tick),
    size: formatCount(steps, grid.step),
    total: formatCount(totalSteps, grid.step),
    depth: percentOf(totalSteps, whole),
  });
  return { bids: bids.map(rowOf), asks: asks.map(rowOf) };
}

const MAX_GROUPINGS = 8;

/** Returns the numbers of ticks to group by: 1, 10, 100… while a group stays below a twentieth of the price. */
export function groupingFactors(price: string | null, tick: Grid): bigint[] {
  const factors = [1n];
  if (price === null) return factors;
  const ticks = unitsOf(price, tick);
  for (let factor = 10n; factor * 20n <= ticks && factors.length < MAX_GROUPINGS; factor *= 10n) {
    factors.push(factor);
  }
  return factors;
}

interface Spread {
  /** Best ask minus best bid. */
  readonly spread: string;
  readonly mid: string;
  /** The spread as a percentage of the mid, three decimals, rounded down; `< 0.001` below them. */
  readonly percent: string;
}

/** Returns the spread of a book with two sides; null for any other book. */
export function spreadOf(bid: string | undefined, ask: string | undefined, tick: Grid): Spread | null {
  if (bid === undefined || ask === undefined) return null;
  const bidTicks = unitsOf(bid, tick);
  const askTicks = unitsOf(ask, tick);
  const sum = bidTicks + askTicks;
  const thousandths = ((askTicks - bidTicks) * 200_000n) / sum;
  return {
    spread: formatCount(askTicks - bidTicks, tick),
    mid: halfExactly(formatCount(sum, tick)),
    percent: thousandths === 0n ? '< 0.001' : formatScaled(thousandths, 3),
  };
}

interface OwnOrder {
  readonly side: 'buy' | 'sell';
  readonly price: string | null;
}

/** Returns the prices of the rows that hold an order of the reader, for one side of the book. */
export function ownRows(
  orders: readonly OwnOrder[],
  side: BookSide,
  tick: Grid,
  factor: bigint,
): ReadonlySet<string> {
  const own = side === 'bid' ? 'buy' : 'sell';
  const prices = orders.flatMap((order) => (order.side === own && order.price !== null ? [order.price] : []));
  return new Set(prices.map((price) => formatCount(groupOf(unitsOf(price, tick), factor, side), tick)));
}
