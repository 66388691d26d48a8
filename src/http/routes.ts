/** Route table of the service: method, path, required caller and endpoint. Read it as an index. */

import type { Endpoint, Probe, WalletEndpoint } from './endpoint.ts';
import { deleteOrder, deleteOrderByClientId } from './endpoints/delete-order.ts';
import { deleteOrders } from './endpoints/delete-orders.ts';
import { getMarkets } from './endpoints/get-markets.ts';
import { getOrder, getOrderByClientId } from './endpoints/get-order.ts';
import { getOrderChanges } from './endpoints/get-order-changes.ts';
import { getOrders } from './endpoints/get-orders.ts';
import { getPortfolio } from './endpoints/get-portfolio.ts';
import { getStatement } from './endpoints/get-statement.ts';
import { getStatus } from './endpoints/get-status.ts';
import { getTrades } from './endpoints/get-trades.ts';
import { getCandles } from './endpoints/market-data/get-candles.ts';
import { getHistoricalTrades } from './endpoints/market-data/get-historical-trades.ts';
import { getOrderbook } from './endpoints/market-data/get-orderbook.ts';
import { getPairs } from './endpoints/market-data/get-pairs.ts';
import { getSummary } from './endpoints/market-data/get-summary.ts';
import { getTickers } from './endpoints/market-data/get-tickers.ts';
import { postCancelAfter } from './endpoints/post-cancel-after.ts';
import { postCancelBatch } from './endpoints/post-cancel-batch.ts';
import { postChallenge } from './endpoints/post-challenge.ts';
import { postFaucet } from './endpoints/post-faucet.ts';
import { postOrder } from './endpoints/post-order.ts';
import { postOrderBatch } from './endpoints/post-order-batch.ts';
import { postReplace } from './endpoints/post-replace.ts';
import { postTerms } from './endpoints/post-terms.ts';
import { postVerify } from './endpoints/post-verify.ts';
import { getLivez, getMetrics, getReadyz } from './endpoints/probes.ts';
import { getSiweNonce, postSiweNonce } from './endpoints/siwe-nonce.ts';
import { postSiweVerify } from './endpoints/siwe-verify.ts';
import type { Bucket } from './limits/index.ts';

export type Method = 'GET' | 'POST' | 'DELETE';

export type Route = OpenRoute | WalletRoute;

interface OpenRoute {
  readonly method: Method;
  readonly path: string;
  /** `public`: anyone, and caches may keep the reply. `login`: anyone outside the blocked countries. */
  readonly caller: 'anyone' | 'public' | 'login';
  readonly endpoint: Endpoint;
  /** Request limit of the route. Routes with the same bucket share its count. Routes without a bucket have no limit. */
  readonly bucket?: Bucket;
}

interface WalletRoute {
  readonly method: Method;
  readonly path: string;
  /** The caller must have a session. */
  readonly caller: 'wallet';
  readonly endpoint: WalletEndpoint;
  readonly bucket?: undefined;
}

const MARKET_DATA = { method: 'GET', caller: 'public', bucket: 'market-data' } as const;

