/**
 * The frame of the page. Each panel reads the signals it shows, so that a new frame of the stream redraws the book
 * and the tape, and nothing else.
 */

import { kept } from './state/kept-choice.ts';
import { marketUnknown } from './state/markets.ts';
import { selectedTicker } from './state/selected-market.ts';
import { Account } from './views/account.tsx';
import { Chart } from './views/chart.tsx';
import { Footer } from './views/footer.tsx';
import { MarketList, UnknownMarket } from './views/market-table.tsx';
import { OrderBook } from './views/order-book.tsx';
import { OrderForm } from './views/order-form.tsx';
import { AlertsDialog } from './views/price-alerts.tsx';
import { QuestionDialog } from './views/question-dialog.tsx';
import { Banner } from './views/service-status.tsx';
import { ShortcutsDialog } from './views/shortcuts.tsx';
import { StatusLine } from './views/status-line.tsx';
import { TermsDialog } from './views/terms-dialog.tsx';
import { TopBar } from './views/top-bar.tsx';
import { Trades } from './views/trades.tsx';

export function App() {
  return (
    <>
      <TopBar />
      <Banner />
      {selectedTicker.value === null || marketUnknown.value ? (
        <main id="main" class="overview">
          {selectedTicker.value === null ? <MarketList /> : <UnknownMarket />}
        </main>
      ) : (
        <MarketView />
      )}
      <StatusLine />
      <Footer />
      <QuestionDialog />
      <TermsDialog />
      <ShortcutsDialog />
      <AlertsDialog />
    </>
  );
}

const PANELS = ['chart', 'book', 'trades'] as const;
const PANEL_NAMES = { chart: 'Chart', book: 'Book', trades: 'Trades' };

/** The panel that is shown on a phone; wider screens show all panels. */
const shownPanel = kept('panel', PANELS, 'book');

/** Book over the tape at the left, chart over the wallet's tables in the middle, order form at the right. */
function MarketView() {
  return (
    <main id="main" class="market" data-shown={shownPanel.value}>
      <div class="market-tabs">
        <fieldset class="segments" aria-label="Shown panel">
          {PANELS.map((panel) => (
            <button
              key={panel}
              type="button"
              aria-pressed={shownPanel.value === panel}
              onClick={() => {
                shownPanel.value = panel;
              }}
            >
              {PANEL_NAMES[panel]}
            </button>
          ))}
        </fieldset>
      </div>
      <OrderBook />
      <Chart />
      <OrderForm />
      <Trades />
      <Account />
    </main>
  );
}
