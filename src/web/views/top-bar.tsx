/** Name of the service, the selected market, the age of its data, the theme and the wallet. */

import { overviewAddress, selectedTicker, selectMarket, symbolOf } from '../state/selected-market.ts';
import { SignIn } from './sign-in.tsx';

export function TopBar() {
  const ticker = selectedTicker.value;
  return (
    <header class="top-bar">
      <a
        class="brand"
        href={overviewAddress()}
        onClick={(event) => {
          event.preventDefault();
          selectMarket(null);
        }}
      >
        Redbook
      </a>
      {ticker !== null && <h1>{symbolOf(ticker)}</h1>}
      <SignIn />
    </header>
  );
}
