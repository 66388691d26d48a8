/** Last price, change, volume and spread of the selected market, and the age of all of them. */

import { ageWords } from '../figures/age.ts';
import { spreadOf } from '../figures/grouped-book.ts';
import { changeWords } from '../figures/market-rows.ts';
import { currentMarket, frame, frameAgeMs, retryInMs, streamState } from '../state/market-feed.ts';
import { gridOfMarket, summaries } from '../state/markets.ts';
import { shown, shownWithin, shownZeros } from '../state/number-style.ts';
import { AlertsButton } from './price-alerts.tsx';

const NONE = '–';

export function MarketFigures() {
  return (
    <div class="market-figures" data-state={streamState.value}>
      <LastPrice />
      <AlertsButton />
      <Day />
      <Pulse />
    </div>
  );
}

const ARROWS = { up: '▲', down: '▼', flat: '' };

/** Shows the price of the latest execution, and the direction in which it differs from the one before. */
function LastPrice() {
  const market = currentMarket.value;
  const trades = frame.value?.trades ?? [];
  const price = trades[0]?.price ?? (market && summaries.value.get(market.symbol)?.last_price);
  const before = trades.find((trade) => trade.price !== price)?.price;
  const direction = price == null || before === undefined ? 'flat' : compare(price, before);
  const places = market === null ? 0 : gridOfMarket(market).tick.places;
  return (
    <p class={`last-price ${direction}`}>
      <span class="visually-hidden">Last price </span>
      <span data-zeros={price == null ? undefined : shownZeros(price, places)}>{shown(price ?? NONE)}</span>
      <span class="arrow" aria-hidden="true">
        {ARROWS[direction]}
      </span>
    </p>
  );
}

/** Compares two prices for the direction of an arrow, for which doubles are enough. */
function compare(price: string, before: string): 'up' | 'down' | 'flat' {
  const difference = Number(price) - Number(before);
  return difference > 0 ? 'up' : difference < 0 ? 'down' : 'flat';
}

/** Figures of the last 24 hours, and the spread of the book. */
function Day() {
  const market = currentMarket.value;
  const ticker = frame.value?.ticker;
  const book = frame.value?.book;
  const tick = market === null ? null : gridOfMarket(market).tick;
  const spread = tick && spreadOf(book?.bids[0]?.price, book?.asks[0]?.price, tick);
  const summary = market && summaries.value.get(market.symbol);
  // A market without executions of the day has not changed by 0 %.
  const change = ticker && summary && changeWords(ticker.change24h.toString());
  const zeros = (price: string | undefined): string | undefined =>
    price === undefined || tick === null ? undefined : shownZeros(price, tick.places);
  return (
    <dl class="day">
      <div>
        <dt>24 h change</dt>
        <dd class={change?.direction}>{shownWithin(change?.text ?? NONE)}</dd>
      </div>
      <div>
        <dt>24 h volume{market && ` (${market.baseToken})`}</dt>
        <dd>{shown(ticker?.volume24h ?? NONE)}</dd>
      </div>
      <div class="wide">
        <dt>24 h high</dt>
        <dd data-zeros={zeros(summary?.highest_price_24h)}>{shown(summary?.highest_price_24h ?? NONE)}</dd>
      </div>
      <div class="wide">
        <dt>24 h low</dt>
        <dd data-zeros={zeros(summary?.lowest_price_24h)}>{shown(summary?.lowest_price_24h ?? NONE)}</dd>
      </div>
      <div class="wide">
        <dt>24 h volume{market && ` (${market.quoteToken})`}</dt>
        <dd>{shown(summary?.quote_volume ?? NONE)}</dd>
      </div>
      <div class="in-book">
        <dt>Mark</dt>
        <dd>{shown(ticker?.mark ?? NONE)}</dd>
      </div>
      <div class="in-book">
        <dt>Spread</dt>
        <dd>{shown(spread?.spread ?? NONE)}</dd>
      </div>
    </dl>
  );
}

/** A dot that shows at a glance the state that the book gives in words. */
function Pulse() {
  const state = streamState.value;
  const words = ageWords(state, frameAgeMs.value, retryInMs.value);
  return (
    <p class="pulse" data-state={state} title={words}>
      {words}
    </p>
  );
}
