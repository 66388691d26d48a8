/** Sends one request and reads its answer. */

import { type AbortSignalLike, type Connection, logEntry, randomId } from './connection.ts';
import { invalid, RedbookError } from './errors.ts';
import { readExactJson } from './exact-json.ts';
import { momentOf, noteDate, runningTime, sleep } from './own-clock.ts';

export type QueryValues = Readonly<Record<string, string | number | undefined>>;

export interface CallOptions {
  /** Aborts the call, which then throws `ABORTED`. */
  readonly signal?: AbortSignalLike;
  /**
   * Longest time of the whole call in milliseconds, with its repeats and pauses; the call then throws `TIMEOUT`. A
   * single request waits for at most ten seconds.
   */
  readonly timeoutMs?: number;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Encoded already. */
  readonly path: string;
  readonly query?: QueryValues;
  /** Sent as JSON. */
  readonly body?: object;
  readonly token?: string;
  readonly signal?: AbortSignalLike | undefined;
  /** Longest time of the whole call, in milliseconds. */
  readonly timeoutMs?: number;
  /** Longest wait for the answer to one request, in milliseconds. */
  readonly answerWithinMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly requestId: string | null;
  readonly header: (name: string) => string | null;
}

const ANSWER_WITHIN_MS = 10_000;
/** Number of request ids that are kept, to distinguish an answer that comes twice from the awaited one. */
const KEPT_REQUEST_IDS = 1_000;

const sentRequests = /* @__PURE__ */ new WeakMap<Connection, Set<string>>();

/** Returns the ids of the connection's latest requests. */
function requestsOf(connection: Connection): Set<string> {
  const sent = sentRequests.get(connection) ?? new Set();
  sentRequests.set(connection, sent);
  if (sent.size > KEPT_REQUEST_IDS) sent.delete(sent.values().next().value!);
  return sent;
}

/**
 * Sends a request once, reads its whole answer, with any status, and logs both.
 * @throws RedbookError `NETWORK_ERROR`, `TIMEOUT`, `ABORTED` or `UNREADABLE_ANSWER`, each with an unknown outcome
 */
export async function exchange(connection: Connection, call: Call): Promise<Answer> {
  const { log } = connection;
  const { wallMs: at, runningMs: startedMs } = momentOf(connection);
  const told = (status: number, requestId: string | null, code: string | null): void => {
    const { method, path, query = {} } = call;
    const what = { type: 'request', at, method, path: `${path}${queryText(query)}` } as const;
    logEntry(connection, { ...what, tookMs: runningTime(connection) - startedMs, status, requestId, code });
  };
  try {
    const answer = await exchangeUnlogged(connection, call);
    if (log) told(answer.status, answer.requestId, isSuccess(answer) ? null : errorOf(answer).code);
    return answer;
  } catch (error) {
    if (log && error instanceof RedbookError) told(error.status, error.requestId, error.code);
    throw error;
  }
}

async function exchangeUnlogged(connection: Connection, call: Call): Promise<Answer> {
  const { method, path, query = {}, body, token } = call;
  // Other headers would make a browser send a preflight request first; routes with a session need one anyway.
  const requestId = token === undefined ? undefined : randomId(connection);
  const sent = requestsOf(connection);
  if (requestId !== undefined) sent.add(requestId);
  const headers: Record<string, string> = {};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (token !== undefined) headers.Authorization = `Bearer ${token}`;
  if (requestId !== undefined) headers['X-Request-Id'] = requestId;
  const init = {
    method,
    headers,
    ...(body !== undefined && { body: jsonOf(body) }),
    // A redirect could send an order to a second address.
    redirect: method === 'GET' ? 'follow' : 'error',
  } as const;
  const url = `${connection.baseUrl}${path}${queryText(query)}`;
  return await inTime(connection, `${method} ${path}`, call, async (signal) => {
    const response = await connection.fetch(url, { ...init, signal });
    noteDate(connection, response.headers.get('Date'));
    const text = await response.text();
    const answeredId = response.headers.get('X-Request-Id');
    // Proxies may write ids of their own. The id of another request of ours means that this is the answer to that
    // request.
    if (answeredId !== null && answeredId !== requestId && sent.has(answeredId))
      throw unreadable('the answer belongs to another request', { status: response.status });
    const header = (name: string): string | null => response.headers.get(name);
    return { status: response.status, text, requestId: answeredId ?? requestId ?? null, header };
  });
}

/** @throws RedbookError `INVALID_ARGUMENT` */
function jsonOf(body: object): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    throw invalid('the request cannot be written as JSON', cause);
  }
}

/**
 * Returns a text as a part of a path.
 * @throws RedbookError `INVALID_ARGUMENT` for half of a surrogate pair
 */
export function pathPart(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch (cause) {
    throw invalid('no address can carry such a text', cause);
  }
}

function queryText(values: QueryValues): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value));
  const text = String(query);
  return text === '' ? '' : `?${text}`;
}

/**
 * Runs an operation that can be aborted. It ends in time even if `fetch` ignores its signal.
 * @param named the operation, in errors
 */
