/** Writes the frames of both streams: docs/api.md 6. Amounts are exact literals made of the integers. */

import type { Candle } from '../domain/candle.ts';
import { type Json, JsonText, writeJson } from '../domain/json.ts';
import { type MarkSources, markOf } from '../domain/mark.ts';
import type { Market } from '../domain/market.ts';
import { marketGrid } from '../domain/market-grid.ts';
import type { PublicTrade } from '../domain/order.ts';
import { publishedMarket } from '../domain/published-market.ts';
import { changeInHundredths, type DayFigures } from '../domain/rolling-day.ts';
import { type Count, formatCount, formatScaled } from '../domain/units.ts';
import type { MarketView } from '../feed/index.ts';
import type { Book, Level } from '../market-data/index.ts';

const priceOf = (market: Market, ticks: Count): JsonText =>
  new JsonText(formatCount(ticks, marketGrid(market).tick));
const sizeOf = (market: Market, steps: Count): JsonText =>
  new JsonText(formatCount(steps, marketGrid(market).step));
const literal = (decimal: string | null): JsonText | null =>
  decimal === null ? null : new JsonText(decimal);

/** The first frame of the general stream. */
export const snapshotFrame = (markets: readonly Market[]): string =>
  writeJson({ type: 'snapshot', markets: markets.map(publishedMarket) });

/**
 * Writes a market's ticker, for the general stream and for its market frames. `mark` and `index` are null while nothing
 * prices the market.
 * @param day undefined: the market never traded
 */
export function tickerFrame(market: Market, sources: MarkSources, day: DayFigures | undefined): string {
  const mark = markOf(market, sources);
  return writeJson({
    type: 'ticker',
    symbol: market.symbol,
    mark: literal(mark),
    index: literal(market.referencePrice ?? mark),
    volume24h: sizeOf(market, day?.baseSteps ?? 0n),
    openInterest: 0,
    change24h: new JsonText(formatScaled(day === undefined ? 0n : changeInHundredths(day), 2)),
  });
}

/** The part of a market that all timeframes share in a tick, written once. */
export interface MarketPart {
  readonly ticker: string;
  readonly book: string;
  readonly trades: string;
}

export function bookPart({ market, bids, asks }: Book): string {
  const side = (levels: readonly Level[]): Json =>
    levels.map(({ priceTicks, sizeSteps }) => ({
      price: priceOf(market, priceTicks),
      size: sizeOf(market, sizeSteps),
    }));
  return writeJson({ bids: side(bids), asks: side(asks) });
}

export const tradesPart = (market: Market, trades: readonly PublicTrade[]): string =>
  writeJson(
    trades.map(({ priceTicks, sizeSteps, takerSide, timeMs }) => ({
      price: priceOf(market, priceTicks),
      size: sizeOf(market, sizeSteps),
      side: takerSide,
      time: timeMs,
    })),
  );

export const marketFrame = (
  market: Market,
  { timeframe }: MarketView,
  { ticker, book, trades }: MarketPart,
  candle: Candle | null,
): string =>
  writeJson({
    type: 'market',
    symbol: market.symbol,
    tf: timeframe,
    ticker: new JsonText(ticker),
    book: new JsonText(book),
    trades: new JsonText(trades),
    candle: candle && candleJson(market, candle),
  });

const candleJson = (market: Market, candle: Candle): Json => ({
  time: candle.openMs / 1_000,
  open: priceOf(market, candle.openTicks),
  high: priceOf(market, candle.highTicks),
  low: priceOf(market, candle.lowTicks),
  close: priceOf(market, candle.closeTicks),
  volume: sizeOf(market, candle.volumeSteps),
});
