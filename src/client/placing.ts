/** Places orders, and reports the outcome honestly when an answer was lost. */

import type { RejectReason } from '../domain/order.ts';
import { type AbortSignalLike, type Connection, randomId } from './connection.ts';
import { isSameDecimal, isSumWithin } from './decimals.ts';
import { RedbookError } from './errors.ts';
import {
  type Answer,
  aborted,
  bounded,
  type Call,
  type CallOptions,
  errorOf,
  isSuccess,
  replyOf,
  unreadable,
} from './exchange.ts';
import { findOrder } from './lookup.ts';
import type { NewOrder } from './new-order.ts';
import { guessedTime, runningTime, serviceTimeSeen, sleep } from './own-clock.ts';
import type { Amount, ClosedOrder, Order } from './replies.ts';
import { exchangeOnce, freshen, renewRefused, type Session } from './session.ts';

/** The service has the order. Its `status` shows if the order rests, was filled or has ended. */
export interface OrderPlaced {
  readonly outcome: 'placed';
  readonly order: Order;
  readonly clientOrderId: string;
  /** The order that it replaced, when the answer to the request shows it; a look-up does not. */
  readonly replaced?: ClosedOrder;
}

/** There is no such order in the book, and there will not be. */
export interface OrderRefused {
  readonly outcome: 'refused';
  readonly error: RedbookError;
  /** The order as recorded, when the service recorded its rejection; null otherwise. */
  readonly order: Order | null;
  readonly clientOrderId: string;
}

/** The id stands for another order: nothing was placed under it, and nothing will be. */
export interface OrderDuplicate {
  readonly outcome: 'duplicate';
  /** `DUPLICATE_ORDER_ID`. */
  readonly error: RedbookError;
  /** The order that the id was first given to, as it is now. */
  readonly order: Order;
  readonly clientOrderId: string;
}

/** The outcome is not known yet: the order may be in the book, and it may still be on its way. */
export interface OrderUnknown {
  readonly outcome: 'unknown';
  /** The last failure. */
  readonly error: RedbookError;
  readonly clientOrderId: string;
  /** Looks the order up once. */
  lookUp(options?: CallOptions): Promise<Placed>;
  /**
   * Sends the same order under the same id: at most one of them is ever placed. A market, IOC or FOK order would trade
   * at the prices of that moment.
   */
  sendAgain(options?: PlaceOptions): Promise<Placed>;
}

export type Placed = OrderPlaced | OrderRefused | OrderDuplicate | OrderUnknown;

export interface Lookup {
  readonly clientOrderId: string;
  /** Reason for the look-up. */
  readonly error: RedbookError;
}

export interface PlaceOptions extends CallOptions {
  /** Called when an answer was lost and the order is about to be looked up. */
  readonly onLookup?: (lookup: Lookup) => void;
}

/** Longest wait for the answer to an order, and for a renewal of the session before it. */
const ANSWER_WITHIN_MS = 3_000;
/** Times of the look-ups, counted from the moment the answer is lost. */
const LOOKUPS_AT_MS = [500, 1_000, 3_000, 12_000] as const;
/** Time from the sending of an order to its deadline. The last look-up comes after it. */
const DEADLINE_MS = 10_000;
/** Maximum difference between the clocks of the service's machines. */
const SKEW_MS = 1_000;
const SECOND_MS = 1_000;
/** An order is not sent again automatically later than this after its first sending. */
const RESEND_WITHIN_MS = 5_000;

/** An order in progress: its terms with its id, and its requests. */
interface Attempt {
  readonly session: Session;
  /** The order that it replaces, if any. */
  readonly target: ReplacedOrder | null;
  readonly body: NewOrder & { readonly clientOrderId: string };
  /** Tells if the order may still be sent again automatically. */
  isInTime: () => boolean;
  /** Unix milliseconds by the service's clock, after which no request sent so far can place the order; null: none. */
  deadline: number | null;
  /** Number of requests that were sent and not answered: any of them may still arrive. */
  unanswered: number;
}

/** Result of a request: an outcome, or the reason why there is none yet. */
type Result = Exclude<Placed, OrderUnknown> | RedbookError;

/**
 * Places an order and returns its outcome, in about twelve seconds if no answer comes, whatever pauses the service asks
 * for.
 *
 * The order's id is fixed before anything is sent. After a lost answer the order is looked up by that id, 0.5, 1, 3 and
 * 12 seconds later. An order that is not found may still be on its way. It is sent again automatically only if it can
 * rest (a GTC limit order), and only within five seconds of its first sending.
 *
 * `refused` is reported only after a 4xx answer, a recorded rejection, or a look-up after the deadline that does not find
 * the order; and only while no other request of this order can still be carried out.
 * `duplicate` is reported for a used id whose order has another market, side, type, price, size, time in force or
 * post-only flag, or which has spent more than this order's quote amount. An order of the same terms is `placed`.
 * When the caller's signal or `timeoutMs` ends the call after the order was sent, the outcome is `unknown`.
 * @throws RedbookError when nothing was sent: the call was ended before, or the session could not be renewed
 */
