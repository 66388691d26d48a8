/**
 * The result of trading by market, from the wallet's own fills, by the method of average cost: a purchase adds its
 * price and fee to the cost of what is held, and a sale takes its share of that cost. Sizes that were deposited have no
 * cost, so a sale of more than the fills bought counts only for the part that they bought.
 */

import type { WalletTrade } from '../../client/index.ts';
import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import {
  formatScaled,
  least,
  multiplyExactly,
  parseDecimal,
  toScaled,
  toScaledDown,
} from '../../domain/units.ts';

type Fill = Pick<WalletTrade, 'id' | 'market' | 'side' | 'size' | 'notional' | 'feeAmount'>;

/** The result in one market; plain decimals. */
export interface MarketResult {
  readonly market: Market;
  /** Base size that the fills bought and did not sell yet. */
  readonly held: string;
  /** Average cost of one base unit that is held, in quote units, rounded up; null while nothing is held. */
  readonly averageEntry: string | null;
  /** Quote units, fees deducted. Rounded down by less than one atom a sale. */
  readonly realised: string;
  /** Value of the held size at the last price less its cost, quote units, rounded down; null without a price. */
  readonly unrealised: string | null;
  /** Base size that was sold beyond what the fills bought; null when there is none. */
  readonly soldUnbought: string | null;
}

/** Sums of one market, in atoms. */
interface Book {
  readonly market: Market;
  held: bigint;
  cost: bigint;
  realised: bigint;
  unbought: bigint;
}

/** Digits of an average beyond those of a price. */
const AVERAGE_PLACES = 2;

const atoms = (text: string, scale: number): bigint => toScaled(parseDecimal(text)!, scale)!;
const dividedUp = (whole: bigint, parts: bigint): bigint => (whole + parts - 1n) / parts;

function add(book: Book, { side, size, notional, feeAmount }: Fill): void {
  const { base, quote } = book.market;
  const bought = atoms(size, base.scale);
  const paid = atoms(notional, quote.scale);
  const fee = atoms(feeAmount, quote.scale);
  if (side === 'buy') {
    book.held += bought;
    book.cost += paid + fee;
    return;
  }
  const matched = least(bought, book.held);
  book.unbought += bought - matched;
  if (matched === 0n) return;
  const cost = dividedUp(book.cost * matched, book.held);
  book.realised += ((paid - fee) * matched) / bought - cost;
  book.held -= matched;
  book.cost -= cost;
}

/** Returns the cost of one base unit on a grid finer than that of prices. */
function averageOf({ market, held, cost }: Book): string | null {
  if (held === 0n) return null;
  const { base, quote } = market;
  const places = marketGrid(market).tick.places + AVERAGE_PLACES;
  const scaled = cost * 10n ** BigInt(base.scale + places);
  return formatScaled(dividedUp(scaled, held * 10n ** BigInt(quote.scale)), places);
}

function unrealisedOf({ market: { base, quote }, held, cost }: Book, lastPrice: string): string {
  const value = multiplyExactly(formatScaled(held, base.scale), lastPrice);
  return formatScaled(toScaledDown(parseDecimal(value)!, quote.scale) - cost, quote.scale);
}

/**
 * Returns the results of all markets with fills, by symbol.
 * @param fills newest first, as the service lists them
 * @param marketOf returns the rules of a market, undefined for an unknown one, whose fills are not counted
 * @param lastPriceOf returns the last price of a market on its grid, undefined when it is not known
 */
export function resultsOf(
  fills: readonly Fill[],
  marketOf: (symbol: string) => Market | undefined,
  lastPriceOf: (symbol: string) => string | undefined,
): MarketResult[] {
  const books = new Map<string, Book>();
  for (const fill of fills.toReversed()) {
    const market = marketOf(fill.market);
    if (market === undefined) continue;
    const book = books.get(fill.market) ?? { market, held: 0n, cost: 0n, realised: 0n, unbought: 0n };
    books.set(fill.market, book);
    add(book, fill);
  }
  return [...books.entries()]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([symbol, book]) => {
      const { base, quote } = book.market;
      const lastPrice = lastPriceOf(symbol);
      return {
        market: book.market,
        held: formatScaled(book.held, base.scale),
        averageEntry: averageOf(book),
        realised: formatScaled(book.realised, quote.scale),
        unrealised: lastPrice === undefined ? null : unrealisedOf(book, lastPrice),
        soldUnbought: book.unbought === 0n ? null : formatScaled(book.unbought, base.scale),
      };
    });
}
