/**
 * Public market data: executions and books. It includes unsettled events, and each execution exactly once.
 *
 * Uses: domain; types of engine, ledger.
 * Begin at `market-trades.ts` and `current-candles.ts`.
 */

import type { AssetListing } from '../domain/asset-listing.ts';
import type { Candle, Timeframe } from '../domain/candle.ts';
import { Refusal } from '../domain/errors.ts';
import type { Market } from '../domain/market.ts';
import type { PublicTrade, Side } from '../domain/order.ts';
import { cappedReads } from '../domain/shared-read.ts';
import type { BookLevels, Engine, Quotes } from '../engine/index.ts';
import type { CandleRange, Ledger } from '../ledger/index.ts';
import { readCandles } from './candle-history.ts';
import { CurrentCandles } from './current-candles.ts';
import { readMarketTrades } from './market-trades.ts';
import { type Figures, RollingFigures } from './rolling-figures.ts';
import { UnsettledReader } from './unsettled-trades.ts';

export type { DayFigures } from '../domain/rolling-day.ts';
export type { Level } from '../engine/index.ts';
export type { Figures } from './rolling-figures.ts';

/** Levels are best first. `timeMs` is the engine's clock at the read; `sequence` is the last event in the book. */
export type Book = BookLevels;

/** Levels per side of a whole book, and of the usual request, which costs the engine a fifth of that. */
export const BOOK_LEVELS = 250;
const FEW_LEVELS = 50;

/** A client that spreads its 300 requests over a minute never uses this burst up; one that sends them at once does. */
const CHEAP_BURST = 40;
/** Lower, because such a read takes some milliseconds with fifty markets. */
const DEAR_BURST = 20;

export interface TradeFilter {
  /** Side of the taker. */
  readonly side?: Side | undefined;
  readonly limit: number;
  /** Whole Unix seconds, inclusive. */
  readonly fromSeconds?: number | undefined;
  readonly toSeconds?: number | undefined;
  /** The first trades after this trade id. */
  readonly afterId?: number | undefined;
  /** The last trades before this trade id. */
  readonly beforeId?: number | undefined;
}

/** Data for the lists of markets. */
export interface MarketOverview {
  /** Every market with its current rules. */
  readonly markets: readonly Market[];
  /** True while trading is paused for all markets. */
  readonly paused: boolean;
  readonly figures: Figures;
  /** Quotes by symbol, of every market that has ever traded. */
  readonly quotes: ReadonlyMap<string, Quotes>;
}

/** Data for the lists of assets. */
export interface ListedAssets {
  readonly markets: readonly Market[];
  /** By symbol of the asset. */
  readonly listings: ReadonlyMap<string, AssetListing>;
}

/**
 * Symbols must be of existing markets. Every method may throw `Refusal` SERVICE_UNAVAILABLE. `book` and `markets` work
 * while only Postgres is unavailable. Answers are shared between callers, so they must not be changed. The same object
 * means the same answer. Except for `figures`, data is read after the call; under a flood of calls it may be 100 ms
 * old.
 */
export interface MarketData {
  /** Returns figures at most one second old. They equal a full recomputation over the executions in their window. */
  figures(): Promise<Figures>;
  /** @param levels wanted levels per side, at most 250; the answer may have more */
  book(symbol: string, levels?: number): Promise<Book>;
  /** Returns trades, newest first, also of those after an id. An execution is included as soon as its order was answered. */
  trades(symbol: string, filter: TradeFilter): Promise<PublicTrade[]>;
  /**
   * Returns the candle of the current bucket by the engine's clock. It is flat if nothing was executed in the bucket,
   * and null if the market never traded.
   */
  candle(symbol: string, timeframe: Timeframe): Promise<Candle | null>;
  /**
   * Returns the newest or the oldest candles in a range, oldest first, including the current one. Omits buckets without executions.
   */
  candles(symbol: string, timeframe: Timeframe, range: CandleRange): Promise<Candle[]>;
  markets(): Promise<readonly Market[]>;
  overview(): Promise<MarketOverview>;
  assets(): Promise<ListedAssets>;
}

/** Opens the market data. It reads nothing before the first call and needs no closing. */
export function openMarketData({ engine, ledger }: { engine: Engine; ledger: Ledger }): MarketData {
  const unsettled = new UnsettledReader(engine, ledger);
  const figures = new RollingFigures(unsettled, ledger);
  const candles = new CurrentCandles(unsettled, ledger);
  const books = new Map<string, () => Promise<Book>>();

  const overview = async (): Promise<MarketOverview> => {
    const [day, { paused }] = await Promise.all([figures.read(), engine.reads.state()]);
    const { markets, quotes } = await engine.reads.quotes((all) =>
      all.filter(({ symbol }) => day.bySymbol.has(symbol)),
    );
    return { markets, paused, figures: day, quotes };
  };

  return {
    figures: () => figures.read(),
    candle: (symbol, timeframe) => candles.read(symbol, timeframe),
    candles: (symbol, timeframe, range) => readCandles(unsettled, ledger, symbol, timeframe, range),
    markets: cappedReads(CHEAP_BURST, () => engine.markets.all()),
    overview: cappedReads(DEAR_BURST, overview),
    assets: cappedReads(CHEAP_BURST, async () => {
      const [markets, listings] = await Promise.all([engine.markets.all(), ledger.acts.listings()]);
      return { markets, listings };
    }),
    async book(symbol, levels = BOOK_LEVELS) {
      if ((await engine.markets.bySymbol(symbol)) === undefined) throw noMarket(symbol);
      const deep = levels > FEW_LEVELS ? BOOK_LEVELS : FEW_LEVELS;
      const key = `${symbol} ${deep}`;
      let read = books.get(key);
      if (read === undefined) {
        read = cappedReads(CHEAP_BURST, () => readBook(engine, symbol, deep));
        books.set(key, read);
      }
      return read();
    },
    trades: (symbol, filter) => readMarketTrades(unsettled, ledger, symbol, filter),
  };
}

const noMarket = (symbol: string): Refusal => new Refusal('NOT_FOUND', `there is no market ${symbol}`);

/**
 * Reads a book with the engine's current time. The book itself has the time of its last event, which would make a quiet
 * market look outdated.
 */
async function readBook(engine: Engine, symbol: string, levels: number): Promise<Book> {
  const [timeMs, book] = await Promise.all([engine.reads.time(), engine.reads.book(symbol, levels)]);
  if (book === undefined) throw noMarket(symbol);
  return { ...book, timeMs };
}
