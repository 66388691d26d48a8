/** The routes of a signed-in wallet, but for placing orders. Reads are repeated after a lost answer. */

import type { CallOptions } from './market-data.ts';
import type {
  CancelAfter,
  ClosedOrder,
  ClosedOrders,
  FaucetCredit,
  Order,
  OrderPage,
  Portfolio,
  WalletTradePage,
} from './replies.ts';
import { askAs, type Session, sendAs } from './session.ts';

const orderPath = (orderId: string): string => `/v1/orders/${encodeURIComponent(orderId)}`;

/** Returns the wallet's balances and their value. */
export const getPortfolio = (session: Session, { signal }: CallOptions = {}): Promise<Portfolio> =>
  askAs(session, { method: 'GET', path: `/v1/portfolio/${session.wallet}`, signal }, true);

export interface OrdersQuery {
  /** `live`: orders that can be filled or cancelled. `closed`: all others. Both unless given. */
  readonly status?: 'live' | 'closed';
  /** 1 to 100; 100 unless given. */
  readonly limit?: number;
  /** `nextCursor` of the page before, with the same filters. */
  readonly cursor?: string;
}

/** Returns a page of the wallet's orders, newest first. */
export const getOrders = (
  session: Session,
  { status, limit, cursor }: OrdersQuery = {},
  { signal }: CallOptions = {},
): Promise<OrderPage> =>
  askAs(session, { method: 'GET', path: '/v1/orders', query: { status, limit, cursor }, signal }, true);

/** Returns an order of the wallet. @throws RedbookError `NOT_FOUND` */
export const getOrder = async (
  session: Session,
  orderId: string,
  { signal }: CallOptions = {},
): Promise<Order> =>
  (await askAs<{ order: Order }>(session, { method: 'GET', path: orderPath(orderId), signal }, true)).order;

export interface WalletTradesQuery {
  /** Symbol of a market, like `ETH/USDC`: only its trades. */
  readonly market?: string;
  /** Id of an order: only its trades. */
  readonly orderId?: string;
  /** 1 to 500; 100 unless given. */
  readonly limit?: number;
  /** `nextCursor` of the page before, with the same filters. */
  readonly cursor?: string;
}

/** Returns a page of the wallet's trades as maker or taker, newest first. */
export const getTrades = (
  session: Session,
  { market, orderId, limit, cursor }: WalletTradesQuery = {},
  { signal }: CallOptions = {},
): Promise<WalletTradePage> => {
  const query = { market, orderId, limit, cursor };
  return askAs(session, { method: 'GET', path: '/v1/trades', query, signal }, true);
};

/**
 * Cancels a live order.
 * @throws RedbookError `ORDER_NOT_FOUND` when it is closed already
 */
export const cancel = (
  session: Session,
  orderId: string,
  { signal }: CallOptions = {},
): Promise<ClosedOrder> => sendAs(session, { method: 'DELETE', path: orderPath(orderId), signal });

export interface CancelAllFilter {
  /** Symbol of a market: only its orders. */
  readonly market?: string;
}

/**
 * Cancels all live orders, those placed after the call excepted. It is sent once: after a lost answer a second request
 * could cancel orders that were placed in between.
 */
export const cancelAll = (
  session: Session,
  { market }: CancelAllFilter = {},
  { signal }: CallOptions = {},
): Promise<ClosedOrders> =>
  sendAs(session, { method: 'DELETE', path: '/v1/orders', query: { market }, signal });

export interface CancelAfterDelay {
  /** 5,000 to 86,400,000 milliseconds from now; 0 switches it off. */
  readonly timeoutMs: number;
}

/** Sets or renews the dead man's switch: all live orders are cancelled at that time. */
export const cancelAfter = (
  session: Session,
  { timeoutMs }: CancelAfterDelay,
  { signal }: CallOptions = {},
): Promise<CancelAfter> =>
  sendAs(session, { method: 'POST', path: '/v1/orders/cancel-after', body: { timeoutMs }, signal });

/** Accepts the terms version that `getStatus` names. */
export const acceptTerms = async (
  session: Session,
  version: string,
  { signal }: CallOptions = {},
): Promise<void> => {
  await askAs(session, { method: 'POST', path: '/v1/account/terms', body: { version }, signal }, true);
};

/** Credits demo funds, where the service offers them. Each call that arrives is a credit of its own. */
export const requestFunds = (
  session: Session,
  asset: string,
  { signal }: CallOptions = {},
): Promise<FaucetCredit> =>
  sendAs(session, { method: 'POST', path: '/v1/demo/faucet', body: { asset }, signal });
