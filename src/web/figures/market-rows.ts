/** The rows of the market list, and the search among them. */

interface ListedMarket {
  readonly symbol: string;
}

/**
 * Returns the markets whose symbol contains each word of the query, in any case; symbols that begin with it come first.
 * `eth usd`, `eth/usdc` and `eth_usdc` find `ETH/USDC`.
 */
export function searchMarkets<T extends ListedMarket>(markets: readonly T[], query: string): readonly T[] {
  const words = query
    .toUpperCase()
    .split(/[\s/_-]+/)
    .filter((word) => word !== '');
  const [first] = words;
  const bySymbol = markets.toSorted((one, other) => (one.symbol < other.symbol ? -1 : 1));
  if (first === undefined) return bySymbol;
  const found = bySymbol.filter(({ symbol }) => words.every((word) => symbol.includes(word)));
  const begins = (market: T): number => (market.symbol.startsWith(first) ? 0 : 1);
  return found.toSorted((one, other) => begins(one) - begins(other));
}

type Direction = 'up' | 'down' | 'flat';

/** `+1.25 %`, `-0.4 %` or `0 %` from the percentage of the API. */
export function changeWords(percent: string): { text: string; direction: Direction } {
  const direction = /^-?0*\.?0*$/.test(percent) ? 'flat' : percent.startsWith('-') ? 'down' : 'up';
  const sign = direction === 'up' ? '+' : '';
  return { text: `${sign}${direction === 'flat' ? '0' : percent} %`, direction };
}
