/** The table of markets with its search, and the overview that shows it. The market picker shows it too. */

import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Market } from '../../client/index.ts';
import { changeWords, type Sort, searchMarkets, sortedMarkets } from '../figures/market-rows.ts';
import { demoOffered } from '../state/connection.ts';
import { courses, followCourses } from '../state/courses.ts';
import { getDemoFunds } from '../state/demo-funds.ts';
import { firstChart } from '../state/first-chart.ts';
import { direction, marked, sort, sortBy, toggleMark } from '../state/marked-markets.ts';
import { gridOfMarket, markets, marketsFailed, marketsRead, summaries, tickers } from '../state/markets.ts';
import { shown, shownWithin, shownZeros } from '../state/number-style.ts';
import { marketAddress, selectedTicker, selectMarket, symbolOf, tickerOf } from '../state/selected-market.ts';
import { session, signInWithDemoWallet } from '../state/session.ts';
import { FirstChart } from './first-chart.tsx';
import { MarketName } from './market-name.tsx';

/** Shown where there is no figure. */
const NONE = '–';

/** @param onChoose called after a market was chosen */
export function MarketTable({ onChoose }: { onChoose?: () => void }) {
  const query = useSignal('');
  const quote = useSignal('');
  useEffect(followCourses, []);
  const wanted = markets.value.filter(({ quoteToken }) => quote.value === '' || quoteToken === quote.value);
  const matching = searchMarkets(wanted, query.value);
  // A search puts the best match first.
  const found = query.value.trim() === '' ? inOrder(matching) : matching;
  const choose = (market: Market): void => {
    selectMarket(tickerOf(market.symbol));
    onChoose?.();
  };
  return (
    <>
      <form
        class="market-search"
        onSubmit={(event) => {
          event.preventDefault();
          const [first] = found;
          if (first !== undefined) choose(first);
        }}
      >
        <input
          class="input"
          type="search"
          aria-label="Search markets"
          placeholder="Search markets"
          autocomplete="off"
          spellcheck={false}
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
          }}
        />
        <QuoteChoice quote={quote} />
      </form>
      <div class="market-rows">
        <table aria-label="Markets">
          <thead>
            <tr>
              <Heading column="name" name="Market" />
              <Heading column="price" name="Last price" />
              <Heading column="change" name="24 h change" />
              <Heading column="volume" name="24 h volume" />
            </tr>
          </thead>
          <tbody>
            {found.map((market) => (
              <MarketRow key={market.symbol} market={market} onChoose={choose} />
            ))}
          </tbody>
        </table>
        <p class="empty" aria-live="polite">
          {emptyWords(found.length, query.value)}
        </p>
      </div>
    </>
  );
}

