/** The routes of a signed-in wallet, except placing orders. Reads are repeated after a lost answer. */

import type { AbortSignalLike } from './connection.ts';
import { type ErrorCode, RedbookError } from './errors.ts';
import { bounded, type CallOptions, pathPart } from './exchange.ts';
import { pause } from './limits.ts';
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

/**
 * Returns the path of an order. An empty id would name the list of all orders, and cancelling that cancels all of them.
 * So would ids of dots, which URLs drop.
 */
function orderPath(orderId: string, code: ErrorCode): string {
  if (!/^\.{0,2}$/.test(orderId)) return `/v1/orders/${pathPart(orderId)}`;
  throw new RedbookError({ code, message: ERROR_OF_ID, outcome: 'refused' });
}
const ERROR_OF_ID = 'there is no order with such an id';

/** Returns the wallet's balances and their value. */
export function getPortfolio(session: Session, options: CallOptions = {}): Promise<Portfolio> {
  return askAs(session, { ...options, method: 'GET', path: `/v1/portfolio/${session.wallet}` }, true);
}

/** For programs that read a list forward. */
interface ReadForward {
  /** Earliest `createdAt`: ISO 8601 or Unix milliseconds, inclusive. */
  readonly since?: string | number;
  /** Latest `createdAt`: ISO 8601 or Unix milliseconds, exclusive. */
  readonly until?: string | number;
  /** `desc`: the newest first; `asc`: the oldest first. `desc` unless given. */
  readonly order?: 'desc' | 'asc';
}

export interface OrdersQuery extends ReadForward {
  /** Symbol; orders of every market unless given. */
  readonly market?: string;
  /** `live`: orders that can be filled or cancelled. `closed`: all others. Both unless given. */
  readonly status?: 'live' | 'closed';
  /** 1 to 100; 100 unless given. */
  readonly limit?: number;
  /** `nextCursor` of the previous page, with the same filters and the same `order`. */
  readonly cursor?: string;
}

/** Returns a page of the wallet's orders. */
export function getOrders(
  session: Session,
  query: OrdersQuery = {},
  options: CallOptions = {},
): Promise<OrderPage> {
  const { market, status, limit, cursor, since, until, order } = query;
  const sent = { market, status, limit, cursor, since, until, order };
  return askAs(session, { ...options, method: 'GET', path: '/v1/orders', query: sent }, true);
}

/** Returns an order of the wallet. @throws RedbookError `NOT_FOUND` */
export async function getOrder(session: Session, orderId: string, options: CallOptions = {}): Promise<Order> {
  const call = { ...options, method: 'GET', path: orderPath(orderId, 'NOT_FOUND') } as const;
  return (await askAs<{ order: Order }>(session, call, true)).order;
}

export interface WalletTradesQuery extends ReadForward {
  /** Symbol of a market, like `ETH/USDC`: only its trades. */
  readonly market?: string;
  /** Id of an order: only its trades. */
  readonly orderId?: string;
  /** 1 to 500; 100 unless given. */
  readonly limit?: number;
  /** `nextCursor` of the previous page, with the same filters and the same `order`. */
  readonly cursor?: string;
}

/** Returns a page of the wallet's trades as maker or taker. */
export function getTrades(
  session: Session,
  query: WalletTradesQuery = {},
  options: CallOptions = {},
): Promise<WalletTradePage> {
  const { market, orderId, limit, cursor, since, until, order } = query;
  const sent = { market, orderId, limit, cursor, since, until, order };
  return askAs(session, { ...options, method: 'GET', path: '/v1/trades', query: sent }, true);
}

/** Maximum requests to cancel one order before a lost answer is reported. */
const CANCEL_ATTEMPTS = 3;
const CANCEL_PAUSE_MS = 250;

/**
 * Cancels a live order. After a lost answer the request is sent again. If the order is closed by then, the order tells
 * if it was cancelled.
 * @throws RedbookError `ORDER_NOT_FOUND` when the order was closed before
 */
export function cancel(session: Session, orderId: string, options: CallOptions = {}): Promise<ClosedOrder> {
  return bounded(session.connection, options, (signal) => cancelOrder(session, orderId, signal));
}

