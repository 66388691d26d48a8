/**
 * Writes public market data: docs/api.md 2.10. Amounts are exact plain decimal strings, computed from integers. Trades
 * and candles are written by templates, as orders are.
 */

import type {
  historicalCandleSchema,
  historicalCandlesSchema,
  historicalTradeSchema,
  historicalTradesSchema,
  orderBookSchema,
  pairSchema,
  pairsSchema,
  summaryEntrySchema,
  summarySchema,
  tickerSchema,
  tickersSchema,
} from '../../contract/market-data.ts';
import type { MemberTexts, Written } from '../../contract/written.ts';
import type { Candle, Timeframe } from '../../domain/candle.ts';
import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import type { PublicTrade } from '../../domain/order.ts';
import { changeInHundredths } from '../../domain/rolling-day.ts';
import { type Count, formatCount, formatScaled } from '../../domain/units.ts';
import type { Quotes } from '../../engine/index.ts';
import type { Book, DayFigures, Level, MarketOverview } from '../../market-data/index.ts';
import type { HttpSettings } from '../services.ts';

export const priceOf = (ticks: Count, market: Market): string => formatCount(ticks, marketGrid(market).tick);
export const sizeOf = (steps: Count, market: Market): string => formatCount(steps, marketGrid(market).step);
export const quoteOf = (atoms: Count, market: Market): string => formatScaled(atoms, market.quote.scale);

/** Returns the JSON string of a text that needs no escapes. */
const quoted = (plain: string): string => `"${plain}"`;

export const priceOrNull = (ticks: bigint | null, market: Market): string | null =>
  ticks === null ? null : priceOf(ticks, market);

/** Returns `BASE_QUOTE`, the market's symbol in the form of aggregators. */
export const tickerIdOf = ({ base, quote }: Market): string => `${base.symbol}_${quote.symbol}`;

const tradeUrlOf = (market: Market, { webUrl }: HttpSettings): string =>
  `${webUrl}/trade/${tickerIdOf(market)}`;

/** Returns the pool id. It never changes, because its parts never change. */
const poolIdOf = ({ base, quote }: Market, { serviceName }: HttpSettings): string =>
  `${serviceName}:${base.symbol}-${quote.symbol}`.toLowerCase();

export const isOpen = (market: Market): boolean => market.status === 'active' && market.tradingEnabled;

/** True if `pairs` lists the market. */
const isListed = (market: Market): boolean => market.visible && isOpen(market);

/** Figures of a market with executions in the last 24 hours. */
export interface TradedDay extends DayFigures {
  readonly highTicks: bigint;
  readonly lowTicks: bigint;
}

export const hasTraded = (day: DayFigures): day is TradedDay =>
  day.highTicks !== null && day.lowTicks !== null;

export const pairsReply = (markets: readonly Market[], settings: HttpSettings): Written<typeof pairsSchema> =>
  markets.filter(isListed).map((market) => pairReply(market, settings));

const pairReply = (market: Market, settings: HttpSettings): Written<typeof pairSchema> => ({
  ticker_id: tickerIdOf(market),
  base_currency: market.base.symbol,
  target_currency: market.quote.symbol,
  pool_id: poolIdOf(market, settings),
  type: 'spot',
  status: 'active',
  trade_url: tradeUrlOf(market, settings),
});

/** Writes the markets with executions in the last 24 hours, including frozen ones but not hidden ones. */
export function summaryReply(
  { markets, paused, figures, quotes }: MarketOverview,
  settings: HttpSettings,
): Written<typeof summarySchema> {
  const entries: Record<string, Written<typeof summaryEntrySchema>> = {};
  for (const market of markets) {
    const day = figures.bySymbol.get(market.symbol);
    if (!market.visible || day === undefined || !hasTraded(day)) continue;
    const isFrozen = paused || !isOpen(market);
    entries[tickerIdOf(market)] = summaryEntry(market, day, quotes.get(market.symbol)!, isFrozen, settings);
  }
  return entries;
}

/** Writes the members that all summaries of a pair have. */
export const pairFiguresOf = (market: Market, day: DayFigures, { bestBidTicks, bestAskTicks }: Quotes) => ({
  trading_pairs: tickerIdOf(market),
  base_currency: market.base.symbol,
  quote_currency: market.quote.symbol,
  last_price: priceOf(day.lastPriceTicks, market),
  lowest_ask: priceOrNull(bestAskTicks, market),
  highest_bid: priceOrNull(bestBidTicks, market),
  base_volume: sizeOf(day.baseSteps, market),
  quote_volume: quoteOf(day.quoteAtoms, market),
  price_change_percent_24h: formatScaled(changeInHundredths(day), 2),
});

const summaryEntry = (
  market: Market,
  day: TradedDay,
  quotes: Quotes,
  isFrozen: boolean,
  settings: HttpSettings,
): Written<typeof summaryEntrySchema> => ({
  ticker_id: tickerIdOf(market),
  ...pairFiguresOf(market, day, quotes),
  highest_price_24h: priceOf(day.highTicks, market),
  lowest_price_24h: priceOf(day.lowTicks, market),
  type: 'spot',
  is_frozen: isFrozen,
  isFrozen: isFrozen ? '1' : '0',
  trade_url: tradeUrlOf(market, settings),
});

