/** A chart for first visitors: the prices of one market as a line that leads to it. */

import { momentText } from '../figures/clock-text.ts';
import { priceLine } from '../figures/price-line.ts';
import { firstChart } from '../state/first-chart.ts';
import { summaries } from '../state/markets.ts';
import { shown } from '../state/number-style.ts';
import { marketAddress, selectMarket, symbolOf } from '../state/selected-market.ts';

export function FirstChart() {
  const line = firstChart.value && priceLine(firstChart.value.moments);
  if (firstChart.value === null || line === null) return null;
  const { ticker, moments } = firstChart.value;
  const since = moments[0]!;
  const last = moments.at(-1)!;
  const start = momentText(new Date(since.time * 1_000), {
    dateStyle: 'medium',
    timeStyle: 'short',
  });
  return (
    <figure class="first-chart">
      <figcaption>
        <a
          href={marketAddress(ticker)}
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            selectMarket(ticker);
          }}
        >
          {symbolOf(ticker)}
        </a>{' '}
        <strong>{shown(summaries.value.get(symbolOf(ticker))?.last_price ?? last.price)}</strong>{' '}
        <span class="muted">since {start}</span>
      </figcaption>
      <svg
        class="line"
        viewBox="-5 -40 1010 1080"
        preserveAspectRatio="none"
        role="img"
        aria-label={`Prices of ${symbolOf(ticker)} between ${line.low} and ${line.high} since ${start}`}
      >
        <polyline points={line.points} />
      </svg>
      <p class="prices muted" aria-hidden="true">
        <span>{shown(line.high)}</span>
        <span>{shown(line.low)}</span>
      </p>
      <p class="times muted" aria-hidden="true">
        {[since.time, (since.time + last.time) / 2, last.time].map((time) => (
          <span key={time}>{momentText(new Date(time * 1_000), { hour: '2-digit', minute: '2-digit' })}</span>
        ))}
      </p>
    </figure>
  );
}
