/**
 * Figures of a market's last 24 hours, updated as executions come in and expire; equal to a recomputation at any time.
 */

import { notionalAtoms, type Trade } from './order.ts';
import { greatest, least } from './units.ts';

/** Length of the window. */
export const DAY_SECONDS = 86_400;

/** Executions of one second, or of a part of it. */
export interface SecondOfTrades {
  readonly market: string;
  /** Whole Unix seconds. */
  readonly second: number;
  readonly firstTicks: bigint;
  readonly lastTicks: bigint;
  readonly highTicks: bigint;
  readonly lowTicks: bigint;
  readonly sizeSteps: bigint;
  /** Price x size. */
  readonly quoteAtoms: bigint;
  readonly trades: number;
}

/** Sums the executions of one market. @param trades in the order of execution, at least one */
export function sumOfTrades(trades: readonly Trade[]): SecondOfTrades {
  const first = trades[0]!;
  const sum = {
    market: first.market,
    second: Math.floor(first.timeMs / 1_000),
    firstTicks: first.priceTicks,
    lastTicks: first.priceTicks,
    highTicks: first.priceTicks,
    lowTicks: first.priceTicks,
    sizeSteps: 0n,
    quoteAtoms: 0n,
    trades: trades.length,
  };
  for (const trade of trades) {
    const { priceTicks } = trade;
    if (priceTicks > sum.highTicks) sum.highTicks = priceTicks;
    if (priceTicks < sum.lowTicks) sum.lowTicks = priceTicks;
    sum.lastTicks = priceTicks;
    sum.sizeSteps += trade.sizeSteps;
    sum.quoteAtoms += notionalAtoms(trade);
  }
  return sum;
}

/** Adds executions of the same second and market that follow. */
export function joinSums(one: SecondOfTrades, next: SecondOfTrades): SecondOfTrades {
  return {
    market: one.market,
    second: one.second,
    firstTicks: one.firstTicks,
    lastTicks: next.lastTicks,
    highTicks: greatest(one.highTicks, next.highTicks),
    lowTicks: least(one.lowTicks, next.lowTicks),
    sizeSteps: one.sizeSteps + next.sizeSteps,
    quoteAtoms: one.quoteAtoms + next.quoteAtoms,
    trades: one.trades + next.trades,
  };
}

/** Without executions in the window, the sums are 0 and its prices null. */
export interface DayFigures {
  /** Price of the last execution ever. */
  readonly lastPriceTicks: bigint;
  /** Price of the first execution of the window. */
  readonly firstPriceTicks: bigint | null;
  readonly highTicks: bigint | null;
  readonly lowTicks: bigint | null;
  readonly baseSteps: bigint;
  /** Executed price x size. */
  readonly quoteAtoms: bigint;
  readonly trades: number;
}

/** Sums that expire with a second. The first price is then that of the next second. */
type Leaving = Pick<SecondOfTrades, 'second' | 'firstTicks' | 'sizeSteps' | 'quoteAtoms' | 'trades'>;

interface Extreme {
  readonly second: number;
  readonly ticks: bigint;
}

/** Prices that no later price of the window reaches. The first of them is the window's extreme. */
class Extremes {
  readonly #isBetter: (one: bigint, other: bigint) => boolean;
  #candidates: Extreme[] = [];

  constructor(isBetter: (one: bigint, other: bigint) => boolean) {
    this.#isBetter = isBetter;
  }

  add(second: number, ticks: bigint): void {
    while (this.#candidates.length > 0 && !this.#isBetter(this.#candidates.at(-1)!.ticks, ticks)) {
      this.#candidates.pop();
    }
    this.#candidates.push({ second, ticks });
  }

  dropBefore(second: number): void {
    dropWhile(this.#candidates, (candidate) => candidate.second < second);
  }

  /** Returns the extreme of the window and of further prices; null when there is none. */
  with<Item>(further: readonly Item[], ticksOf: (item: Item) => bigint): bigint | null {
    let best = this.#candidates[0]?.ticks ?? null;
    for (const item of further) {
      const ticks = ticksOf(item);
      if (best === null || this.#isBetter(ticks, best)) best = ticks;
    }
    return best;
  }
}

export class RollingDay {
  readonly #seconds: Leaving[] = [];
  readonly #highs = new Extremes((one, other) => one > other);
  readonly #lows = new Extremes((one, other) => one < other);
  #lastTicks: bigint | null;
  #sizeSteps = 0n;
  #quoteAtoms = 0n;
  #trades = 0;

  /** @param lastTicks price of the last execution before the window; null: there was none */
  constructor(lastTicks: bigint | null) {
    this.#lastTicks = lastTicks;
  }

  /** Adds executions that follow all those added before; a second may come in parts. */
  add({ second, firstTicks, lastTicks, highTicks, lowTicks, sizeSteps, quoteAtoms, trades }: SecondOfTrades) {
    this.#seconds.push({ second, firstTicks, sizeSteps, quoteAtoms, trades });
    this.#highs.add(second, highTicks);
    this.#lows.add(second, lowTicks);
    this.#lastTicks = lastTicks;
    this.#sizeSteps += sizeSteps;
    this.#quoteAtoms += quoteAtoms;
    this.#trades += trades;
  }

  /** Drops executions before the second. */
  dropBefore(second: number): void {
    for (const gone of dropWhile(this.#seconds, (bucket) => bucket.second < second)) {
      this.#sizeSteps -= gone.sizeSteps;
      this.#quoteAtoms -= gone.quoteAtoms;
      this.#trades -= gone.trades;
    }
    this.#highs.dropBefore(second);
    this.#lows.dropBefore(second);
  }

  /**
   * Returns the figures of what was added and of `further` executions, which follow it and are not kept.
   * @param fromSecond start of the window for those executions (Unix seconds)
   * @returns null when nothing was ever executed
   */
  figures(further: readonly SecondOfTrades[], fromSecond: number): DayFigures | null {
    const lastPriceTicks = further.at(-1)?.lastTicks ?? this.#lastTicks;
    if (lastPriceTicks === null) return null;
    const within = further.filter(({ second }) => second >= fromSecond);
    return {
      lastPriceTicks,
      firstPriceTicks: this.#seconds[0]?.firstTicks ?? within[0]?.firstTicks ?? null,
      highTicks: this.#highs.with(within, ({ highTicks }) => highTicks),
      lowTicks: this.#lows.with(within, ({ lowTicks }) => lowTicks),
      baseSteps: within.reduce((sum, { sizeSteps }) => sum + sizeSteps, this.#sizeSteps),
      quoteAtoms: within.reduce((sum, { quoteAtoms }) => sum + quoteAtoms, this.#quoteAtoms),
      trades: within.reduce((sum, { trades }) => sum + trades, this.#trades),
    };
  }
}

/** Removes the items at the front that fulfil the condition, in one move of the array. */
function dropWhile<Item>(items: Item[], isGone: (item: Item) => boolean): Item[] {
  const kept = items.findIndex((item) => !isGone(item));
  return items.splice(0, kept === -1 ? items.length : kept);
}

/**
 * Returns the change from the first to the last price of the window in hundredths of a percent, half rounded up (away
 * from zero); 0 without executions in the window.
 */
export function changeInHundredths({ firstPriceTicks: first, lastPriceTicks: last }: DayFigures): bigint {
  if (first === null) return 0n;
  const distance = last > first ? last - first : first - last;
  const hundredths = (distance * 20_000n + first) / (first * 2n);
  return last > first ? hundredths : -hundredths;
}
