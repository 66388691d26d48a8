/** Candles: summaries of the executions of an interval. Buckets are aligned to UTC. */

import type { Trade } from './order.ts';
import type { SecondOfTrades } from './rolling-day.ts';
import { greatest, least } from './units.ts';

export const TIMEFRAMES = ['1m', '5m', '15m', '1h', '4h', '1D', '1W', '1M'] as const;
export type Timeframe = (typeof TIMEFRAMES)[number];

export interface Candle {
  /** Unix milliseconds of the bucket's start. */
  readonly openMs: number;
  readonly openTicks: bigint;
  readonly highTicks: bigint;
  readonly lowTicks: bigint;
  readonly closeTicks: bigint;
  readonly volumeSteps: bigint;
  /** Price x size. */
  readonly quoteAtoms: bigint;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** 1969-12-29, the last Monday before Unix time. */
const MONDAY_MS = -3 * DAY_MS;

/** null: the length is that of the month. */
const LENGTHS_MS: Readonly<Record<Timeframe, number | null>> = {
  '1m': MINUTE_MS,
  '5m': 5 * MINUTE_MS,
  '15m': 15 * MINUTE_MS,
  '1h': HOUR_MS,
  '4h': 4 * HOUR_MS,
  '1D': DAY_MS,
  '1W': WEEK_MS,
  '1M': null,
};

/** Buckets of one length; one of them starts at `originMs`, which is not after Unix time 0. */
interface BucketGrid {
  readonly lengthMs: number;
  readonly originMs: number;
}

/** Returns null for calendar months, which lie on no grid. */
export function bucketGrid(timeframe: Timeframe): BucketGrid | null {
  const lengthMs = LENGTHS_MS[timeframe];
  return lengthMs === null ? null : { lengthMs, originMs: timeframe === '1W' ? MONDAY_MS : 0 };
}

/**
 * Returns the start of the bucket that contains a time (Unix milliseconds). Weeks begin on Monday; months are calendar
 * months.
 */
export function bucketStartMs(timeframe: Timeframe, timeMs: number): number {
  const grid = bucketGrid(timeframe);
  if (grid === null) {
    const date = new Date(timeMs);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  }
  const { lengthMs, originMs } = grid;
  return timeMs - ((((timeMs - originMs) % lengthMs) + lengthMs) % lengthMs);
}

/** Returns the end of the bucket that contains a time (Unix milliseconds), which is the start of the next one. */
export function bucketEndMs(timeframe: Timeframe, timeMs: number): number {
  const startMs = bucketStartMs(timeframe, timeMs);
  const lengthMs = LENGTHS_MS[timeframe];
  return lengthMs === null ? bucketStartMs(timeframe, startMs + 31 * DAY_MS) : startMs + lengthMs;
}

/**
 * Returns the candle of one execution.
 * @param quoteAtoms price x size
 */
export const candleOfTrade = (
  openMs: number,
  { priceTicks, sizeSteps }: Trade,
  quoteAtoms: bigint,
): Candle => ({
  openMs,
  openTicks: priceTicks,
  highTicks: priceTicks,
  lowTicks: priceTicks,
  closeTicks: priceTicks,
  volumeSteps: sizeSteps,
  quoteAtoms,
});

/** Returns the candle of several executions of one bucket. */
export const candleOfSum = (openMs: number, sum: SecondOfTrades): Candle => ({
  openMs,
  openTicks: sum.firstTicks,
  highTicks: sum.highTicks,
  lowTicks: sum.lowTicks,
  closeTicks: sum.lastTicks,
  volumeSteps: sum.sizeSteps,
  quoteAtoms: sum.quoteAtoms,
});

/** Returns the candle of a bucket without executions: flat at the previous price. */
export const flatCandle = (openMs: number, priceTicks: bigint): Candle => ({
  openMs,
  openTicks: priceTicks,
  highTicks: priceTicks,
  lowTicks: priceTicks,
  closeTicks: priceTicks,
  volumeSteps: 0n,
  quoteAtoms: 0n,
});

/** Joins two parts of the same bucket; `later` follows `earlier`. */
export const joinCandles = (earlier: Candle, later: Candle): Candle => ({
  openMs: earlier.openMs,
  openTicks: earlier.openTicks,
  highTicks: greatest(earlier.highTicks, later.highTicks),
  lowTicks: least(earlier.lowTicks, later.lowTicks),
  closeTicks: later.closeTicks,
  volumeSteps: earlier.volumeSteps + later.volumeSteps,
  quoteAtoms: earlier.quoteAtoms + later.quoteAtoms,
});
