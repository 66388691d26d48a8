/**
 * The frame of the page. Each panel reads the signals it shows, so that a new frame of the stream redraws the book
 * and the tape, and nothing else.
 */

import { selectedTicker } from './state/selected-market.ts';
import { Account } from './views/account.tsx';
import { Chart } from './views/chart.tsx';
import { Footer } from './views/footer.tsx';
import { MarketList } from './views/market-list.tsx';
import { OrderBook } from './views/order-book.tsx';
import { OrderForm } from './views/order-form.tsx';
import { StatusLine } from './views/status-line.tsx';
import { TopBar } from './views/top-bar.tsx';
import { Trades } from './views/trades.tsx';

export function App() {
  return (
    <>
      <TopBar />
      <main id="main" class={selectedTicker.value === null ? 'overview' : 'market'}>
        {selectedTicker.value === null ? <MarketList /> : <MarketView />}
      </main>
      <StatusLine />
      <Footer />
    </>
  );
}

/** Book at the left, chart over the wallet's tables in the middle, order form over the tape at the right. */
function MarketView() {
  return (
    <>
      <OrderBook />
      <Chart />
      <OrderForm />
      <Trades />
      <Account />
    </>
  );
}
