/** Looks an order up by its client order id, in ways that can never place one. */

import { ask } from './asking.ts';
import type { AbortSignalLike } from './connection.ts';
import {
  type Answer,
  type Call,
  type CallOptions,
  errorOf,
  inTime,
  isSuccess,
  replyOf,
  unreadable,
} from './exchange.ts';
import type { Order } from './replies.ts';
import { exchangeAs, type Session } from './session.ts';

/**
 * True when a URL can carry the id. URLs drop `.` and `..` as path segments, and cannot encode half of a surrogate
 * pair.
 */
const fitsPath = (id: string): boolean =>
  id !== '' && id !== '.' && id !== '..' && !/\p{Surrogate}/u.test(id);

/**
 * Returns the look-up request. `POST /v1/orders` with the id alone returns the order of a known id before any other
 * check. With an unknown id the request is no valid order, because it has no market.
 */
export const lookupCall = (clientOrderId: string): Call =>
  fitsPath(clientOrderId)
    ? { method: 'GET', path: `/v1/orders/by-client-id/${encodeURIComponent(clientOrderId)}` }
    : { method: 'POST', path: '/v1/orders', body: { clientOrderId } };

/** Codes that either call answers for an id that the service does not know. */
const NOT_KNOWN: ReadonlySet<string> = /* @__PURE__ */ new Set(['NOT_FOUND', 'VALIDATION_ERROR']);

/** @throws RedbookError for an answer that is not this order */
function orderOf(answer: Answer, clientOrderId: string): Order {
  const { order } = replyOf<{ order?: Order }>(answer);
  if (order?.clientOrderId !== clientOrderId) throw unreadable('the answer is about another order', answer);
  return order;
}

/** Longest time of a look-up with all that it needs; another one follows. */
const LOOKUP_WITHIN_MS = 3_000;

/** Looks once; null when the service does not know the id. @throws RedbookError when the service does not tell */
export async function findOrder(
  session: Session,
  clientOrderId: string,
  signal: AbortSignalLike | undefined,
): Promise<Order | null> {
  const call = { ...lookupCall(clientOrderId), signal, answerWithinMs: LOOKUP_WITHIN_MS };
  const answer = await inTime(session.connection, 'a look-up', call, () => exchangeAs(session, call));
  if (!isSuccess(answer) && NOT_KNOWN.has(errorOf(answer).code)) return null;
  return orderOf(answer, clientOrderId);
}

/** Returns the order that was placed under a client order id. @throws RedbookError `NOT_FOUND` */
export async function getOrderByClientId(
  session: Session,
  clientOrderId: string,
  options: CallOptions = {},
): Promise<Order> {
  const call = lookupCall(clientOrderId);
  const answer = await ask(session.connection, options, { repeatable: true }, (signal) =>
    exchangeAs(session, { ...call, signal }),
  );
  return orderOf(answer, clientOrderId);
}