async function cancelOrder(
  session: Session,
  orderId: string,
  signal: AbortSignalLike | undefined,
): Promise<ClosedOrder> {
  const call = { method: 'DELETE', path: orderPath(orderId, 'ORDER_NOT_FOUND'), signal } as const;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendAs<ClosedOrder>(session, call);
    } catch (error) {
      if (!(error instanceof RedbookError)) throw error;
      if (error.code === 'ORDER_NOT_FOUND' && attempt > 1)
        return await cancelledOrder(session, orderId, error, signal);
      if (error.outcome === 'refused' || error.code === 'ABORTED' || attempt === CANCEL_ATTEMPTS) throw error;
    }
    await pause(session.connection, CANCEL_PAUSE_MS, signal);
  }
}

/**
 * Returns the result of an earlier request whose answer was lost.
 * @throws RedbookError `refusal` when that request cancelled nothing
 */
async function cancelledOrder(
  session: Session,
  orderId: string,
  refusal: RedbookError,
  signal: AbortSignalLike | undefined,
): Promise<ClosedOrder> {
  const { id, clientOrderId, market, status, reason } = await getOrder(
    session,
    orderId,
    signal === undefined ? {} : { signal },
  );
  if (status !== 'cancelled' && status !== 'partially_filled_cancelled') throw refusal;
  return { id, clientOrderId, market, status, reason };
}

export interface CancelAllFilter {
  /** Symbol of a market: only its orders. */
  readonly market?: string;
}

/**
 * Cancels all live orders except those placed after the call. It is sent once: after a lost answer, a second request
 * could cancel orders that were placed in between.
 */
export function cancelAll(
  session: Session,
  filter: CancelAllFilter = {},
  options: CallOptions = {},
): Promise<ClosedOrders> {
  return sendAs(session, {
    ...options,
    method: 'DELETE',
    path: '/v1/orders',
    query: { market: filter.market },
  });
}

/** 1 to 100 orders in both lists together. */
export interface NamedOrders {
  readonly orderIds?: readonly string[];
  readonly clientOrderIds?: readonly string[];
}

/**
 * Cancels named orders. Returns for each, in the order given, what was cancelled, or null when it was no live order of
 * the wallet. Sent once, like `cancelAll`.
 */
export async function cancelMany(
  session: Session,
  named: NamedOrders,
  options: CallOptions = {},
): Promise<(ClosedOrder | null)[]> {
  const call = { ...options, method: 'POST', path: '/v1/orders/cancel-batch', body: named } as const;
  const { results } = await sendAs<{ readonly results: readonly { readonly order?: ClosedOrder }[] }>(
    session,
    call,
  );
  return results.map(({ order = null }) => order);
}

export interface CancelAfterDelay {
  /** 5,000 to 86,400,000 milliseconds from now; 0 switches it off. */
  readonly timeoutMs: number;
}

/** Longest wait for one answer: the switch may be a matter of seconds. */
const SWITCH_ANSWER_WITHIN_MS = 3_000;

/**
 * Sets or renews the dead man's switch: all live orders are cancelled at that time. After a lost answer the request is
 * sent again, which counts the time anew.
 */
export function cancelAfter(
  session: Session,
  delay: CancelAfterDelay,
  options: CallOptions = {},
): Promise<CancelAfter> {
  const call = {
    method: 'POST',
    path: '/v1/orders/cancel-after',
    body: { timeoutMs: delay.timeoutMs },
  } as const;
  return askAs(session, { ...options, ...call, answerWithinMs: SWITCH_ANSWER_WITHIN_MS }, true);
}

/** Accepts the terms version that `getStatus` names. */
export async function acceptTerms(
  session: Session,
  version: string,
  options: CallOptions = {},
): Promise<void> {
  await askAs(session, { ...options, method: 'POST', path: '/v1/account/terms', body: { version } }, true);
}

/** Credits demo funds, where the service offers them. Each call that arrives is a separate credit. */
export function requestFunds(
  session: Session,
  asset: string,
  options: CallOptions = {},
): Promise<FaucetCredit> {
  return sendAs(session, { ...options, method: 'POST', path: '/v1/demo/faucet', body: { asset } });
}
