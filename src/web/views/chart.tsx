/**
 * Candles and volume of the selected market in the eight timeframes, with the reader's own orders and fills. A frame
 * changes only the last candle.
 */

import { computed, signal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Market } from '../../client/index.ts';
import { TIMEFRAMES } from '../../domain/candle.ts';
import { clockOf, markText, startText } from '../figures/clock-text.ts';
import { movingAverage, volumeWeighted } from '../figures/indicators.ts';
import { arrowsOf, linesOf, type OwnLine } from '../figures/own-marks.ts';
import { fills, openOrders, refreshAccount } from '../state/account.ts';
import { announce } from '../state/announcements.ts';
import { candles, historyState, readOlder } from '../state/candles.ts';
import { kept } from '../state/kept-choice.ts';
import { currentMarket, timeframe } from '../state/market-feed.ts';
import { gridOfMarket } from '../state/markets.ts';
import { numbers, shown } from '../state/number-style.ts';
import { moveOrder } from '../state/submissions.ts';
import { drawnTheme } from '../state/theme.ts';
import { CandleDrawing, type Overlays } from './candle-drawing.ts';
import { Depth } from './depth.tsx';
import { Scroller } from './scroller.tsx';

/** Unix seconds of the candle that the reader points at. */
const pointedAt = signal<number | null>(null);

const symbol = computed(() => currentMarket.value?.symbol ?? '');
const lastClose = computed(() => candles.value.at(-1)?.close ?? null);
const ownLines = computed(() => linesOf(openOrders.value, symbol.value, lastClose.value));
const ownArrows = computed(() => arrowsOf(fills.value, symbol.value, timeframe.value, candles.value));

const drawnKind = kept('chart', ['candles', 'depth'], 'candles');

const LINES = [
  ['none', 'No lines'],
  ['averages', 'Averages of 20 and 50'],
  ['weighted', 'VWAP'],
  ['all', 'Averages and VWAP'],
] as const;
const drawnLines = kept(
  'chart-lines',
  LINES.map(([name]) => name),
  'none',
);

const overlays = computed<Overlays>(() => {
  const chosen = drawnLines.value;
  const series = candles.value;
  return {
    ...((chosen === 'averages' || chosen === 'all') && {
      short: movingAverage(series, 20),
      long: movingAverage(series, 50),
    }),
    ...((chosen === 'weighted' || chosen === 'all') && { weighted: volumeWeighted(series, timeframe.value) }),
  };
});

/**
 * Moves the order whose line was dragged. Several orders at one price are one line, which names none of them.
 * Settles when the account shows what became of the move.
 */
async function moveLine({ side, price }: OwnLine, to: string): Promise<void> {
  const at = openOrders
    .peek()
    .filter((order) => order.market === symbol.peek() && order.side === side && order.price === price);
  if (at.length === 1) {
    await moveOrder(at[0]!, { price: to });
    await refreshAccount();
  } else announce(`${at.length} of your orders rest at ${price}. Move them in the table of open orders.`);
}

export function Chart() {
  const market = currentMarket.value;
  const section = useRef<HTMLElement>(null);
  return (
    <section ref={section} class="panel chart" aria-labelledby="chart-heading">
      <div class="panel-head">
        <h2 id="chart-heading" class="visually-hidden">
          Chart
        </h2>
        <Kinds />
        {drawnKind.value === 'candles' && (
          <>
            <Timeframes />
            <Lines />
          </>
        )}
        <FullScreen of={section} />
        {drawnKind.value === 'candles' && <Legend />}
      </div>
      {drawnKind.value === 'candles' && <HistoryState />}
      {market !== null && drawnKind.value === 'depth' && <Depth market={market} />}
      {market !== null && drawnKind.value === 'candles' && (
        <Drawing key={`${market.symbol} ${numbers.value}`} market={market} />
      )}
      {market !== null && <CandleTable market={market} />}
    </section>
  );
}

function Kinds() {
  return (
    <fieldset class="segments small" aria-label="Chart">
      {(['candles', 'depth'] as const).map((kind) => (
        <button
          key={kind}
          type="button"
          aria-pressed={drawnKind.value === kind}
          onClick={() => {
            drawnKind.value = kind;
          }}
        >
          {kind === 'candles' ? 'Candles' : 'Depth'}
        </button>
      ))}
    </fieldset>
  );
}

function Lines() {
  return (
    <select
      class="chart-lines"
      aria-label="Lines over the candles"
      value={drawnLines.value}
      onChange={(event) => {
        drawnLines.value = event.currentTarget.value as (typeof LINES)[number][0];
      }}
    >
      {LINES.map(([name, text]) => (
        <option key={name} value={name}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** Some phones have no full screen for a part of a page. */
function FullScreen({ of }: { of: { readonly current: HTMLElement | null } }) {
  if (!document.fullscreenEnabled) return null;
  const toggle = (): void =>
    void (
      document.fullscreenElement === null ? of.current?.requestFullscreen() : document.exitFullscreen()
    )?.catch(() => announce('The browser refused the full screen.'));
  return (
    <button type="button" class="button quiet small" onClick={toggle}>
      Full screen
    </button>
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
  const candle = candles.value.findLast(({ time }) => pointedAt.value === null || time === pointedAt.value);
  if (candle === undefined) return null;
  const direction = Number(candle.close) < Number(candle.open) ? 'down' : 'up';
  return (
    <p class="legend" aria-hidden="true">
      <span class="muted">{clockOf(timeframe.value)}</span>
      {FIGURES.map(([name, field]) => (
        <span key={name}>
          <span class="muted">{name}</span> <span class={direction}>{shown(candle[field])}</span>
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
      onDrag: moveLine,
      shown,
      markOf: (time) => markText(time, timeframe.peek()),
      startOf: (time) => startText(time, timeframe.peek()),
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
    const lines = overlays.value;
    drawing.current?.show(series);
    drawing.current?.overlay(lines);
  });
  useSignalEffect(() => {
    const lines = ownLines.value;
    const arrows = ownArrows.value;
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
              <th scope="col">Start ({clockOf(timeframe.value)})</th>
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
                    <time dateTime={new Date(candle.time * 1_000).toISOString()}>
                      {startText(candle.time, timeframe.value)}
                    </time>
                  </th>
                  {FIGURES.map(([name, field]) => (
                    <td key={name} class="number">
                      {shown(candle[field])}
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