export async function inTime<Result>(
  connection: Connection,
  named: string,
  { signal, answerWithinMs = ANSWER_WITHIN_MS }: Pick<Call, 'signal' | 'answerWithinMs'>,
  run: (signal: AbortSignalLike) => Promise<Result>,
): Promise<Result> {
  const request = new AbortController();
  const timer = new AbortController();
  let fail: (error: RedbookError) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    fail = (error) => {
      reject(error);
      request.abort(error);
    };
  });
  const onAbort = (): void => fail(aborted(signal));
  if (signal?.aborted) throw aborted(signal, 'refused');
  signal?.addEventListener('abort', onAbort);
  sleep(connection, answerWithinMs, timer.signal).then(
    () => fail(failure('TIMEOUT', `${named} was not answered within ${answerWithinMs} ms`)),
    () => undefined,
  );
  try {
    return await Promise.race([run(request.signal), failed]);
  } catch (cause) {
    if (cause instanceof RedbookError) throw cause;
    throw failure('NETWORK_ERROR', `${named} was not answered: the connection failed`, cause);
  } finally {
    timer.abort();
    signal?.removeEventListener('abort', onAbort);
  }
}

const failure = (code: 'NETWORK_ERROR' | 'TIMEOUT', message: string, cause?: unknown): RedbookError =>
  new RedbookError({ code, message, cause, outcome: 'unknown' });

/** Reason for which a signal of `bounded` is aborted. */
class OutOfTime {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }
}

/** Runs a call, and aborts its signal when the caller's signal is aborted or the caller's time is over. */
export async function bounded<Result>(
  connection: Connection,
  { signal, timeoutMs }: Pick<Call, 'signal' | 'timeoutMs'>,
  run: (signal: AbortSignalLike | undefined) => Promise<Result>,
): Promise<Result> {
  if (timeoutMs === undefined) return await run(signal);
  const call = new AbortController();
  const timer = new AbortController();
  const onAbort = (): void => call.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort);
  sleep(connection, timeoutMs, timer.signal).then(
    () => call.abort(new OutOfTime(timeoutMs)),
    () => undefined,
  );
  try {
    return await run(call.signal);
  } finally {
    timer.abort();
    signal?.removeEventListener('abort', onAbort);
  }
}

/**
 * Returns the error of a call whose signal was aborted.
 * @param outcome `refused` when nothing was sent
 */
export function aborted(
  signal: AbortSignalLike | undefined,
  outcome: RedbookError['outcome'] = 'unknown',
): RedbookError {
  const cause: unknown = signal?.reason;
  return cause instanceof OutOfTime
    ? new RedbookError({ code: 'TIMEOUT', message: `the call took longer than ${cause.ms} ms`, outcome })
    : new RedbookError({ code: 'ABORTED', message: 'the caller aborted the request', outcome, cause });
}

/**
 * Waits for the promise, or until the signal is aborted. For operations that cannot be aborted, like a wallet's prompt.
 * @throws RedbookError `ABORTED`
 */
export async function untilAborted<Result>(
  promise: Promise<Result>,
  signal: AbortSignalLike | undefined,
): Promise<Result> {
  if (signal === undefined) return promise;
  let onAbort = (): void => undefined;
  const ended = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(aborted(signal));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([promise, ended]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export const unreadable = (
  message: string,
  answer: { readonly status: number; readonly requestId?: string | null },
): RedbookError =>
  new RedbookError({
    code: 'UNREADABLE_ANSWER',
    message,
    outcome: 'unknown',
    status: answer.status,
    requestId: answer.requestId ?? null,
  });

export const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300;

/**
 * Returns the value of a successful answer.
 * @throws RedbookError for any other answer
 */
export function replyOf<Reply extends object>(answer: Answer): Reply {
  if (!isSuccess(answer)) throw errorOf(answer);
  let value: unknown;
  try {
    value = readExactJson(answer.text);
  } catch {
    // The error is thrown below.
  }
  if (typeof value === 'object' && value !== null) return value as Reply;
  throw unreadable('the answer is not JSON, or only a part of it', answer);
}

/** Returns the error that an answer reports. Proxies in front of the service have error texts of their own. */
export function errorOf(answer: Answer): RedbookError {
  const { status, requestId } = answer;
  const { code, error, message } = errorBody(answer.text);
  const isOfService = typeof code === 'string';
  // A proxy may have forwarded the request before it answers by itself, except when it applies a limit of its own.
  const isRefused = status >= 400 && status < 500 && (isOfService || status === 429);
  return new RedbookError({
    code: isOfService ? code : status === 429 ? 'RATE_LIMITED' : 'UNREADABLE_ANSWER',
    message: [message, error, `the answer has status ${status}`].find((text) => typeof text === 'string')!,
    status,
    requestId,
    retryAfterMs: retryAfterMs(answer),
    outcome: isRefused ? 'refused' : 'unknown',
  });
}

interface ErrorBody {
  readonly code?: unknown;
  readonly error?: unknown;
  readonly message?: unknown;
}

function errorBody(text: string): ErrorBody {
  try {
    return Object(JSON.parse(text)) as ErrorBody;
  } catch {
    return {};
  }
}

function retryAfterMs({ header }: Answer): number | null {
  const text = header('Retry-After');
  if (text === null) return null;
  const untilMs = Date.parse(text) - Date.parse(header('Date') ?? '');
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : Math.max(0, untilMs);
  return Number.isSafeInteger(waitMs) ? waitMs : null;
}
