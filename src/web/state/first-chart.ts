/**
 * The prices that a first visitor sees: those of the market with the largest volume of 24 hours among the markets with
 * the most common quote asset, because volumes in different assets cannot be compared.
 */

import { computed, effect, type Signal, signal } from '@preact/signals';
import { getCandles } from '../../client/index.ts';
import type { PriceMoment } from '../figures/price-line.ts';
import { connection } from './connection.ts';
import { summaries } from './markets.ts';
import { pollWhileVisible } from './polling.ts';
import { selectedTicker } from './selected-market.ts';
import { session } from './session.ts';

interface FirstChart {
  /** `BASE_QUOTE`. */
  readonly ticker: string;
  /** Oldest first. */
  readonly moments: readonly PriceMoment[];
}

/** Null until they were read, and where nothing was traded. */
export const firstChart: Signal<FirstChart | null> = signal(null);

/** Candles of a minute: eight hours of a busy market. */
const CANDLES = 500;
/** Seconds. */
const MINUTE = 60;
const PAUSE_MS = 30_000;

/** The market to show; null while no overview is shown to a visitor, and where nothing was traded in 24 hours. */
const wantedTicker = computed(() => {
  if (selectedTicker.value !== null || session.value !== null) return null;
  const traded = [...summaries.value.values()];
  const marketsOf = new Map<string, number>();
  for (const { quote_currency: quote } of traded) marketsOf.set(quote, (marketsOf.get(quote) ?? 0) + 1);
  const [largest] = traded.sort(
    (one, other) =>
      marketsOf.get(other.quote_currency)! - marketsOf.get(one.quote_currency)! ||
      one.quote_currency.localeCompare(other.quote_currency) ||
      Number(other.quote_volume) - Number(one.quote_volume),
  );
  return largest?.ticker_id ?? null;
});

async function read(ticker: string): Promise<void> {
  const { candles } = await getCandles(connection, { tickerId: ticker, tf: '1m', limit: CANDLES });
  const byTime = candles.toSorted((one, other) => Number(one.time) - Number(other.time));
  const [first] = byTime;
  // The first price of all is the opening of the first candle.
  const opening = first === undefined ? [] : [{ time: Number(first.time) - MINUTE, price: first.open }];
  const closings = byTime.map(({ time, close }) => ({ time: Number(time), price: close }));
  if (wantedTicker.peek() === ticker) firstChart.value = { ticker, moments: [...opening, ...closings] };
}

/** Reads the prices while a visitor sees the overview. */
export function startFirstChart(): void {
  effect(() => {
    const ticker = wantedTicker.value;
    if (ticker === null) return;
    return pollWhileVisible(PAUSE_MS, () => read(ticker));
  });
}