export function place(session: Session, order: NewOrder, options: PlaceOptions = {}): Promise<Placed> {
  return bounded(session.connection, options, async (signal) => {
    const [attempt] = await begin(session, [order], null, signal);
    return await sendAndFollow(attempt!, signal, options);
  });
}

/** A live order of the same market, by one of its ids, and what it has filled as far as the caller knows. */
export type ReplacedOrder = { readonly filledSize: Amount } & (
  | { readonly orderId: string; readonly replacesClientOrderId?: undefined }
  | { readonly orderId?: undefined; readonly replacesClientOrderId: string }
);

/**
 * Cancels a live order and places another one in its market, as one change. The outcome is that of the new order, as
 * `place` reports it: the old one stays unless it is `placed`. If the old one has filled another amount than the caller
 * says, the new one is refused with `CONFLICT`: read the order again, and decide anew.
 * @throws RedbookError as `place` does
 */
export function replace(
  session: Session,
  target: ReplacedOrder,
  order: NewOrder,
  options: PlaceOptions = {},
): Promise<Placed> {
  return bounded(session.connection, options, async (signal) => {
    const [attempt] = await begin(session, [order], target, signal);
    return await sendAndFollow(attempt!, signal, options);
  });
}

/**
 * Places 1 to 50 orders by one request, those of one market in the order given. Returns an outcome for each, as `place`
 * reports it. After a lost answer each order is followed by itself.
 * @throws RedbookError as `place` does
 */
export function placeMany(
  session: Session,
  orders: readonly NewOrder[],
  options: PlaceOptions = {},
): Promise<Placed[]> {
  return bounded(session.connection, options, async (signal) => {
    const attempts = await begin(session, orders, null, signal);
    return await inTimeFromNow(attempts, async () => {
      const results = await sendMany(attempts, signal);
      return await Promise.all(
        attempts.map((attempt, index) => follow(attempt, results[index]!, signal, options)),
      );
    });
  });
}

/** Fixes ids and deadlines before anything is sent. */
async function begin(
  session: Session,
  orders: readonly NewOrder[],
  target: ReplacedOrder | null,
  signal: AbortSignalLike | undefined,
): Promise<Attempt[]> {
  const { connection } = session;
  const bodies = orders.map((order) => ({
    ...order,
    clientOrderId: order.clientOrderId ?? randomId(connection),
  }));
  await freshen(session, { signal }).catch(throwUnsent);
  if (signal?.aborted) throw aborted(signal, 'refused');
  return bodies.map((body) => ({
    session,
    target,
    body,
    isInTime: () => false,
    deadline: deadlineOf(connection, body),
    unanswered: 0,
  }));
}

/** One result of the answer to an order batch. The status is that of HTTP. */
interface OrderBatchResult extends OrderReply {
  readonly status: string;
  readonly error?: string;
  readonly code?: string;
}

function orderBatchResult(attempt: Attempt, result: OrderBatchResult, answer: Answer): Result {
  attempt.unanswered += 1;
  const { status, error, code } = result;
  try {
    if (status === '200') return recordedResult(attempt, result, answer);
    return refusedResult(
      attempt,
      errorOf({ ...answer, status: Number(status), text: JSON.stringify({ error, code }) }),
    );
  } catch (failure) {
    if (failure instanceof RedbookError) return failure;
    throw failure;
  }
}

/** Sends an order batch, and once more the orders of it that were refused for a deadline that a wrong clock made. */
async function sendMany(
  attempts: readonly Attempt[],
  signal: AbortSignalLike | undefined,
): Promise<Result[]> {
  const results = await sendOrderBatch(attempts, signal);
  const renewed = attempts.filter((attempt, index) => renewsDeadline(attempt, results[index]!));
  const again = await sendOrderBatch(renewed, signal);
  for (const [index, attempt] of renewed.entries()) results[attempts.indexOf(attempt)] = again[index]!;
  return results;
}

