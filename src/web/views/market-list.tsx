/** The overview: every market with price, change and volume of 24 hours. */

import { selectedTicker, symbolOf } from '../state/selected-market.ts';
import { MarketTable } from './market-table.tsx';

export function MarketList() {
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
