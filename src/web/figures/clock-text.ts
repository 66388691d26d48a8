/** Hours in words: all times of the page are those of the reader's clock, but days of the chart are those of UTC. */

import type { Timeframe } from '../../domain/candle.ts';

/** Candles of a day and more begin at midnight UTC. */
const isOfDays = (timeframe: Timeframe): boolean => /^1[DWM]$/.test(timeframe);

/** Latin digits, as those of the figures, and the days of the chart. */
const LATIN = { numberingSystem: 'latn', calendar: 'gregory' } as const;

/**
 * Writes a moment as a country does.
 * @param locale by default that of the browser
 */
export const momentText = (date: Date, options: Intl.DateTimeFormatOptions = {}, locale?: string): string =>
  date.toLocaleString(locale, { ...LATIN, ...options });

/** Returns the name of the clock of a chart: `UTC`, `GMT+1`, `CET`. */
export const clockOf = (timeframe: Timeframe): string =>
  isOfDays(timeframe)
    ? 'UTC'
    : new Intl.DateTimeFormat(undefined, { ...LATIN, timeZoneName: 'short' })
        .formatToParts()
        .find(({ type }) => type === 'timeZoneName')!.value;

const DAY = { day: 'numeric', month: 'short' } as const;

const two = (count: number): string => String(count).padStart(2, '0');

/** Returns the start of a candle as `2026-11-28 09:30`. @param time Unix seconds */
export function startText(time: number, timeframe: Timeframe): string {
  const date = new Date(time * 1_000);
  if (isOfDays(timeframe)) return date.toISOString().slice(0, 10);
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Returns a mark of the time axis: an hour of the reader's clock, and a day where one begins there. */
export function markText(time: number, timeframe: Timeframe): string {
  const date = new Date(time * 1_000);
  if (isOfDays(timeframe)) return momentText(date, { ...DAY, timeZone: 'UTC' });
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  return isMidnight ? momentText(date, DAY) : `${two(date.getHours())}:${two(date.getMinutes())}`;
}
