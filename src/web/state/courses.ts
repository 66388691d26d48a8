/** The courses of a day that the list of markets shows, as points of a line by symbol. */

import { computed, type Signal, signal } from '@preact/signals';
import { getCandles } from '../../client/index.ts';
import { priceLine } from '../figures/price-line.ts';
import { connection } from './connection.ts';
import { markets, summaries } from './markets.ts';
import { pollWhileVisible } from './polling.ts';
import { tickerOf } from './selected-market.ts';

export const courses: Signal<ReadonlyMap<string, string>> = signal(new Map());

/** Each course is a request of its own, so only those of the greatest volumes are read, and seldom. */
const MAX = 20;
const PAUSE_MS = 600_000;
const HOURS = 24;

async function read(): Promise<void> {
  const traded = markets
    .peek()
    .map(({ symbol }) => ({ symbol, volume: summaries.peek().get(symbol)?.quote_volume }))
    .filter(({ volume }) => volume !== undefined)
    .sort((one, other) => Number(other.volume) - Number(one.volume))
    .slice(0, MAX);
  for (const { symbol } of traded) {
    const { candles } = await getCandles(connection, { tickerId: tickerOf(symbol), tf: '1h', limit: HOURS });
    const moments = candles.map(({ time, close }) => ({ time: Number(time), price: close }));
    // An hour without executions has no candle, so the oldest ones may be of another day.
    const since = (moments.at(-1)?.time ?? 0) - HOURS * 3_600;
    const line = priceLine(moments.filter(({ time }) => time > since));
    if (line !== null) courses.value = new Map([...courses.peek(), [symbol, line.points]]);
  }
}

const isKnown = computed(() => summaries.value.size > 0);

/** Reads the courses while the list is shown. @returns a function that ends it */
export const followCourses = (): (() => void) => pollWhileVisible(PAUSE_MS, read, () => isKnown.value);
