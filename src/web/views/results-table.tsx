/** The wallet's result by market, from the fills that were loaded. */

import { computed } from '@preact/signals';
import { rulesOf } from '../../domain/published-rules.ts';
import { type MarketResult, resultsOf } from '../figures/results.ts';
import { fills, moreOf, portfolio } from '../state/account.ts';
import { currentMarket, frame } from '../state/market-feed.ts';
import { marketOf, summaries } from '../state/markets.ts';
import { Cells, MoreButton, NONE, Table } from './account-tables.tsx';

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

const COLUMNS = ['Market', 'Held#', 'Average entry#', 'Last price#', 'Realised#', 'Unrealised#'];

export function ResultsTable() {
  return (
    <>
      <Table
        name="Results"
        columns={COLUMNS}
        isEmpty={results.value.length === 0 && portfolio.value !== null}
        emptyText="No fills yet."
      >
        {results.value.map((result) => (
          <ResultRow key={result.market.symbol} result={result} />
        ))}
      </Table>
      <Method />
      <MoreButton list="fills" />
    </>
  );
}

function ResultRow({ result }: { result: MarketResult }) {
  const { market, held, averageEntry, realised, unrealised, soldUnbought } = result;
  return (
    <tr>
      <Cells
        of={{
          Market: (
            <>
              {market.symbol}
              {soldUnbought !== null && (
                <span class="muted">
                  {' '}
                  ({soldUnbought} {market.base.symbol} sold without a purchase: not counted)
                </span>
              )}
            </>
          ),
          'Held#': held,
          'Average entry#': averageEntry ?? NONE,
          'Last price#': lastPriceOf(market.symbol) ?? NONE,
          'Realised#': signed(realised, market.quote.symbol),
          'Unrealised#': unrealised === null ? NONE : signed(unrealised, market.quote.symbol),
        }}
      />
    </tr>
  );
}

const signed = (amount: string, asset: string) => (
  <span class={amount === '0' ? undefined : amount.startsWith('-') ? 'down' : 'up'}>
    {amount} {asset}
  </span>
);

function Method() {
  if (fills.value.length === 0) return null;
  const which = moreOf('fills') ? `your newest ${fills.value.length} fills` : 'all your fills';
  return <p class="note">Average cost with fees, over {which}. Deposits have no cost.</p>;
}
