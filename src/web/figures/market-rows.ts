/** The rows of the market list, and the search among them. */

import { missingZeros } from './aligned-digits.ts';

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

/** Decimals of a change of the day, as the API gives them at most. */
const CHANGE_PLACES = 2;

/** `+1.25 %`, `-0.40 %` or `0.00 %` from the percentage of the API, so that changes below each other compare. */
export function changeWords(percent: string): { text: string; direction: Direction } {
  const direction = /^-?0*\.?0*$/.test(percent) ? 'flat' : percent.startsWith('-') ? 'down' : 'up';
  const sign = direction === 'up' ? '+' : '';
  const figure = direction === 'flat' ? '0' : percent;
  return { text: `${sign}${figure}${missingZeros(figure, CHANGE_PLACES)} %`, direction };
}

/** Columns of the list that sort it. */
export const SORTS = ['volume', 'name', 'price', 'change'] as const;
export type Sort = (typeof SORTS)[number];

/** Figures of a market, as far as they sort it; null where there are none. */
export type Figures = Readonly<Record<Exclude<Sort, 'name'>, string | null>>;

/**
 * Returns markets in an order, those that the reader marked first. Figures sort from the greatest down, and doubles are
 * enough for that; markets without one come last.
 * @param isTurned true for the other direction
 */
export function sortedMarkets<T extends ListedMarket>(
  markets: readonly T[],
  { sort, isTurned }: { readonly sort: Sort; readonly isTurned: boolean },
  figuresOf: (market: T) => Figures,
  isMarked: (market: T) => boolean,
): readonly T[] {
  const sign = isTurned ? -1 : 1;
  const figureOf = (market: T): number => {
    const figure = sort === 'name' ? null : figuresOf(market)[sort];
    return figure === null ? Number.NEGATIVE_INFINITY : Number(figure);
  };
  const compare = (one: T, other: T): number => {
    if (sort === 'name') return sign * one.symbol.localeCompare(other.symbol);
    const a = figureOf(one);
    const b = figureOf(other);
    if (a === b) return 0;
    // Markets without a figure stay last in both directions.
    if (!Number.isFinite(a) || !Number.isFinite(b)) return Number.isFinite(a) ? -1 : 1;
    return sign * (b - a);
  };
  return markets.toSorted(
    (one, other) => Number(isMarked(other)) - Number(isMarked(one)) || compare(one, other),
  );
}