/** Express tries the routes in order, so the most requested ones come first. */
export const ROUTES: readonly Route[] = [
  { method: 'POST', path: '/v1/orders', caller: 'wallet', endpoint: postOrder },
  { method: 'GET', path: '/v1/orders', caller: 'wallet', endpoint: getOrders },
  { method: 'GET', path: '/v1/orders/changes', caller: 'wallet', endpoint: getOrderChanges },
  { method: 'GET', path: '/v1/orders/:orderId', caller: 'wallet', endpoint: getOrder },
  {
    method: 'GET',
    path: '/v1/orders/by-client-id/:clientOrderId',
    caller: 'wallet',
    endpoint: getOrderByClientId,
  },
  { method: 'DELETE', path: '/v1/orders/:orderId', caller: 'wallet', endpoint: deleteOrder },
  {
    method: 'DELETE',
    path: '/v1/orders/by-client-id/:clientOrderId',
    caller: 'wallet',
    endpoint: deleteOrderByClientId,
  },
  { method: 'DELETE', path: '/v1/orders', caller: 'wallet', endpoint: deleteOrders },
  { method: 'POST', path: '/v1/orders/replace', caller: 'wallet', endpoint: postReplace },
  { method: 'POST', path: '/v1/orders/batch', caller: 'wallet', endpoint: postOrderBatch },
  { method: 'POST', path: '/v1/orders/cancel-batch', caller: 'wallet', endpoint: postCancelBatch },
  { method: 'POST', path: '/v1/orders/cancel-after', caller: 'wallet', endpoint: postCancelAfter },
  { method: 'GET', path: '/v1/trades', caller: 'wallet', endpoint: getTrades },
  { method: 'GET', path: '/v1/statement', caller: 'wallet', endpoint: getStatement },

  { ...MARKET_DATA, path: '/v1/market-data/pairs', endpoint: getPairs },
  { ...MARKET_DATA, path: '/v1/market-data/summary', endpoint: getSummary },
  { ...MARKET_DATA, path: '/v1/market-data/tickers', endpoint: getTickers },
  { ...MARKET_DATA, path: '/v1/market-data/orderbook', endpoint: getOrderbook },
  { ...MARKET_DATA, path: '/v1/market-data/orderbook/:ticker_id', endpoint: getOrderbook },
  { ...MARKET_DATA, path: '/v1/market-data/trades', endpoint: getHistoricalTrades },
  { ...MARKET_DATA, path: '/v1/market-data/trades/:ticker_id', endpoint: getHistoricalTrades },

  { ...MARKET_DATA, path: '/v1/market-data/candles', endpoint: getCandles },
  { ...MARKET_DATA, path: '/v1/market-data/candles/:ticker_id', endpoint: getCandles },
  { method: 'GET', path: '/v1/markets', caller: 'anyone', endpoint: getMarkets },
  { method: 'GET', path: '/v1/status', caller: 'anyone', endpoint: getStatus },
  { method: 'GET', path: '/v1/portfolio/:address', caller: 'wallet', endpoint: getPortfolio },
  { method: 'POST', path: '/v1/account/terms', caller: 'wallet', endpoint: postTerms },

  {
    method: 'POST',
    path: '/v1/auth/challenge',
    caller: 'login',
    endpoint: postChallenge,
    bucket: 'challenge',
  },
  { method: 'POST', path: '/v1/auth/verify', caller: 'login', endpoint: postVerify, bucket: 'verify' },
  { method: 'GET', path: '/api/auth/nonce', caller: 'login', endpoint: getSiweNonce, bucket: 'challenge' },
  { method: 'POST', path: '/api/auth/nonce', caller: 'login', endpoint: postSiweNonce, bucket: 'challenge' },
  { method: 'POST', path: '/api/auth/verify', caller: 'login', endpoint: postSiweVerify, bucket: 'verify' },
];

/** Served to callers on this machine if `demoFaucet` is on. To all others they are unknown routes. */
export const LOCAL_ROUTES: readonly Route[] = [
  { method: 'POST', path: '/v1/demo/faucet', caller: 'wallet', endpoint: postFaucet },
];

export const MARKET_DATA_PREFIX = '/v1/market-data';

/** True if the route was added after the old prefix was deprecated. */
const isNewer = (path: string): boolean => path.startsWith(`${MARKET_DATA_PREFIX}/candles`);

/** CoinGecko's own name of `trades`, which the old prefix answers too. */
const LEGACY_ALIAS = '/historical_trades';

/** A deprecated route, and the path that replaces it. */
type LegacyRoute = Route & { readonly successor: string };

/** Returns the market-data routes under their old prefix. */
export function legacyRoutes(prefix: string): LegacyRoute[] {
  const served = ROUTES.filter(({ path }) => path.startsWith(`${MARKET_DATA_PREFIX}/`) && !isNewer(path));
  return served.flatMap((route) => {
    const name = route.path.slice(MARKET_DATA_PREFIX.length);
    const names = [...new Set([name, name.replace(/^\/trades/, LEGACY_ALIAS)])];
    return names.map((old) => ({ ...route, path: `${prefix}${old}`, successor: route.path }));
  });
}

/** Served on the main port, unless METRICS_PORT sets a separate one. */
export const METRICS_PATH = '/metrics';

/** The probes that every process answers, with or without the API. */
export const PROBES: readonly ProbeRoute[] = [
  { method: 'GET', path: '/livez', probe: getLivez },
  { method: 'GET', path: '/readyz', probe: getReadyz },
  { method: 'GET', path: METRICS_PATH, probe: getMetrics },
];

interface ProbeRoute {
  readonly method: Method;
  readonly path: string;
  readonly probe: Probe;
}
