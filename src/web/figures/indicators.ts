/** Lines over the candles: moving averages and the volume-weighted average price. Doubles are enough, as they become pixels. */

import type { Timeframe } from '../../domain/candle.ts';
import type { CandleSeries } from './candle-series.ts';

export interface LinePoint {
  /** Unix seconds of the candle's start. */
  readonly time: number;
  readonly value: number;
}

/** Returns the average of the last closes, from the first candle on that has enough before it. */
export function movingAverage(candles: CandleSeries, count: number): LinePoint[] {
  const points: LinePoint[] = [];
  let sum = 0;
  for (const [index, { time, close }] of candles.entries()) {
    sum += Number(close);
    if (index >= count) sum -= Number(candles[index - count]!.close);
    if (index >= count - 1) points.push({ time, value: sum / count });
  }
  return points;
}

/** Start of the span over which the average price runs: the day for candles of less than a day, otherwise the year. */
function spanOf(time: number, timeframe: Timeframe): string {
  const date = new Date(time * 1_000).toISOString();
  return /[mh]$/.test(timeframe) ? date.slice(0, 10) : date.slice(0, 4);
}

/** Returns the average price by volume since the beginning of the day or year (UTC), with the middle of each candle. */
export function volumeWeighted(candles: CandleSeries, timeframe: Timeframe): LinePoint[] {
  const points: LinePoint[] = [];
  let span = '';
  let worth = 0;
  let volume = 0;
  for (const candle of candles) {
    const begun = spanOf(candle.time, timeframe);
    if (begun !== span) [span, worth, volume] = [begun, 0, 0];
    const middle = (Number(candle.high) + Number(candle.low) + Number(candle.close)) / 3;
    worth += middle * Number(candle.volume);
    volume += Number(candle.volume);
    if (volume > 0) points.push({ time: candle.time, value: worth / volume });
  }
  return points;
}
