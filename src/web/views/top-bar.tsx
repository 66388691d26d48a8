/** Name of the service, the selected market and its figures, the age of its data, the theme and the wallet. */

import { marketUnknown } from '../state/markets.ts';
import { overviewAddress, selectedTicker, selectMarket } from '../state/selected-market.ts';
import { THEMES, theme } from '../state/theme.ts';
import { MarketFigures } from './market-figures.tsx';
import { MarketPicker } from './market-picker.tsx';
import { ReconcileBadge } from './service-status.tsx';
import { SignIn } from './sign-in.tsx';

const ICONS = {
  system: 'M2 3.5h12v8H2zM6 14h4M8 11.5V14',
  light:
    'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  dark: 'M13.5 9.5A6 6 0 1 1 6.5 2.5a5 5 0 0 0 7 7z',
};

/** Switches between the themes: as the system says, light, dark. */
function ThemeChoice() {
  const chosen = theme.value;
  const next = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length]!;
  return (
    <button
      type="button"
      class="button quiet icon-button"
      aria-label={`Theme: ${chosen}`}
      title={`Theme: ${chosen}. Change to ${next}`}
      onClick={() => {
        theme.value = next;
      }}
    >
      <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d={ICONS[chosen]} />
      </svg>
    </button>
  );
}

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