/** Leaves the markets of one quote asset, where there are several. @param quote empty for all */
function QuoteChoice({ quote }: { quote: Signal<string> }) {
  const quotes = [...new Set(markets.value.map(({ quoteToken }) => quoteToken))].sort();
  if (quotes.length < 2) return null;
  return (
    <select
      aria-label="Quoted in"
      value={quote.value}
      onChange={(event) => {
        quote.value = event.currentTarget.value;
      }}
    >
      <option value="">All quotes</option>
      {quotes.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

/** Returns the figures that sort a market: its volume in the quote asset, so that assets of other worth compare. */
const figuresOf = ({ symbol }: Market) => {
  const summary = summaries.value.get(symbol);
  return {
    volume: summary?.quote_volume ?? null,
    price: summary?.last_price ?? null,
    change: tickers.value.get(symbol)?.change24h.toString() ?? summary?.price_change_percent_24h ?? null,
  };
};

const inOrder = (found: readonly Market[]): readonly Market[] =>
  sortedMarkets(
    found,
    { sort: sort.value, isTurned: direction.value === 'turned' },
    figuresOf,
    ({ symbol }) => marked.value.has(symbol),
  );

function Heading({ column, name }: { column: Sort; name: string }) {
  // Names go up and figures go down, unless they are turned.
  const isUp = (column === 'name') === (direction.value === 'usual');
  const isSorted = sort.value === column;
  return (
    <th
      scope="col"
      class={column === 'name' ? undefined : `number ${column}`}
      aria-sort={isSorted ? (isUp ? 'ascending' : 'descending') : undefined}
    >
      <button type="button" class="sort" onClick={() => sortBy(column)}>
        {name}
      </button>
    </th>
  );
}

function Mark({ symbol }: { symbol: string }) {
  const isMarked = marked.value.has(symbol);
  return (
    <button
      type="button"
      class="mark"
      aria-pressed={isMarked}
      aria-label={`Favourite ${symbol}`}
      title="Favourites come first"
      onClick={() => toggleMark(symbol)}
    >
      {isMarked ? '★' : '☆'}
    </button>
  );
}

function emptyWords(found: number, query: string): string {
  if (found > 0) return '';
  if (!marketsRead.value) {
    return marketsFailed.value
      ? 'The markets cannot be read now. The page tries again.'
      : 'Reading the markets…';
  }
  return query === '' ? 'This exchange has no markets yet.' : `No market matches “${query}”.`;
}

/** The prices of the last day as a line. The change beside it says the same in words. */
function Course({ symbol }: { symbol: string }) {
  const points = courses.value.get(symbol);
  if (points === undefined) return null;
  return (
    <svg class="course" viewBox="-20 -60 1040 1120" preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points} />
    </svg>
  );
}

function MarketRow({ market, onChoose }: { market: Market; onChoose: (market: Market) => void }) {
  const { symbol, baseToken, status } = market;
  const ticker = tickers.value.get(symbol);
  const summary = summaries.value.get(symbol);
  const percent = ticker?.change24h.toString() ?? summary?.price_change_percent_24h;
  const change = summary === undefined || percent === undefined ? null : changeWords(percent);
  const volume = ticker?.volume24h ?? summary?.base_volume ?? (marketsRead.value ? '0' : NONE);
  const isSelected = selectedTicker.value === tickerOf(symbol);
  return (
    <tr class={isSelected ? 'selected' : undefined}>
      <th scope="row">
        <Mark symbol={symbol} />
        <a
          href={marketAddress(tickerOf(symbol))}
          aria-current={isSelected ? 'page' : undefined}
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            onChoose(market);
          }}
        >
          <MarketName symbol={symbol} />
        </a>
        {status !== 'active' && <span class="tag">{status.replace('_', '-')}</span>}
      </th>
      <td
        class="number"
        data-zeros={summary && shownZeros(summary.last_price, gridOfMarket(market).tick.places)}
      >
        {shown(summary?.last_price ?? NONE)}
      </td>
      <td class={`number ${change?.direction ?? ''}`}>
        <Course symbol={symbol} />
        {shownWithin(change?.text ?? NONE)}
      </td>
      <td class="number volume" data-unit={volume === NONE ? undefined : baseToken}>
        {shown(volume)}
      </td>
    </tr>
  );
}

/** Says to a first visitor where this is, and offers to try it. */
function Welcome() {
  if (session.value !== null) return null;
  return (
    <section class="panel welcome" aria-label="Welcome">
      <p>
        This is a spot exchange. Anyone may look at its books and prices. Sign in with an Ethereum wallet to
        trade: the signature moves no funds and costs nothing.
      </p>
      {demoOffered && (
        <button type="button" class="button primary" onClick={() => void tryIt()}>
          Try with play money
        </button>
      )}
      <FirstChart />
    </section>
  );
}

/** Signs in with a demo wallet, fills it, and shows the market of the chart, or the first one. */
async function tryIt(): Promise<void> {
  const charted = firstChart.peek()?.ticker;
  await signInWithDemoWallet();
  if (session.peek() === null) return;
  const [first] = searchMarkets(markets.peek(), '');
  const ticker = charted ?? (first && tickerOf(first.symbol));
  if (ticker !== undefined) selectMarket(ticker);
  await getDemoFunds();
}

/** The overview: every market with price, change and volume of 24 hours. */
export function MarketList() {
  return (
    <>
      <Welcome />
      <MarketRows />
    </>
  );
}

function MarketRows() {
  return (
    <section class="panel market-list" aria-labelledby="market-list-heading">
      <div class="panel-head">
        <h1 id="market-list-heading">Markets</h1>
      </div>
      <MarketTable />
    </section>
  );
}

/** Shown in place of a market that does not exist. */
export function UnknownMarket() {
  return (
    <>
      <p class="note warn unknown-market" role="alert">
        There is no market {symbolOf(selectedTicker.value ?? '')} here. Choose one of these markets.
      </p>
      <MarketList />
    </>
  );
}
