/**
 * The typed client of Redbook: for browsers, and for Node.js from 20.19 on.
 *
 * Uses: domain; types of order, contract.
 * Begin at `exchange.ts`, then `placing.ts` for the outcomes of an order.
 */

export {
  acceptTerms,
  type CancelAfterDelay,
  type CancelAllFilter,
  cancel,
  cancelAfter,
  cancelAll,
  cancelMany,
  getOrder,
  getOrders,
  getPortfolio,
  getTrades,
  type NamedOrders,
  type OrdersQuery,
  requestFunds,
  type WalletTradesQuery,
} from './account.ts';
export {
  type ChangesQuery,
  changes,
  type OrderWatch,
  type OrderWatchHandlers,
  type OrderWatchOptions,
  watchOrders,
} from './changes.ts';
export {
  type Clock,
  type Connection,
  type ConnectionOptions,
  type Fetch,
  type LogEntry,
  openConnection,
  type RequestLogEntry,
  type StreamLogEntry,
  type WebSocketClass,
} from './connection.ts';
export {
  add,
  compare,
  costOf,
  multiply,
  type OrderCost,
  type PricedOrder,
  type Rounding,
  roundToStep,
  roundToTick,
  subtract,
} from './decimals.ts';
export { type ClientErrorCode, type ErrorCode, RedbookError } from './errors.ts';
export type { CallOptions } from './exchange.ts';
export { type KeepAlive, type KeepAliveFault, type KeepAliveOptions, keepAlive } from './keep-alive.ts';
export { getOrderByClientId } from './lookup.ts';
export {
  type CandlesQuery,
  getCandles,
  getHistoricalTrades,
  getMarkets,
  getOrderBook,
  getPairs,
  getStatus,
  getSummary,
  getTickers,
  type HistoricalTradesQuery,
  type OrderBookQuery,
} from './market-data.ts';
export type { LimitOrder, MarketBuyByAmount, MarketOrder, NewOrder } from './new-order.ts';
export { orders, trades } from './pages.ts';
export {
  type Lookup,
  type OrderDuplicate,
  type OrderPlaced,
  type OrderRefused,
  type OrderUnknown,
  type Placed,
  type PlaceOptions,
  place,
  placeMany,
  type ReplacedOrder,
  replace,
} from './placing.ts';
export type * from './replies.ts';
export { renew, restoreSession, type Session, signIn, signInWithMessage, signOut } from './session.ts';
export type { MessageSigner, TypedDataSigner } from './sign-in.ts';
export { type SignInMessageOptions, walletTypedData } from './sign-in-message.ts';
export { type StatementSpan, statement, statementCsv } from './statement.ts';
export {
  type FeedState,
  type MarketWatchQuery,
  type Watch,
  type WatchHandlers,
  type WatchState,
  watchMarket,
  watchMarkets,
} from './stream.ts';
