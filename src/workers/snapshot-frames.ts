/** Writes the frames of both streams: docs/api.md 6. Amounts are exact literals, computed from integers. */

import type { z } from 'zod';
import type {
  bookLevelSchema,
  bookSchema,
  candleSchema,
  executionSchema,
  executionsSchema,
  marketFrameSchema,
  snapshotFrameSchema,
  tickerFrameSchema,
} from '../contract/frames.ts';
import { publishedMarket } from '../contract/published-market.ts';
import type { Amount } from '../contract/values.ts';
import type { Written, WrittenText } from '../contract/written.ts';
import type { Candle } from '../domain/candle.ts';
import { JsonText, writeJson } from '../domain/json.ts';
import { type MarkSources, markOf } from '../domain/mark.ts';
import type { Market } from '../domain/market.ts';
import { marketGrid } from '../domain/market-grid.ts';
import type { PublicTrade } from '../domain/order.ts';
import { changeInHundredths, type DayFigures } from '../domain/rolling-day.ts';
import { type Count, formatCount, formatScaled } from '../domain/units.ts';
import type { MarketView } from '../feed/index.ts';
import type { Book, Level } from '../market-data/index.ts';

const priceOf = (market: Market, ticks: Count): JsonText<Amount> =>
  new JsonText(formatCount(ticks, marketGrid(market).tick));
const sizeOf = (market: Market, steps: Count): JsonText<Amount> =>
  new JsonText(formatCount(steps, marketGrid(market).step));
const literal = (decimal: string | null): JsonText<Amount> | null =>
  decimal === null ? null : new JsonText(decimal);

const NO_AMOUNT = new JsonText<Amount>('0');

/** Writes a frame, or a part that several frames share. */
const write = <Schema extends z.ZodType = never>(value: Written<Schema>): WrittenText<Schema> =>
  new JsonText(writeJson(value));

/** Moment of a frame: the engine's clock, and the last event that the frame surely has. */
export interface FrameMoment {
  readonly timeMs: number;
  readonly sequence: number;
}

const writtenMoment = ({ timeMs, sequence }: FrameMoment) => ({ time: timeMs, sequence });

/** Writes the first frame of the general stream. */
export const snapshotFrame = (
  markets: readonly Market[],
  moment: FrameMoment,
): WrittenText<typeof snapshotFrameSchema> =>
  write<typeof snapshotFrameSchema>({
    type: 'snapshot',
    markets: markets.map(publishedMarket),
    ...writtenMoment(moment),
  });

/**
 * Writes a market's ticker for the general stream and for its market frames. `mark` and `index` are null while the
 * market has no price.
 * @param day undefined if the market never traded
 */
export function tickerFrame(
  market: Market,
  sources: MarkSources,
  day: DayFigures | undefined,
  moment: FrameMoment,
): WrittenText<typeof tickerFrameSchema> {
  const mark = markOf(market, sources);
  return write<typeof tickerFrameSchema>({
    type: 'ticker',
    symbol: market.symbol,
    mark: literal(mark),
    index: literal(market.referencePrice ?? mark),
    volume24h: sizeOf(market, day?.baseSteps ?? 0n),
    openInterest: NO_AMOUNT,
    change24h: new JsonText(formatScaled(day === undefined ? 0n : changeInHundredths(day), 2)),
    ...writtenMoment(moment),
  });
}

/** Part of a market's frames that all timeframes share at a beat, so it is written once. */
export interface MarketPart {
  readonly ticker: WrittenText<typeof tickerFrameSchema>;
  readonly book: WrittenText<typeof bookSchema>;
  readonly trades: WrittenText<typeof executionsSchema>;
  /** That of the book. */
  readonly moment: FrameMoment;
}

export function bookPart({ market, bids, asks }: Book): WrittenText<typeof bookSchema> {
  const level = ({ priceTicks, sizeSteps }: Level): Written<typeof bookLevelSchema> => ({
    price: priceOf(market, priceTicks),
    size: sizeOf(market, sizeSteps),
  });
  return write<typeof bookSchema>({ bids: bids.map(level), asks: asks.map(level) });
}

export function tradesPart(
  market: Market,
  trades: readonly PublicTrade[],
): WrittenText<typeof executionsSchema> {
  const execution = ({
    tradeId,
    priceTicks,
    sizeSteps,
    takerSide,
    timeMs,
  }: PublicTrade): Written<typeof executionSchema> => ({
    id: tradeId,
    price: priceOf(market, priceTicks),
    size: sizeOf(market, sizeSteps),
    side: takerSide,
    time: timeMs,
  });
  return write<typeof executionsSchema>(trades.map(execution));
}

export const marketFrame = (
  market: Market,
  { timeframe }: MarketView,
  { ticker, book, trades, moment }: MarketPart,
  candle: Candle | null,
): WrittenText<typeof marketFrameSchema> =>
  write<typeof marketFrameSchema>({
    type: 'market',
    symbol: market.symbol,
    status: market.status,
    tradingEnabled: market.tradingEnabled,
    tf: timeframe,
    ticker,
    book,
    trades,
    candle: candle && writtenCandle(market, candle),
    ...writtenMoment(moment),
  });

const writtenCandle = (market: Market, candle: Candle): Written<typeof candleSchema> => ({
  time: candle.openMs / 1_000,
  open: priceOf(market, candle.openTicks),
  high: priceOf(market, candle.highTicks),
  low: priceOf(market, candle.lowTicks),
  close: priceOf(market, candle.closeTicks),
  volume: sizeOf(market, candle.volumeSteps),
});
