/** The market that the address of the page names, and navigation between markets without a reload. */

import { signal } from '@preact/signals';

/** `BASE_QUOTE` of the address `/trade/BASE_QUOTE`, in upper case; null on the overview. */
export const selectedTicker = signal<string | null>(null);

const TICKER_PATH = /\/trade\/([^/]+)$/;

function tickerInPath(path: string): string | null {
  const [, ticker] = TICKER_PATH.exec(path) ?? [];
  if (ticker === undefined) return null;
  try {
    return decodeURIComponent(ticker).toUpperCase();
  } catch {
    return ticker;
  }
}

/** The service may live below a path of a proxy: everything before `/trade/…` belongs to the proxy. */
const rootPath = (): string => location.pathname.replace(TICKER_PATH, '/').replace(/\/*$/, '/');

/**
 * Returns the address of a market's page.
 * @param ticker `BASE_QUOTE`
 */
export const marketAddress = (ticker: string): string => `${rootPath()}trade/${encodeURIComponent(ticker)}`;

export const overviewAddress = (): string => rootPath();

/** Returns `ETH/USDC` for `ETH_USDC`. */
export const symbolOf = (ticker: string): string => ticker.replace('_', '/');

/** Returns `ETH_USDC` for `ETH/USDC`. */
export const tickerOf = (symbol: string): string => symbol.replace('/', '_');

/** Shows another market, or the overview for null, and adds it to the browser's history. */
export function selectMarket(ticker: string | null): void {
  history.pushState(null, '', ticker === null ? overviewAddress() : marketAddress(ticker));
  selectedTicker.value = ticker;
}

/** Keeps the selection in step with the address, also when the reader goes back. */
export function followAddress(): void {
  const read = (): void => {
    selectedTicker.value = tickerInPath(location.pathname);
  };
  addEventListener('popstate', read);
  read();
}
