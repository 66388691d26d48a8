/** All routes of the service. Read it as an index. */

import { getListedAssets } from './endpoints/coinmarketcap/get-assets.ts';
import { getListedOrderbook } from './endpoints/coinmarketcap/get-orderbook.ts';
import { getListedSummary } from './endpoints/coinmarketcap/get-summary.ts';
import { getListedTicker } from './endpoints/coinmarketcap/get-ticker.ts';
import { getListedTrades } from './endpoints/coinmarketcap/get-trades.ts';
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
import { getCandles, getCandlesOf } from './endpoints/market-data/get-candles.ts';
import { getHistoricalTrades, getHistoricalTradesOf } from './endpoints/market-data/get-historical-trades.ts';
import { getOrderbook, getOrderbookOf } from './endpoints/market-data/get-orderbook.ts';
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
import type { Probe, Route } from './route.ts';

/** Express tries the routes in order, so the most requested ones come first. */
export const ROUTES: readonly Route[] = [
  postOrder,
  getOrders,
  getOrderChanges,
  getOrder,
  getOrderByClientId,
  deleteOrder,
  deleteOrderByClientId,
  deleteOrders,
  postReplace,
  postOrderBatch,
  postCancelBatch,
  postCancelAfter,
  getTrades,
  getStatement,
  getPairs,
  getSummary,
  getTickers,
  getOrderbook,
  getOrderbookOf,
  getHistoricalTrades,
  getHistoricalTradesOf,
  getCandles,
  getCandlesOf,
  getListedSummary,
  getListedAssets,
  getListedTicker,
  getListedOrderbook,
  getListedTrades,
  getMarkets,
  getStatus,
  getPortfolio,
  postTerms,
  postChallenge,
  postVerify,
  getSiweNonce,
  postSiweNonce,
  postSiweVerify,
];

/** Served to callers on this machine if `demoFaucet` is on. To all others they are unknown routes. */
export const LOCAL_ROUTES: readonly Route[] = [postFaucet];

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

/** The probes that every process answers, with or without the API. */
export const PROBES: readonly Probe[] = [getLivez, getReadyz, getMetrics];
