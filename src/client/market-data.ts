/** Public reads. Each call is repeated after a lost answer, and keeps to the limits of its route. */

import { askPublicly } from './asking.ts';
import type { Connection } from './connection.ts';
import { type CallOptions, pathPart, type QueryValues, replyOf } from './exchange.ts';
import type {
  HistoricalCandles,
  HistoricalTrades,
  Market,
  OrderBook,
  Pair,
  Status,
  Summary,
  Ticker,
  Timeframe,
} from './replies.ts';

async function read<Value extends object>(
  connection: Connection,
  path: string,
  query: QueryValues,
  options: CallOptions,
): Promise<Value> {
  const call = { ...options, method: 'GET', path, query } as const;
  const isMarketData = path.startsWith('/v1/market-data/');
  const asking = isMarketData ? ({ bucket: 'market-data', repeatable: true } as const) : { repeatable: true };
  return replyOf<Value>(await askPublicly(connection, call, asking));
}

/** Returns all markets with the rules that orders must keep. */
export async function getMarkets(
  connection: Connection,
  options: CallOptions = {},
): Promise<readonly Market[]> {
  return (await read<{ markets: readonly Market[] }>(connection, '/v1/markets', {}, options)).markets;
}

/** Returns whether trading is paused, the required terms version and the last reconcile. */
export function getStatus(connection: Connection, options: CallOptions = {}): Promise<Status> {
  return read(connection, '/v1/status', {}, options);
}

/** Returns the markets that are listed and open. */
export function getPairs(connection: Connection, options: CallOptions = {}): Promise<readonly Pair[]> {
  return read(connection, '/v1/market-data/pairs', {}, options);
}

/** Returns the figures of the last 24 hours, by ticker id, of markets that traded in them. */
export function getSummary(connection: Connection, options: CallOptions = {}): Promise<Summary> {
  return read(connection, '/v1/market-data/summary', {}, options);
}

/** Returns the figures of the last 24 hours of listed markets that ever traded. */
export function getTickers(connection: Connection, options: CallOptions = {}): Promise<readonly Ticker[]> {
  return read(connection, '/v1/market-data/tickers', {}, options);
}

export interface OrderBookQuery {
  /** Like `ETH_USDC`. */
  readonly tickerId: string;
  /** Levels of both sides together: 100 unless given, 0 for all, which are 250 of each side. */
  readonly depth?: number;
}

/** Returns an order book, best levels first. */
export async function getOrderBook(
  connection: Connection,
  query: OrderBookQuery,
  options: CallOptions = {},
): Promise<OrderBook> {
  return read(
    connection,
    `/v1/market-data/orderbook/${pathPart(query.tickerId)}`,
    { depth: query.depth },
    options,
  );
}

export interface HistoricalTradesQuery {
  /** Like `ETH_USDC`. */
  readonly tickerId: string;
  /** The taker's side. */
  readonly type?: 'all' | 'buy' | 'sell';
  /** Maximum trades of both sides together: at most 500, and 500 unless given. */
  readonly limit?: number;
  /** Unix seconds, inclusive. */
  readonly startTime?: number;
  /** Unix seconds, inclusive. */
  readonly endTime?: number;
  /** The first executions after this `trade_id`. */
  readonly afterId?: number;
  /** The last executions before this `trade_id`; not together with `afterId`. */
  readonly beforeId?: number;
}

/** Returns executions, newest first. */
export async function getHistoricalTrades(
  connection: Connection,
  query: HistoricalTradesQuery,
  options: CallOptions = {},
): Promise<HistoricalTrades> {
  const { tickerId, type, limit, startTime, endTime, afterId, beforeId } = query;
  const range = { start_time: startTime, end_time: endTime, after_id: afterId, before_id: beforeId };
  return read(connection, `/v1/market-data/trades/${pathPart(tickerId)}`, { type, limit, ...range }, options);
}

export interface CandlesQuery {
  /** Like `ETH_USDC`. */
  readonly tickerId: string;
  /** `1m` unless given. */
  readonly tf?: Timeframe;
  /** Unix seconds of a candle's start, inclusive. */
  readonly startTime?: number;
  /** Unix seconds of a candle's start, inclusive. */
  readonly endTime?: number;
  /** Maximum candles: at most 1,000, and 500 unless given. */
  readonly limit?: number;
  /** The candles of a range that has more than `limit`: `newest` unless given. */
  readonly pick?: 'newest' | 'oldest';
}

/** Returns candles, oldest first. Intervals without executions have none. */
export async function getCandles(
  connection: Connection,
  query: CandlesQuery,
  options: CallOptions = {},
): Promise<HistoricalCandles> {
  const { tickerId, tf, startTime, endTime, limit, pick } = query;
  const sent = { tf, start_time: startTime, end_time: endTime, limit, pick };
  return read(connection, `/v1/market-data/candles/${pathPart(tickerId)}`, sent, options);
}
