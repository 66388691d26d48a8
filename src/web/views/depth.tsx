/** The depth of the book: the size that stands between the mid and each price. */

import { signal } from '@preact/signals';
import type { Market, MarketFrame } from '../../client/index.ts';
import { type DepthCurves, depthAt, depthCurves } from '../figures/depth-curve.ts';
import { frame } from '../state/market-feed.ts';
import { gridOfMarket } from '../state/markets.ts';
import { shown } from '../state/number-style.ts';

/** Times that the curves are drawn closer than usual. */
const zoom = signal(1);
const STEP = 1.25;
const MIN_ZOOM = 0.05;
const MAX_ZOOM = 200;

function zoomBy(factor: number): void {
  zoom.value = Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, zoom.value * factor));
}

/** Place of the pointer between the edges of the drawing, from 0 to 1; null while it is elsewhere. */
const pointed = signal<number | null>(null);

/** Digits of a sum that are enough beside a curve. */
const SUM_DIGITS = 6;

export function Depth({ market }: { market: Market }) {
  const book = frame.value?.book;
  const curves = book && depthCurves(book, zoom.value);
  if (!book || !curves) return <p class="empty">No depth: the book does not have both sides.</p>;
  return <Curves market={market} book={book} curves={curves} />;
}

interface CurvesProps {
  readonly market: Market;
  readonly book: MarketFrame['book'];
  readonly curves: DepthCurves;
}

function Curves({ market, book, curves }: CurvesProps) {
  const { bids, asks, prices } = curves;
  const { places } = gridOfMarket(market).tick;
  const [low, mid, high] = prices.map((price) => shown(price.toFixed(places))) as [string, string, string];
  const at = pointed.value === null ? null : depthAt(book, curves, pointed.value);
  const sumOf = ({ total }: { total: number }): string =>
    `${shown(String(Number(total.toPrecision(SUM_DIGITS))))} ${market.baseToken}`;
  return (
    <figure
      class="depth"
      onWheel={(event) => {
        event.preventDefault();
        zoomBy(event.deltaY < 0 ? STEP : 1 / STEP);
      }}
    >
      <svg
        onPointerMove={({ currentTarget, clientX }) => {
          const { left, width } = currentTarget.getBoundingClientRect();
          pointed.value = Math.min(1, Math.max(0, (clientX - left) / width));
        }}
        onPointerLeave={() => {
          pointed.value = null;
        }}
        viewBox="0 0 1000 1000"
        preserveAspectRatio="none"
        role="img"
        aria-label={`Depth of ${market.symbol}: bids of ${sumOf(bids)} down to ${low}, asks of ${sumOf(asks)} up to ${high}`}
      >
        <polygon class="bids" points={bids.points} />
        <polygon class="asks" points={asks.points} />
        {pointed.value !== null && (
          <line x1={pointed.value * 1_000} x2={pointed.value * 1_000} y1="0" y2="1000" />
        )}
      </svg>
      <figcaption aria-hidden="true">
        <span class="up">
          {low}
          <br />
          bids {sumOf(bids)}
        </span>
        <span class="depth-middle">
          {at === null ? `mid ${mid}` : `${at.side} to ${shown(at.price.toFixed(places))}: ${sumOf(at)}`}
        </span>
        <span class="down">
          {high}
          <br />
          asks {sumOf(asks)}
        </span>
      </figcaption>
      <Zoom />
    </figure>
  );
}

function Zoom() {
  return (
    <p class="depth-tools">
      <button type="button" class="button small" aria-label="Closer to the mid" onClick={() => zoomBy(STEP)}>
        +
      </button>{' '}
      <button
        type="button"
        class="button small"
        aria-label="Farther from the mid"
        onClick={() => zoomBy(1 / STEP)}
      >
        −
      </button>
    </p>
  );
}
