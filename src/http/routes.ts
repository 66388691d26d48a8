/** Every route of the service: method, path, who may call it, what answers. Read it as an index. */

import type { Endpoint, Probe, WalletEndpoint } from './endpoint.ts';
import { deleteOrder } from './endpoints/delete-order.ts';
import { deleteOrders } from './endpoints/delete-orders.ts';
import { getMarkets } from './endpoints/get-markets.ts';
import { getOrders } from './endpoints/get-orders.ts';
import { getPortfolio } from './endpoints/get-portfolio.ts';
import { getTrades } from './endpoints/get-trades.ts';
import { postChallenge } from './endpoints/post-challenge.ts';
import { postOrder } from './endpoints/post-order.ts';
import { postTerms } from './endpoints/post-terms.ts';
import { postVerify } from './endpoints/post-verify.ts';
import { getLivez, getMetrics, getReadyz } from './endpoints/probes.ts';
import { getSiweNonce, postSiweNonce } from './endpoints/siwe-nonce.ts';
import { postSiweVerify } from './endpoints/siwe-verify.ts';

export type Method = 'GET' | 'POST' | 'DELETE';

/**
 * Who may call: `anyone`; `login`, anyone outside the blocked countries; `wallet`, the holder of a session.
 */
export type Route =
  | readonly [method: Method, path: string, caller: 'anyone' | 'login', endpoint: Endpoint]
  | readonly [method: Method, path: string, caller: 'wallet', endpoint: WalletEndpoint];

export const ROUTES: readonly Route[] = [
  ['POST', '/v1/auth/challenge', 'login', postChallenge],
  ['POST', '/v1/auth/verify', 'login', postVerify],
  ['GET', '/api/auth/nonce', 'login', getSiweNonce],
  ['POST', '/api/auth/nonce', 'login', postSiweNonce],
  ['POST', '/api/auth/verify', 'login', postSiweVerify],

  ['GET', '/v1/markets', 'anyone', getMarkets],

  ['GET', '/v1/portfolio/:address', 'wallet', getPortfolio],
  ['POST', '/v1/orders', 'wallet', postOrder],
  ['GET', '/v1/orders', 'wallet', getOrders],
  ['DELETE', '/v1/orders/:orderId', 'wallet', deleteOrder],
  ['DELETE', '/v1/orders', 'wallet', deleteOrders],
  ['GET', '/v1/trades', 'wallet', getTrades],
  ['POST', '/v1/account/terms', 'wallet', postTerms],
];

/** What every process answers, with or without the API. */
export const PROBES: readonly (readonly [method: Method, path: string, probe: Probe])[] = [
  ['GET', '/livez', getLivez],
  ['GET', '/readyz', getReadyz],
  ['GET', '/metrics', getMetrics],
];
