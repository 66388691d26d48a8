/** Attribution of the chart, and links to the documents of the API. */

import { clockOf } from '../figures/clock-text.ts';
import { overviewAddress } from '../state/selected-market.ts';
import { ReconcileBadge } from './service-status.tsx';
import { ShortcutsButton } from './shortcuts.tsx';

export function Footer() {
  return (
    <footer class="footer">
      <ReconcileBadge />
      <p>
        <a href={`${overviewAddress()}docs`}>API documentation</a>
        <ShortcutsButton />
      </p>
      <p>Times: {clockOf('1m')}</p>
      <p>
        Charts by{' '}
        <a href="https://www.tradingview.com/" rel="noreferrer">
          TradingView Lightweight Charts™
        </a>
      </p>
    </footer>
  );
}
