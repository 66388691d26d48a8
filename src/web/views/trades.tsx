/** The public tape: the latest executions of the selected market, newest first. */

import type { Execution } from '../../client/index.ts';
import { momentText } from '../figures/clock-text.ts';
import { currentMarket, frame, streamState } from '../state/market-feed.ts';
import { gridOfMarket } from '../state/markets.ts';
import { shown, shownZeros } from '../state/number-style.ts';
import { Scroller } from './scroller.tsx';

export function Trades() {
  const market = currentMarket.value;
  const executions = frame.value?.trades ?? [];
  const places = market === null ? null : gridOfMarket(market);
  return (
    <section class="panel trades" data-state={streamState.value} aria-labelledby="trades-heading">
      <div class="panel-head">
        <h2 id="trades-heading">Trades</h2>
      </div>
      <Scroller name="Latest trades">
        <table class={executions.some(isLong) ? 'long' : undefined}>
          <caption class="visually-hidden">Trades</caption>
          <thead>
            <tr>
              <th scope="col">Side</th>
              <th scope="col" class="number">
                Price <span class="unit">{market?.quoteToken}</span>
              </th>
              <th scope="col" class="number">
                Size <span class="unit">{market?.baseToken}</span>
              </th>
              <th scope="col" class="number">
                Time
              </th>
            </tr>
          </thead>
          <tbody>
            {executions.map((execution) => (
              <Row
                key={execution.id}
                execution={execution}
                pricePlaces={places?.tick.places ?? 0}
                sizePlaces={places?.step.places ?? 0}
              />
            ))}
          </tbody>
        </table>
        {frame.value !== null && executions.length === 0 && (
          <p class="empty">Nothing was traded on this market yet.</p>
        )}
      </Scroller>
    </section>
  );
}

/** Maximum digits that fit into a column of the narrowest tape. */
const MAX_DIGITS = 9;

const isLong = ({ price, size }: Execution): boolean => Math.max(price.length, size.length) > MAX_DIGITS;

interface TradeRowProps {
  readonly execution: Execution;
  readonly pricePlaces: number;
  readonly sizePlaces: number;
}

const clockTime = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

function Row({ execution: { price, size, side, time }, pricePlaces, sizePlaces }: TradeRowProps) {
  const date = new Date(time);
  const direction = side === 'buy' ? 'up' : 'down';
  return (
    <tr>
      <td class={direction}>{side}</td>
      <td class={`number ${direction}`} data-zeros={shownZeros(price, pricePlaces)}>
        {shown(price)}
      </td>
      <td class="number" data-zeros={shownZeros(size, sizePlaces)}>
        {shown(size)}
      </td>
      <td class="number muted">
        <time dateTime={date.toISOString()} title={momentText(date)}>
          {clockTime.format(date)}
        </time>
      </td>
    </tr>
  );
}
