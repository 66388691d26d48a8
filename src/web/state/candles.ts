/** The candles of the selected market in the chosen timeframe: history of the API and the current one of the stream. */

import { computed, effect, type ReadonlySignal, type Signal, signal, untracked } from '@preact/signals';
import { getCandles, type HistoricalCandle } from '../../client/index.ts';
import type { Timeframe } from '../../domain/candle.ts';
import { addHistory, type CandleSeries, type ChartCandle, joinFrame } from '../figures/candle-series.ts';
import { visible } from './clock.ts';
import { connection } from './connection.ts';
import { currentMarket, frame, timeframe } from './market-feed.ts';
import { tickerOf } from './selected-market.ts';

/** Market and timeframe of a series. */
interface Subject {
  readonly ticker: string;
  readonly tf: Timeframe;
}

const EMPTY: CandleSeries = [];

export const candles: Signal<CandleSeries> = signal(EMPTY);

/** `reading` until the first answer. */
export const historyState: Signal<'reading' | 'read' | 'failed'> = signal('reading');

const symbol = computed(() => currentMarket.value?.symbol ?? null);

const subject: ReadonlySignal<Subject | null> = computed(() =>
  symbol.value === null ? null : { ticker: tickerOf(symbol.value), tf: timeframe.value },
);

const CANDLES_A_READ = 500;

const chartCandle = ({
  time,
  open,
  high,
  low,
  close,
  base_volume: volume,
}: HistoricalCandle): ChartCandle => ({
  time: Number(time),
  open,
  high,
  low,
  close,
  volume,
});

/** Adds candles of the route, unless the reader has switched to another market or timeframe. */
async function read(of: Subject, range: { limit: number; endTime?: number }): Promise<number | null> {
  const answer = await getCandles(connection, { tickerId: of.ticker, tf: of.tf, ...range });
  if (subject.peek() !== of) return null;
  candles.value = addHistory(candles.peek(), answer.candles.map(chartCandle));
  return answer.candles.length;
}

const RETRY_MS = 10_000;

/** Reads the newest candles, and retries until it succeeds. Returns a function that ends the retries. */
function readNewest(of: Subject): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const run = (): void => {
    read(of, { limit: CANDLES_A_READ }).then(
      (count) => {
        if (count === null) return;
        if (count < CANDLES_A_READ) olderOf = of;
        historyState.value = 'read';
      },
      () => {
        if (ended) return;
        historyState.value = 'failed';
        timer = setTimeout(run, RETRY_MS);
      },
    );
  };
  run();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

/** The subject whose history is complete, or whose older candles are being read. */
let olderOf: Subject | null = null;

/** Reads candles older than the first one shown. Does nothing at the beginning of the history, or during a read. */
export async function readOlder(): Promise<void> {
  const of = subject.peek();
  const [first] = candles.peek();
  if (of === null || first === undefined || historyState.peek() !== 'read' || olderOf === of) return;
  olderOf = of;
  try {
    const count = await read(of, { limit: CANDLES_A_READ, endTime: first.time - 1 });
    if (count === CANDLES_A_READ) olderOf = null;
  } catch {
    // The next scroll to the left tries again.
    olderOf = null;
  }
}

/** Time after the end of a bucket at which its settled executions are known. */
const SETTLED_AFTER_MS = 3_000;
const CANDLES_AFTER_END = 3;

function joinCurrent(of: Subject): void {
  const current = frame.value;
  if (current === null || current.candle === null || current.tf !== of.tf) return;
  if (tickerOf(current.symbol) !== of.ticker) return;
  const joined = joinFrame(candles.peek(), current.candle);
  candles.value = joined.series;
  if (joined.ended === null) return;
  setTimeout(() => {
    read(of, { limit: CANDLES_AFTER_END }).catch(() => {
      // The candle stays as the stream last showed it.
    });
  }, SETTLED_AFTER_MS);
}

/** Keeps the candles of the selected market for as long as the page is open. */
export function startCandles(): void {
  effect(() => {
    void subject.value;
    candles.value = EMPTY;
    historyState.value = 'reading';
    olderOf = null;
  });
  // Also after the page was hidden, because the stream was closed meanwhile.
  effect(() => {
    const of = subject.value;
    if (of === null || !visible.value) return;
    return untracked(() => readNewest(of));
  });
  effect(() => {
    if (subject.value !== null) joinCurrent(subject.value);
  });
}
