/** Every market of the service with its figures of 24 hours. The list follows markets that are created or changed. */

import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import {
  getMarkets,
  getSummary,
  type Market,
  type SummaryEntry,
  type TickerFrame,
  watchMarkets,
} from '../../client/index.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import { rulesOf } from '../../domain/published-rules.ts';
import type { BookGrid } from '../figures/grouped-book.ts';
import { visible } from './clock.ts';
import { connection } from './connection.ts';
import { pollWhileVisible } from './polling.ts';
import { selectedTicker, symbolOf } from './selected-market.ts';

/** All markets, as `GET /v1/markets` has them. Empty until `marketsRead` is true. */
export const markets: Signal<readonly Market[]> = signal([]);

/** True once the markets were read. */
export const marketsRead: Signal<boolean> = signal(false);

/** True when the latest read failed. */
export const marketsFailed: Signal<boolean> = signal(false);

/** Latest ticker frames by symbol. They come every two seconds while a list of markets or an alert needs them. */
export const tickers: Signal<ReadonlyMap<string, TickerFrame>> = signal(new Map());

/** Entries of the public summary by symbol: markets with executions in the last 24 hours. */
export const summaries: Signal<ReadonlyMap<string, SummaryEntry>> = signal(new Map());

/** True while the market picker of the top bar is open. */
export const pickerOpen: Signal<boolean> = signal(false);

/** True while price alerts need the tickers, hidden or not. */
export const tickersWanted: Signal<boolean> = signal(false);

/** True while the reader sees a list of markets. */
const listShown = computed(() => visible.value && (pickerOpen.value || selectedTicker.value === null));
const tickersFollowed = computed(() => listShown.value || tickersWanted.value);

const marketsBySymbol = computed(() => new Map(markets.value.map((market) => [market.symbol, market])));

/** Returns the market of a symbol `BASE/QUOTE`; undefined when there is none. */
export const marketOf = (symbol: string): Market | undefined => marketsBySymbol.value.get(symbol);

/** The market that the address names; null on the overview, while the markets are read, and for an unknown one. */
export const currentMarket: ReadonlySignal<Market | null> = computed(() =>
  selectedTicker.value === null ? null : (marketOf(symbolOf(selectedTicker.value)) ?? null),
);

/** True when the address names a market that does not exist. */
export const marketUnknown: ReadonlySignal<boolean> = computed(
  () => selectedTicker.value !== null && marketsRead.value && currentMarket.value === null,
);

/** Units of price and size. */
export const gridOfMarket = (market: Market): BookGrid => marketGrid(rulesOf(market));

/** Reads the rules of all markets. */
export async function readMarkets(): Promise<void> {
  try {
    const read = await getMarkets(connection);
    batch(() => {
      // An unchanged list keeps its records, so that nothing is drawn again.
      if (JSON.stringify(read) !== JSON.stringify(markets.value)) markets.value = read;
      marketsRead.value = true;
      marketsFailed.value = false;
    });
  } catch {
    marketsFailed.value = true;
  }
}

/** Takes what a frame says of a market's state: it is newer than the record. */
export function noteState({ symbol, status, tradingEnabled }: MarketState): void {
  const known = marketOf(symbol);
  if (known === undefined || (known.status === status && known.tradingEnabled === tradingEnabled)) return;
  markets.value = markets
    .peek()
    .map((market) => (market === known ? { ...market, status, tradingEnabled } : market));
}

type MarketState = Pick<Market, 'symbol' | 'status' | 'tradingEnabled'>;

/** Returns the reason why a market refuses every new order; null when it does not. */
export function stopOf({ symbol, status, tradingEnabled }: MarketState): string | null {
  if (status === 'delisted') return `${symbol} is delisted.`;
  return status === 'halted' || !tradingEnabled ? `${symbol} is halted.` : null;
}

async function readSummary(): Promise<void> {
  const summary = await getSummary(connection);
  summaries.value = new Map(Object.values(summary).map((entry) => [symbolOf(entry.ticker_id), entry]));
}

/** Ticker frames arrive one for each market; frames within this time are applied as one change. */
const BURST_MS = 40;

function followTickers(): () => void {
  let burst: TickerFrame[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    timer = undefined;
    tickers.value = new Map([...tickers.value, ...burst.map((ticker) => [ticker.symbol, ticker] as const)]);
    const created = burst.some(({ symbol }) => marketOf(symbol) === undefined);
    burst = [];
    // The stream sends the markets only once, at its beginning.
    if (created) void readMarkets();
  };
  // Those of an earlier watch may be old.
  tickers.value = new Map();
  const watch = watchMarkets(connection, {
    onFrame(frame) {
      if (frame.type !== 'ticker') return;
      burst.push(frame);
      timer ??= setTimeout(flush, BURST_MS);
    },
    onState() {},
  });
  return () => {
    clearTimeout(timer);
    watch.close();
  };
}

const MARKETS_PAUSE_MS = 15_000;
const SUMMARY_PAUSE_MS = 5_000;

/** Reads the markets and follows them for as long as the page is open. */
export function startMarkets(): void {
  pollWhileVisible(MARKETS_PAUSE_MS, readMarkets);
  pollWhileVisible(SUMMARY_PAUSE_MS, readSummary);
  effect(() => (tickersFollowed.value ? followTickers() : undefined));
}
