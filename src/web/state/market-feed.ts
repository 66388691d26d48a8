/**
 * The stream of the selected market: one complete frame every two seconds. The stream is closed while the page is
 * hidden, and the last frame stays on the screen with its age.
 */

import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { type MarketFrame, type WatchState, watchMarket } from '../../client/index.ts';
import type { Timeframe } from '../../domain/candle.ts';
import { TIMEFRAMES } from '../../domain/candle.ts';
import { elapsedMs, type PageMoment, type StreamState, streamStateOf } from '../figures/age.ts';
import { moment, momentNow, now, tick, visible } from './clock.ts';
import { connection } from './connection.ts';
import { kept } from './kept-choice.ts';
import { currentMarket, marketUnknown, noteState } from './markets.ts';
import { recoveries } from './polling.ts';
import { selectedTicker, symbolOf } from './selected-market.ts';

export { currentMarket };

/** Timeframe of the chart, kept in this browser. */
export const timeframe: Signal<Timeframe> = kept('timeframe', TIMEFRAMES, '1m');

/** Latest frame of the selected market; null until the first. */
export const frame: Signal<MarketFrame | null> = signal(null);

const arrivedAt: Signal<PageMoment | null> = signal(null);

const BEFORE_FIRST: WatchState = { state: 'connecting', lastFrameAt: null, retryAt: null, error: null };
const watchState: Signal<WatchState> = signal(BEFORE_FIRST);

/** Milliseconds since the latest frame arrived; null until the first. */
export const frameAgeMs: ReadonlySignal<number | null> = computed(() =>
  arrivedAt.value === null ? null : elapsedMs(arrivedAt.value, moment.value),
);

/** State of the frame on the screen. Only a `live` book may be clicked. */
export const streamState: ReadonlySignal<StreamState> = computed(() =>
  streamStateOf(watchState.value.state, frameAgeMs.value),
);

/** Milliseconds until the client connects again; null while it is not waiting to. */
export const retryInMs: ReadonlySignal<number | null> = computed(() => {
  const { retryAt } = watchState.value;
  return retryAt === null ? null : Math.max(0, retryAt - now.value);
});

/** Symbol of the market whose stream is wanted; null for none. */
const wantedSymbol = computed(() =>
  selectedTicker.value === null || marketUnknown.value ? null : symbolOf(selectedTicker.value),
);

function openStream(symbol: string, tf: Timeframe): () => void {
  let newest: { readonly received: MarketFrame; readonly arrived: PageMoment } | undefined;
  let drawing = 0;
  const draw = (): void => {
    drawing = 0;
    batch(() => {
      arrivedAt.value = newest!.arrived;
      frame.value = newest!.received;
      noteState(newest!.received);
    });
  };
  const watch = watchMarket(
    connection,
    { symbol, tf },
    {
      // Frames that waited for a busy page come together; only the newest of them is worth drawing.
      onFrame(received) {
        newest = { received, arrived: momentNow() };
        if (drawing === 0) drawing = requestAnimationFrame(draw);
      },
      onState(state) {
        batch(() => {
          watchState.value = state;
          // The age is computed at the moment that made the data old.
          if (state.state !== 'live') tick();
        });
      },
    },
  );
  const unfollowRecoveries = recoveries.subscribe(() => watch.retryNow());
  return () => {
    unfollowRecoveries();
    cancelAnimationFrame(drawing);
    watch.close();
  };
}

/** Follows the selected market for as long as the page is open. */
export function startMarketFeed(): void {
  // For another market, what is shown of the previous one is no longer true.
  effect(() => {
    void wantedSymbol.value;
    batch(() => {
      frame.value = null;
      arrivedAt.value = null;
      watchState.value = BEFORE_FIRST;
    });
  });
  effect(() => {
    if (wantedSymbol.value === null || !visible.value) return;
    return openStream(wantedSymbol.value, timeframe.value);
  });
}

/** The top of the book as a sentence, for readers who ask for it by a key. */
export const marketSummary = computed(() => {
  const market = currentMarket.value;
  const book = frame.value?.book;
  if (market === null || book === undefined) return 'The book is not known yet.';
  const bid = book.bids[0];
  const ask = book.asks[0];
  const { baseToken: base, quoteToken: quote } = market;
  return (
    `${market.symbol}, ${streamState.value}. ` +
    `${bid === undefined ? 'No bids.' : `Best bid ${bid.price} ${quote} for ${bid.size} ${base}.`} ` +
    `${ask === undefined ? 'No asks.' : `Best ask ${ask.price} ${quote} for ${ask.size} ${base}.`}`
  );
});
