/** The wallet's result by market, from the fills that were loaded. */

import { computed } from '@preact/signals';
import { rulesOf } from '../../domain/published-rules.ts';
import { type MarketResult, resultsOf } from '../figures/results.ts';
import { fills, moreOf, portfolio } from '../state/account.ts';
import { currentMarket, frame } from '../state/market-feed.ts';
import { marketOf, summaries } from '../state/markets.ts';
import { shown } from '../state/number-style.ts';
import { MoreButton, NONE } from './account-tables.tsx';
import { type Column, DataTable } from './data-table.tsx';
import { MarketName } from './market-name.tsx';

/** Returns the newest price that the page knows. */
const lastPriceOf = (symbol: string): string | undefined =>
  (currentMarket.value?.symbol === symbol ? frame.value?.trades[0]?.price : undefined) ??
  summaries.value.get(symbol)?.last_price;

const results = computed(() =>
  resultsOf(
    fills.value,
    (symbol) => {
      const market = marketOf(symbol);
      return market && rulesOf(market);
    },
    lastPriceOf,
  ),
);

const money = (text: string, { market }: MarketResult): string => `${text} ${market.quote.symbol}`;

const COLUMNS: readonly Column<MarketResult>[] = [
  {
    name: 'Market',
    kind: 'text',
    text: ({ market }) => market.symbol,
    show: ({ market, soldUnbought }) => (
      <>
        <MarketName symbol={market.symbol} />
        {soldUnbought !== null && (
          <span class="aside muted">
            {' '}
            ({soldUnbought} {market.base.symbol} sold without a purchase: not counted)
          </span>
        )}
      </>
    ),
  },
  { name: 'Held', kind: 'figure', text: ({ held }) => held },
  { name: 'Average entry', kind: 'figure', text: ({ averageEntry }) => averageEntry ?? NONE },
  { name: 'Last price', kind: 'figure', text: ({ market }) => lastPriceOf(market.symbol) ?? NONE },
  {
    name: 'Realised',
    kind: 'figure',
    text: (result) => money(result.realised, result),
    show: (result) => signed(money(result.realised, result)),
  },
  {
    name: 'Unrealised',
    kind: 'figure',
    text: (result) => (result.unrealised === null ? NONE : money(result.unrealised, result)),
    show: (result) => (result.unrealised === null ? NONE : signed(money(result.unrealised, result))),
  },
];

export function ResultsTable() {
  return (
    <>
      <DataTable
        name="Results"
        columns={COLUMNS}
        items={results.value}
        isRead={portfolio.value !== null}
        emptyText="No fills yet."
        keyOf={({ market }) => market.symbol}
        isFiltered={false}
      />
      <Method />
      <MoreButton list="fills" />
    </>
  );
}

const signed = (amount: string) => (
  <span class={amount.startsWith('0 ') ? undefined : amount.startsWith('-') ? 'down' : 'up'}>
    {shown(amount)}
  </span>
);

function Method() {
  if (fills.value.length === 0) return null;
  const which = moreOf('fills') ? `your newest ${fills.value.length} fills` : 'all your fills';
  return <p class="note">Average cost with fees, over {which}. Deposits have no cost.</p>;
}