/** Sends an order batch. A token that has ended is renewed by the orders one by one. */
async function sendOrderBatch(
  attempts: readonly Attempt[],
  signal: AbortSignalLike | undefined,
): Promise<Result[]> {
  const [first] = attempts;
  if (first === undefined) return [];
  const call = {
    ...sending(first, signal),
    path: '/v1/orders/batch',
    body: { orders: attempts.map(bodyOf) },
  };
  try {
    const answer = await exchangeOnce(first.session, call);
    if (answer.status !== 401) return orderBatchResults(attempts, answer);
    const results: Result[] = [];
    for (const attempt of attempts) results.push(await send(attempt, signal));
    return results;
  } catch (error) {
    if (!(error instanceof RedbookError) || error.code === 'INVALID_ARGUMENT') throw error;
    return attempts.map((attempt) => {
      if (error.outcome === 'unknown') {
        attempt.unanswered += 1;
        return error;
      }
      return { outcome: 'refused', error, order: null, clientOrderId: attempt.body.clientOrderId };
    });
  }
}

function orderBatchResults(attempts: readonly Attempt[], answer: Answer): Result[] {
  const { results } = replyOf<{ results?: readonly OrderBatchResult[] }>(answer);
  if (results?.length !== attempts.length) throw unreadable('the answer has other results', answer);
  return attempts.map((attempt, index) => orderBatchResult(attempt, results[index]!, answer));
}

const sendAndFollow = (
  attempt: Attempt,
  signal: AbortSignalLike | undefined,
  options: PlaceOptions,
): Promise<Placed> =>
  inTimeFromNow([attempt], async () => follow(attempt, await send(attempt, signal), signal, options));

/** Returns the deadline of an order that is sent now. */
function deadlineOf(connection: Connection, { expiresAfter }: NewOrder): number | null {
  return expiresAfter === undefined ? Math.floor(guessedTime(connection)) + DEADLINE_MS : expiresAfter;
}

/** Moves the deadline of an order that is sent once more. An earlier request may still arrive until its own deadline. */
function renewDeadline(attempt: Attempt): void {
  const { session, body, deadline } = attempt;
  const next = deadlineOf(session.connection, body);
  attempt.deadline = deadline === null || next === null ? next : Math.max(deadline, next);
}

/**
 * Moves the deadline of an order that was refused for a deadline of this client: the clock was wrong, or was set.
 * @returns true if the order is to be sent once more
 */
function renewsDeadline(attempt: Attempt, result: Result): boolean {
  const { session, body, deadline } = attempt;
  const seen = serviceTimeSeen(session.connection);
  if (refusalOf(result)?.code !== 'BAD_REQUEST' || body.expiresAfter !== undefined || !attempt.isInTime())
    return false;
  // The `Date` of the answer has whole seconds, rounded down.
  if (deadline === null || seen === undefined || seen + SECOND_MS + SKEW_MS <= deadline) return false;
  renewDeadline(attempt);
  return true;
}

const refusalOf = (result: Result): RedbookError | null => {
  if (result instanceof RedbookError) return result;
  return result.outcome === 'refused' ? result.error : null;
};

/** Throws when the session could not be renewed: the order was not sent, whatever the cause. */
function throwUnsent(cause: unknown): never {
  if (!(cause instanceof RedbookError)) throw cause;
  const { code, message, status, requestId, retryAfterMs } = cause;
  throw new RedbookError({ code, message, status, requestId, retryAfterMs, cause, outcome: 'refused' });
}

const canRest = ({ type, timeInForce = 'GTC' }: NewOrder): boolean =>
  type === 'limit' && timeInForce === 'GTC';

/**
 * Sends orders and follows them to their outcomes. They are in time until a timer has ended: unlike a clock, nobody can
 * set it. A timer that is late, as in a tab that stood still, is told by the running time.
 */
async function inTimeFromNow<Outcome>(
  attempts: readonly Attempt[],
  run: () => Promise<Outcome>,
): Promise<Outcome> {
  const [first] = attempts;
  if (first === undefined) return await run();
  const { connection } = first.session;
  const timer = new AbortController();
  let isOver = false;
  sleep(connection, RESEND_WITHIN_MS, timer.signal).then(
    () => {
      isOver = true;
    },
    () => undefined,
  );
  const startedAt = runningTime(connection);
  const isInTime = (): boolean => !isOver && runningTime(connection) - startedAt <= RESEND_WITHIN_MS;
  for (const attempt of attempts) attempt.isInTime = isInTime;
  try {
    return await run();
  } finally {
    timer.abort();
  }
}

