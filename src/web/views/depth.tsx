/** The depth of the book: the size that stands between the mid and each price. */

import type { Market } from '../../client/index.ts';
import { type DepthCurves, depthCurves } from '../figures/depth-curve.ts';
import { frame } from '../state/market-feed.ts';
import { gridOfMarket } from '../state/markets.ts';
import { shown } from '../state/number-style.ts';

/** Digits of a sum that are enough beside a curve. */
const SUM_DIGITS = 6;

export function Depth({ market }: { market: Market }) {
  const book = frame.value?.book;
  const curves = book && depthCurves(book);
  if (!curves) return <p class="empty">No depth: the book does not have both sides.</p>;
  return <Curves market={market} curves={curves} />;
}

function Curves({ market, curves }: { market: Market; curves: DepthCurves }) {
  const { bids, asks, prices } = curves;
  const { places } = gridOfMarket(market).tick;
  const [low, mid, high] = prices.map((price) => shown(price.toFixed(places))) as [string, string, string];
  const sumOf = ({ total }: { total: number }): string =>
    `${shown(String(Number(total.toPrecision(SUM_DIGITS))))} ${market.baseToken}`;
  return (
    <figure class="depth">
      <svg
        viewBox="0 0 1000 1000"
        preserveAspectRatio="none"
        role="img"
        aria-label={`Depth of ${market.symbol}: bids of ${sumOf(bids)} down to ${low}, asks of ${sumOf(asks)} up to ${high}`}
      >
        <polygon class="bids" points={bids.points} />
        <polygon class="asks" points={asks.points} />
      </svg>
      <figcaption aria-hidden="true">
        <span class="up">
          {low}
          <br />
          bids {sumOf(bids)}
        </span>
        <span>mid {mid}</span>
        <span class="down">
          {high}
          <br />
          asks {sumOf(asks)}
        </span>
      </figcaption>
    </figure>
  );
}
