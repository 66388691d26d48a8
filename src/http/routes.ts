/** Every route of the service: method, path, who may call it, what answers. Read it as an index. */

import type { Endpoint, Probe, WalletEndpoint } from './endpoint.ts';
import { deleteOrder } from './endpoints/delete-order.ts';
import { deleteOrders } from './endpoints/delete-orders.ts';
import { getMarkets } from './endpoints/get-markets.ts';
import { getOrder, getOrderByClientId } from './endpoints/get-order.ts';
import { getOrders } from './endpoints/get-orders.ts';
import { getPortfolio } from './endpoints/get-portfolio.ts';
import { getStatus } from './endpoints/get-status.ts';
import { getTrades } from './endpoints/get-trades.ts';
import { getCandles } from './endpoints/market-data/get-candles.ts';
import { getHistoricalTrades } from './endpoints/market-data/get-historical-trades.ts';
import { getOrderbook } from './endpoints/market-data/get-orderbook.ts';
import { getPairs } from './endpoints/market-data/get-pairs.ts';
import { getSummary } from './endpoints/market-data/get-summary.ts';
import { getTickers } from './endpoints/market-data/get-tickers.ts';
import { postCancelAfter } from './endpoints/post-cancel-after.ts';
import { postChallenge } from './endpoints/post-challenge.ts';
import { postFaucet } from './endpoints/post-faucet.ts';
import { postOrder } from './endpoints/post-order.ts';
import { postTerms } from './endpoints/post-terms.ts';
import { postVerify } from './endpoints/post-verify.ts';
import { getLivez, getMetrics, getReadyz } from './endpoints/probes.ts';
import { getSiweNonce, postSiweNonce } from './endpoints/siwe-nonce.ts';
import { postSiweVerify } from './endpoints/siwe-verify.ts';
import type { Bucket } from './limits/index.ts';

export type Method = 'GET' | 'POST' | 'DELETE';

/**
 * Who may call: `anyone`; `public`, anyone, and caches may keep the answer; `login`, anyone outside the blocked
 * countries; `wallet`, the holder of a session. Routes with a bucket are limited: they share its count.
 */
export type Route =
  | readonly [
      method: Method,
      path: string,
      caller: 'anyone' | 'public' | 'login',
      endpoint: Endpoint,
      bucket?: Bucket,
    ]
  | readonly [method: Method, path: string, caller: 'wallet', endpoint: WalletEndpoint];

/** Express tries them in turn: what is asked for most comes first. */
export const ROUTES: readonly Route[] = [
  ['POST', '/v1/orders', 'wallet', postOrder],
  ['GET', '/v1/orders', 'wallet', getOrders],
  ['GET', '/v1/orders/:orderId', 'wallet', getOrder],
  ['GET', '/v1/orders/by-client-id/:clientOrderId', 'wallet', getOrderByClientId],
  ['DELETE', '/v1/orders/:orderId', 'wallet', deleteOrder],
  ['DELETE', '/v1/orders', 'wallet', deleteOrders],
  ['POST', '/v1/orders/cancel-after', 'wallet', postCancelAfter],
  ['GET', '/v1/trades', 'wallet', getTrades],

  ['GET', '/v1/market-data/pairs', 'public', getPairs, 'market-data'],
  ['GET', '/v1/market-data/summary', 'public', getSummary, 'market-data'],
  ['GET', '/v1/market-data/tickers', 'public', getTickers, 'market-data'],
  ['GET', '/v1/market-data/orderbook', 'public', getOrderbook, 'market-data'],
  ['GET', '/v1/market-data/orderbook/:ticker_id', 'public', getOrderbook, 'market-data'],
  ['GET', '/v1/market-data/trades', 'public', getHistoricalTrades, 'market-data'],
  ['GET', '/v1/market-data/trades/:ticker_id', 'public', getHistoricalTrades, 'market-data'],

  ['GET', '/v1/market-data/candles', 'public', getCandles, 'market-data'],
  ['GET', '/v1/market-data/candles/:ticker_id', 'public', getCandles, 'market-data'],
  ['GET', '/v1/markets', 'anyone', getMarkets],
  ['GET', '/v1/status', 'anyone', getStatus],
  ['GET', '/v1/portfolio/:address', 'wallet', getPortfolio],
  ['POST', '/v1/account/terms', 'wallet', postTerms],

  ['POST', '/v1/auth/challenge', 'login', postChallenge, 'challenge'],
  ['POST', '/v1/auth/verify', 'login', postVerify, 'verify'],
  ['GET', '/api/auth/nonce', 'login', getSiweNonce, 'challenge'],
  ['POST', '/api/auth/nonce', 'login', postSiweNonce, 'challenge'],
  ['POST', '/api/auth/verify', 'login', postSiweVerify, 'verify'],
];

/** Served where `demoFaucet` is on, to callers of this machine; to all others they are unknown routes. */
export const LOCAL_ROUTES: readonly Route[] = [['POST', '/v1/demo/faucet', 'wallet', postFaucet]];

export const MARKET_DATA_PREFIX = '/v1/market-data';

/** Added after the old prefix was deprecated. */
const isNewer = (path: string): boolean => path.startsWith(`${MARKET_DATA_PREFIX}/candles`);

/** The market-data routes once more under their old prefix. */
export const legacyRoutes = (prefix: string): Route[] =>
  ROUTES.filter(([, path]) => path.startsWith(`${MARKET_DATA_PREFIX}/`) && !isNewer(path)).map(
    ([method, path, ...rest]) =>
      [method, `${prefix}${path.slice(MARKET_DATA_PREFIX.length)}`, ...rest] as Route,
  );

/** Served on the port of everything else, unless METRICS_PORT gives it one of its own. */
export const METRICS_PATH = '/metrics';

/** The probes that every process answers, with or without the API. */
export const PROBES: readonly (readonly [method: Method, path: string, probe: Probe])[] = [
  ['GET', '/livez', getLivez],
  ['GET', '/readyz', getReadyz],
  ['GET', METRICS_PATH, getMetrics],
];