/** Sends the order once, and once more after a 401 that a renewal fixes or a deadline that a wrong clock made. */
async function send(attempt: Attempt, signal: AbortSignalLike | undefined): Promise<Result> {
  const { session } = attempt;
  const { token } = session;
  let result = await sendOnce(attempt, signal);
  if (refusalOf(result)?.status === 401) {
    const isRenewed = await renewRefused(session, token, sending(attempt, signal)).catch(() => false);
    if (!isRenewed || !attempt.isInTime()) return result;
    result = await sendOnce(attempt, signal);
  }
  return renewsDeadline(attempt, result) ? await sendOnce(attempt, signal) : result;
}

/** The order as it is sent. An absent deadline is left out. */
const bodyOf = ({ body, deadline, target }: Attempt): object => ({
  ...body,
  ...target,
  expiresAfter: deadline ?? undefined,
});

const sending = (attempt: Attempt, signal: AbortSignalLike | undefined): Call => ({
  method: 'POST',
  path: attempt.target === null ? '/v1/orders' : '/v1/orders/replace',
  body: bodyOf(attempt),
  signal,
  answerWithinMs: ANSWER_WITHIN_MS,
});

async function sendOnce(attempt: Attempt, signal: AbortSignalLike | undefined): Promise<Result> {
  const { session } = attempt;
  attempt.unanswered += 1;
  try {
    return resultOf(attempt, await exchangeOnce(session, sending(attempt, signal)));
  } catch (error) {
    if (error instanceof RedbookError && error.code !== 'INVALID_ARGUMENT') return error;
    throw error;
  }
}

/** The part of a reply that tells of one order. */
interface OrderReply {
  readonly order?: Order;
  readonly replaced?: ClosedOrder;
}

/** @throws RedbookError for an answer that does not say what became of the order */
const resultOf = (attempt: Attempt, answer: Answer): Result =>
  isSuccess(answer)
    ? recordedResult(attempt, replyOf<OrderReply>(answer), answer)
    : refusedResult(attempt, errorOf(answer));

function recordedResult(attempt: Attempt, { order, replaced }: OrderReply, answer: Answer): Result {
  if (order?.clientOrderId !== attempt.body.clientOrderId)
    throw unreadable('the answer is about another order', answer);
  const result = outcomeOf(attempt, order, answer.requestId);
  return result.outcome === 'placed' && replaced !== undefined ? { ...result, replaced } : result;
}

function refusedResult(attempt: Attempt, error: RedbookError): Result {
  if (error.outcome === 'unknown') throw error;
  attempt.unanswered -= 1;
  const { clientOrderId } = attempt.body;
  return attempt.unanswered === 0 ? { outcome: 'refused', error, order: null, clientOrderId } : error;
}

/** True when a recorded order may be the one that was sent. */
function hasTerms(order: Order, sent: NewOrder): boolean {
  const { timeInForce = 'GTC', postOnly = false, price, size, quoteAmount } = sent;
  const isSame = (recorded: Amount | null, given: Amount | undefined): boolean =>
    recorded !== null && given !== undefined && isSameDecimal(recorded, String(given));
  return (
    (['market', 'side', 'type'] as const).every((name) => order[name] === sent[name]) &&
    order.timeInForce === timeInForce &&
    order.postOnly === postOnly &&
    (sent.type !== 'limit' || isSame(order.price, price)) &&
    (quoteAmount === undefined ? isSame(order.size, size) : mayHaveSpent(order, sent, String(quoteAmount)))
  );
}

/**
 * True when a recorded order may be that of a quote amount. Its size came from the book, so only its fills tell that it
 * had a smaller amount.
 */
const mayHaveSpent = ({ fills }: Order, { type, side, size }: NewOrder, quoteAmount: Amount): boolean =>
  type === 'market' &&
  side === 'buy' &&
  size === undefined &&
  isSumWithin(
    fills.map(({ notional }) => notional),
    quoteAmount,
  );

const REJECTIONS: Readonly<Record<RejectReason, string>> = {
  POST_ONLY_WOULD_CROSS: 'the order would have taken liquidity at once',
  FOK_NOT_FILLED: 'the order could not be filled as a whole',
  SETTLEMENT_FAILED: 'the order matched but could not be settled; nothing moved, and the market is halted',
};

/** Returns the outcome of placing that an order of the service shows. */
function outcomeOf({ body }: Attempt, order: Order, requestId: string | null): Exclude<Placed, OrderUnknown> {
  const { clientOrderId } = body;
  const refusal = (code: RedbookError['code'], message: string): RedbookError =>
    new RedbookError({ code, message, status: 200, requestId, outcome: 'refused' });
  if (!hasTerms(order, body)) {
    const error = refusal('DUPLICATE_ORDER_ID', 'the id stands for another order, so nothing was placed');
    return { outcome: 'duplicate', error, order, clientOrderId };
  }
  if (order.status !== 'rejected') return { outcome: 'placed', order, clientOrderId };
  const code = order.reason as RejectReason;
  const message = REJECTIONS[code] ?? 'the order is recorded as rejected';
  return { outcome: 'refused', error: refusal(code, message), order, clientOrderId };
}

