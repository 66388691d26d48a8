/**
 * Candles and volume of the selected market in the eight timeframes, with the reader's own orders and fills. A frame
 * changes only the last candle.
 */

import { computed, signal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Market } from '../../client/index.ts';
import { TIMEFRAMES } from '../../domain/candle.ts';
import type { ChartCandle } from '../figures/candle-series.ts';
import { arrowsOf, linesOf } from '../figures/own-marks.ts';
import { fills, openOrders } from '../state/account.ts';
import { candles, historyState, readOlder } from '../state/candles.ts';
import { currentMarket, timeframe } from '../state/market-feed.ts';
import { gridOfMarket } from '../state/markets.ts';
import { drawnTheme } from '../state/theme.ts';
import { CandleDrawing } from './candle-drawing.ts';
import { Scroller } from './scroller.tsx';

/** Unix seconds of the candle that the reader points at. */
const pointedAt = signal<number | null>(null);

const symbol = computed(() => currentMarket.value?.symbol ?? '');
const ownLines = computed(() => linesOf(openOrders.value, symbol.value));
const ownArrows = computed(() => arrowsOf(fills.value, symbol.value, timeframe.value, candles.value));

export function Chart() {
  const market = currentMarket.value;
  return (
    <section class="panel chart" aria-labelledby="chart-heading">
      <div class="panel-head">
        <h2 id="chart-heading" class="visually-hidden">
          Chart
        </h2>
        <Timeframes />
        <Legend />
      </div>
      <HistoryState />
      {market !== null && <Drawing key={market.symbol} market={market} />}
      {market !== null && <CandleTable market={market} />}
    </section>
  );
}

function Timeframes() {
  return (
    <fieldset class="segments small timeframes" aria-label="Timeframe">
      {TIMEFRAMES.map((tf) => (
        <button
          key={tf}
          type="button"
          aria-pressed={timeframe.value === tf}
          onClick={() => {
            timeframe.value = tf;
          }}
        >
          {tf}
        </button>
      ))}
    </fieldset>
  );
}

const FIGURES = [
  ['O', 'open'],
  ['H', 'high'],
  ['L', 'low'],
  ['C', 'close'],
  ['V', 'volume'],
] as const;

/**
 * Shows the figures of the candle that the reader points at, or of the last one. The table below says the same to
 * screen readers.
 */
function Legend() {
  const shown = candles.value.findLast(({ time }) => pointedAt.value === null || time === pointedAt.value);
  if (shown === undefined) return null;
  const direction = Number(shown.close) < Number(shown.open) ? 'down' : 'up';
  return (
    <p class="legend" aria-hidden="true">
      {FIGURES.map(([name, field]) => (
        <span key={name}>
          <span class="muted">{name}</span> <span class={direction}>{shown[field]}</span>
        </span>
      ))}
    </p>
  );
}

function HistoryState() {
  if (historyState.value === 'failed') {
    return <p class="note warn history-state">Older candles cannot be read now. The page tries again.</p>;
  }
  const isEmpty = historyState.value === 'read' && candles.value.length === 0;
  return isEmpty ? <p class="empty">No candles: nothing was traded on this market yet.</p> : null;
}

function Drawing({ market }: { market: Market }) {
  const element = useRef<HTMLDivElement>(null);
  const drawing = useRef<CandleDrawing>(null);
  useEffect(() => {
    const made = new CandleDrawing(element.current!, gridOfMarket(market).tick, {
      onEdge: () => void readOlder(),
      onPoint: (time) => {
        pointedAt.value = time;
      },
    });
    drawing.current = made;
    made.show(candles.peek());
    return () => {
      made.end();
      drawing.current = null;
    };
  }, []);
  useSignalEffect(() => {
    const series = candles.value;
    drawing.current?.show(series);
  });
  useSignalEffect(() => {
    const [lines, arrows] = [ownLines.value, ownArrows.value];
    drawing.current?.mark(lines, arrows);
  });
  useSignalEffect(() => {
    void drawnTheme.value;
    // Runs after the effect that writes the theme on the root element.
    queueMicrotask(() => {
      drawing.current?.colour();
      drawing.current?.mark(ownLines.peek(), ownArrows.peek());
    });
  });
  return (
    <div
      ref={element}
      class="canvas"
      role="img"
      aria-label={`Candles of ${market.symbol}; the table below has the last of them in figures`}
    />
  );
}

const TABLE_ROWS = 30;
const startOf = ({ time }: ChartCandle): Date => new Date(time * 1_000);

/** The last candles in figures, newest first. */
function CandleTable({ market }: { market: Market }) {
  return (
    <details class="candle-table">
      <summary>The last {TABLE_ROWS} candles as a table</summary>
      <Scroller name="Last candles" class="candle-rows">
        <table>
          <caption class="visually-hidden">
            Candles of {market.symbol}, {timeframe.value}
          </caption>
          <thead>
            <tr>
              <th scope="col">Start (UTC)</th>
              {['Open', 'High', 'Low', 'Close', 'Volume'].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {candles.value
              .slice(-TABLE_ROWS)
              .reverse()
              .map((candle) => (
                <tr key={candle.time}>
                  <th scope="row">
                    <time dateTime={startOf(candle).toISOString()}>
                      {startOf(candle).toISOString().slice(0, 16).replace('T', ' ')}
                    </time>
                  </th>
                  {FIGURES.map(([name, field]) => (
                    <td key={name} class="number">
                      {candle[field]}
                    </td>
                  ))}
                </tr>
              ))}
          </tbody>
        </table>
      </Scroller>
    </details>
  );
}
