/** Sends requests that may be repeated: reads, and the steps of signing in. */

import { type AbortSignalLike, type Connection, fraction } from './connection.ts';
import { RedbookError } from './errors.ts';
import { type Answer, bounded, type Call, errorOf, exchange, isSuccess } from './exchange.ts';
import { type Bucket, pause, withinLimits } from './limits.ts';

interface Asking {
  readonly bucket?: Bucket;
  /** True when the request may be sent again after a lost answer or a 503. After a 429 every request may. */
  readonly repeatable: boolean;
}

/** Maximum attempts after lost answers, and after answers that say when to retry. */
const MAX_LOST = 3;
const MAX_LIMITED = 5;
const FIRST_PAUSE_MS = 250;
/** Longest pause before a retry; a longer one is the caller's decision. */
const MAX_PAUSE_MS = 61_000;
const AWAY: ReadonlySet<number> = /* @__PURE__ */ new Set([502, 503, 504]);

/**
 * Sends a request until it is answered, with a limited number of retries and the pauses that the service asks for.
 * @param send sends the request once; it may use a new token each time
 * @throws RedbookError
 */
export const ask = (
  connection: Connection,
  call: Pick<Call, 'signal' | 'timeoutMs'>,
  asking: Asking,
  send: (signal: AbortSignalLike | undefined) => Promise<Answer>,
): Promise<Answer> =>
  bounded(connection, call, (signal) => askUntilAnswered(connection, signal, asking, () => send(signal)));

async function askUntilAnswered(
  connection: Connection,
  signal: AbortSignalLike | undefined,
  { bucket, repeatable }: Asking,
  send: () => Promise<Answer>,
): Promise<Answer> {
  for (let lost = 0, limited = 0; ; ) {
    const result = await (bucket === undefined
      ? send()
      : withinLimits(connection, bucket, signal, send)
    ).catch((error: unknown) => {
      if (error instanceof RedbookError) return error;
      throw error;
    });
    if (!(result instanceof RedbookError) && isSuccess(result)) return result;
    const error = result instanceof RedbookError ? result : errorOf(result);
    const isLimit = error.status === 429;
    const isTold = isLimit || (error.status === 503 && error.retryAfterMs !== null);
    if (isTold) limited += 1;
    else lost += 1;
    const isRoom = isTold ? limited < MAX_LIMITED : lost < MAX_LOST;
    if (!isRoom || !(isLimit || (repeatable && isLost(error)))) throw error;
    await pauseAfter(connection, error, lost + limited, signal);
  }
}

/**
 * Waits before a retry.
 * @param failures number of failures so far
 * @throws RedbookError `error`, when the service asks for a longer pause than this client makes
 */
export async function pauseAfter(
  connection: Connection,
  error: RedbookError,
  failures: number,
  signal: AbortSignalLike | undefined,
): Promise<void> {
  const backOffMs = FIRST_PAUSE_MS * 2 ** (failures - 1) * (0.5 + fraction(connection) / 2);
  const pauseMs = (error.retryAfterMs ?? 0) + backOffMs;
  if (pauseMs > MAX_PAUSE_MS) throw error;
  await pause(connection, pauseMs, signal);
}

const isLost = ({ code, status, outcome }: RedbookError): boolean =>
  outcome === 'unknown' && code !== 'ABORTED' && (status === 0 || AWAY.has(status));

/** Asks without a session. */
export const askPublicly = (connection: Connection, call: Call, asking: Asking): Promise<Answer> =>
  ask(connection, call, asking, (signal) => exchange(connection, { ...call, signal }));
