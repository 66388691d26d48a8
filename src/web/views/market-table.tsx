/** The table of markets with its search, and the overview that shows it. The market picker shows it too. */

import { useSignal } from '@preact/signals';
import type { Market } from '../../client/index.ts';
import { changeWords, searchMarkets } from '../figures/market-rows.ts';
import { demoOffered } from '../state/connection.ts';
import { getDemoFunds } from '../state/demo-funds.ts';
import { firstChart } from '../state/first-chart.ts';
import { gridOfMarket, markets, marketsFailed, marketsRead, summaries, tickers } from '../state/markets.ts';
import { shown, shownZeros } from '../state/number-style.ts';
import { marketAddress, selectedTicker, selectMarket, symbolOf, tickerOf } from '../state/selected-market.ts';
import { session, signInWithDemoWallet } from '../state/session.ts';
import { FirstChart } from './first-chart.tsx';

/** Shown where there is no figure. */
const NONE = '–';

/** @param onChoose called after a market was chosen */
export function MarketTable({ onChoose }: { onChoose?: () => void }) {
  const query = useSignal('');
  const found = searchMarkets(markets.value, query.value);
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
      </form>
      <div class="market-rows">
        <table aria-label="Markets">
          <thead>
            <tr>
              <th scope="col">Market</th>
              <th scope="col" class="number">
                Last price
              </th>
              <th scope="col" class="number">
                24 h change
              </th>
              <th scope="col" class="number volume">
                24 h volume
              </th>
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

function emptyWords(found: number, query: string): string {
  if (found > 0) return '';
  if (!marketsRead.value) {
    return marketsFailed.value
      ? 'The markets cannot be read now. The page tries again.'
      : 'Reading the markets…';
  }
  return query === '' ? 'This exchange has no markets yet.' : `No market matches “${query}”.`;
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
        <a
          href={marketAddress(tickerOf(symbol))}
          aria-current={isSelected ? 'page' : undefined}
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            onChoose(market);
          }}
        >
          {symbol}
        </a>
        {status !== 'active' && <span class="tag">{status.replace('_', '-')}</span>}
      </th>
      <td
        class="number"
        data-zeros={summary && shownZeros(summary.last_price, gridOfMarket(market).tick.places)}
      >
        {shown(summary?.last_price ?? NONE)}
      </td>
      <td class={`number ${change?.direction ?? ''}`}>{change?.text ?? NONE}</td>
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