/** Writes listed markets that have ever traded. */
export const tickersReply = (
  { markets, figures, quotes }: MarketOverview,
  settings: HttpSettings,
): Written<typeof tickersSchema> =>
  markets.filter(isListed).flatMap((market) => {
    const day = figures.bySymbol.get(market.symbol);
    return day === undefined ? [] : [tickerReply(market, day, quotes.get(market.symbol)!, settings)];
  });

function tickerReply(
  market: Market,
  day: DayFigures,
  { bestBidTicks, bestAskTicks }: Quotes,
  settings: HttpSettings,
): Written<typeof tickerSchema> {
  const ticker: Written<typeof tickerSchema> = {
    ticker_id: tickerIdOf(market),
    base_currency: market.base.symbol,
    target_currency: market.quote.symbol,
    last_price: priceOf(day.lastPriceTicks, market),
    base_volume: sizeOf(day.baseSteps, market),
    target_volume: quoteOf(day.quoteAtoms, market),
    pool_id: poolIdOf(market, settings),
    bid: priceOrNull(bestBidTicks, market),
    ask: priceOrNull(bestAskTicks, market),
  };
  if (!hasTraded(day)) return ticker;
  return { ...ticker, high: priceOf(day.highTicks, market), low: priceOf(day.lowTicks, market) };
}

/** @param levels maximum number of levels on each side */
export const orderBookReply = (book: Book, levels: number): Written<typeof orderBookSchema> => ({
  ticker_id: tickerIdOf(book.market),
  ...levelsReply(book, levels),
});

/** @param levels maximum number of levels on each side */
export function levelsReply({ market, timeMs, bids, asks }: Book, levels: number) {
  const side = (all: readonly Level[]) =>
    all
      .slice(0, levels)
      .map(({ priceTicks, sizeSteps }) => [priceOf(priceTicks, market), sizeOf(sizeSteps, market)]);
  return { timestamp: String(timeMs), bids: side(bids), asks: side(asks) };
}

/**
 * Writes trades as JSON text.
 * @param trades newest first
 */
export function historicalTradesReply(market: Market, trades: readonly PublicTrade[]): string {
  const sides: Record<keyof MemberTexts<typeof historicalTradesSchema>, string> = { buy: '', sell: '' };
  for (const trade of trades) {
    const before = sides[trade.takerSide];
    sides[trade.takerSide] += `${before === '' ? '' : ','}${historicalTrade(market, trade)}`;
  }
  return `{"buy":[${sides.buy}],"sell":[${sides.sell}]}`;
}

const historicalTrade = (market: Market, trade: PublicTrade): string =>
  historicalTradeText({
    trade_id: String(trade.tradeId),
    price: quoted(priceOf(trade.priceTicks, market)),
    base_volume: quoted(sizeOf(trade.sizeSteps, market)),
    target_volume: quoted(quoteOf(trade.notionalAtoms, market)),
    trade_timestamp: quoted(String(Math.floor(trade.timeMs / 1000))),
    type: quoted(trade.takerSide),
  });

const historicalTradeText = (trade: MemberTexts<typeof historicalTradeSchema>): string =>
  `{"trade_id":${trade.trade_id},"price":${trade.price},"base_volume":${trade.base_volume},` +
  `"target_volume":${trade.target_volume},"trade_timestamp":${trade.trade_timestamp},"type":${trade.type}}`;

/**
 * Writes candles as JSON text.
 * @param candles oldest first
 */
export const candlesReply = (market: Market, timeframe: Timeframe, candles: readonly Candle[]): string =>
  historicalCandlesText({
    ticker_id: quoted(tickerIdOf(market)),
    tf: quoted(timeframe),
    candles: `[${candles.map((candle) => historicalCandle(market, candle)).join(',')}]`,
  });

const historicalCandlesText = (list: MemberTexts<typeof historicalCandlesSchema>): string =>
  `{"ticker_id":${list.ticker_id},"tf":${list.tf},"candles":${list.candles}}`;

const historicalCandle = (market: Market, candle: Candle): string =>
  historicalCandleText({
    time: quoted(String(candle.openMs / 1000)),
    open: quoted(priceOf(candle.openTicks, market)),
    high: quoted(priceOf(candle.highTicks, market)),
    low: quoted(priceOf(candle.lowTicks, market)),
    close: quoted(priceOf(candle.closeTicks, market)),
    base_volume: quoted(sizeOf(candle.volumeSteps, market)),
    target_volume: quoted(quoteOf(candle.quoteAtoms, market)),
  });

const historicalCandleText = (candle: MemberTexts<typeof historicalCandleSchema>): string =>
  `{"time":${candle.time},"open":${candle.open},"high":${candle.high},"low":${candle.low},` +
  `"close":${candle.close},"base_volume":${candle.base_volume},"target_volume":${candle.target_volume}}`;
