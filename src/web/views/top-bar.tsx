/** Name of the service, the selected market and its figures, the age of its data, the theme and the wallet. */

import { marketUnknown } from '../state/markets.ts';
import { overviewAddress, selectedTicker, selectMarket } from '../state/selected-market.ts';
import { MarketFigures } from './market-figures.tsx';
import { MarketPicker } from './market-picker.tsx';
import { ReconcileBadge } from './reconcile-badge.tsx';
import { SignIn } from './sign-in.tsx';
import { ThemeChoice } from './theme-choice.tsx';

export function TopBar() {
  return (
    <header class="top-bar">
      <a
        class="brand"
        href={overviewAddress()}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          selectMarket(null);
        }}
      >
        <span class="brand-mark" aria-hidden="true" />
        Redbook
      </a>
      {selectedTicker.value !== null && (
        <>
          <MarketPicker />
          {!marketUnknown.value && <MarketFigures />}
        </>
      )}
      <div class="top-bar-tools">
        <ReconcileBadge />
        <ThemeChoice />
        <SignIn />
      </div>
    </header>
  );
}