/** Looks up an order whose answer was lost, until its outcome is known or the look-ups end. */
async function follow(
  attempt: Attempt,
  first: Result,
  signal: AbortSignalLike | undefined,
  { onLookup }: PlaceOptions,
): Promise<Placed> {
  if (!(first instanceof RedbookError)) return first;
  const { session, body } = attempt;
  const { connection } = session;
  const lostAt = runningTime(connection);
  const plan = isPaused(first) ? LOOKUPS_AT_MS.slice(0, 1) : LOOKUPS_AT_MS;
  let error = first;
  let notBefore = 0;
  for (const [index, atMs] of plan.entries()) {
    if (signal?.aborted) break;
    // A pause that the service asks for drops the look-ups within it, and delays no other: the last one is always made.
    const nextMs = plan[index + 1];
    if (nextMs !== undefined && notBefore >= lostAt + nextMs) continue;
    const lookup = { clientOrderId: body.clientOrderId, error };
    // An exception in the caller's function must not hide the outcome of the order.
    if (onLookup !== undefined) queueMicrotask(() => onLookup(lookup));
    const dueAt = nextMs === undefined ? lostAt + atMs : Math.max(lostAt + atMs, notBefore);
    const waitMs = dueAt - runningTime(connection);
    if (!(await slept(session, waitMs, signal))) return unknown(attempt, aborted(signal));
    const looked = await look(attempt, signal);
    if (looked instanceof RedbookError) {
      notBefore = runningTime(connection) + (looked.retryAfterMs ?? 0);
      // The service looks for the id before it says that trading is paused: the order was not there.
      if (!isPaused(error)) error = looked;
    } else if (looked !== null) return looked;
    else if (canRest(body) && attempt.isInTime() && !isPaused(error)) {
      const result = await send(attempt, signal);
      if (!(result instanceof RedbookError)) return result;
      error = result;
    }
  }
  return unknown(attempt, error);
}

/** True when trading is paused: the request placed nothing, and another one would not either. */
const isPaused = ({ code }: RedbookError): boolean => code === 'OPERATIONAL_PAUSED';

/** @returns false when the signal ended the wait */
const slept = ({ connection }: Session, ms: number, signal: AbortSignalLike | undefined): Promise<boolean> =>
  sleep(connection, Math.max(0, ms), signal).then(
    () => true,
    () => false,
  );

/**
 * Looks the order up. After the deadline, an order that is not found was not placed: that is so if the service's clock had
 * passed the deadline before the question was sent. An answer that shows it for the first time is followed by a second
 * question.
 * @returns null when the service does not know it yet, or the reason why it does not tell
 */
async function look(attempt: Attempt, signal: AbortSignalLike | undefined): Promise<Result | null> {
  const { session, body } = attempt;
  try {
    const wasPassed = isDeadlinePassed(attempt);
    let order = await findOrder(session, body.clientOrderId, signal);
    if (order === null && !wasPassed) {
      if (!isDeadlinePassed(attempt)) return null;
      order = await findOrder(session, body.clientOrderId, signal);
    }
    if (order !== null) return outcomeOf(attempt, order, null);
    const message = 'the order was not found after its deadline, so it was not placed';
    const error = new RedbookError({ code: 'DEADLINE_PASSED', message, outcome: 'refused' });
    return { outcome: 'refused', error, order: null, clientOrderId: body.clientOrderId };
  } catch (error) {
    if (error instanceof RedbookError) return error;
    throw error;
  }
}

/** True when an answer has shown that the deadline is over at all machines of the service. */
function isDeadlinePassed({ session, deadline }: Attempt): boolean {
  const seen = serviceTimeSeen(session.connection);
  return deadline !== null && seen !== undefined && seen > deadline + SKEW_MS;
}

const unknown = (attempt: Attempt, error: RedbookError): OrderUnknown => ({
  outcome: 'unknown',
  error,
  clientOrderId: attempt.body.clientOrderId,
  async lookUp(options = {}) {
    const looked = await bounded(attempt.session.connection, options, (signal) => look(attempt, signal));
    if (looked === null) return unknown(attempt, error);
    return looked instanceof RedbookError ? unknown(attempt, looked) : looked;
  },
  sendAgain: (options = {}) =>
    bounded(attempt.session.connection, options, (signal) => {
      renewDeadline(attempt);
      return sendAndFollow(attempt, signal, options);
    }),
});
