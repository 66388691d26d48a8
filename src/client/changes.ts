/** Tells what becomes of a wallet's orders as it happens. */

import { pauseAfter } from './asking.ts';
import { fraction } from './connection.ts';
import { RedbookError } from './errors.ts';
import type { CallOptions } from './exchange.ts';
import { pause } from './limits.ts';
import { runningTime } from './own-clock.ts';
import type { OrderChange, OrderChanges } from './replies.ts';
import { askAs, type Session } from './session.ts';

export interface ChangesQuery {
  /** `cursor` of the reply before; without it, the reply has the present cursor and no changes. */
  readonly after?: string;
  /** 0 to 25: longest time for which the service waits for a change. 0 unless given. */
  readonly waitSeconds?: number;
  /** 1 to 100; 100 unless given. */
  readonly limit?: number;
}

/** Longest time of an answer besides the wait. */
const ANSWER_WITHIN_MS = 10_000;

/** Returns changes of the wallet's orders after a cursor, oldest first. */
export function changes(
  session: Session,
  query: ChangesQuery = {},
  options: CallOptions = {},
): Promise<OrderChanges> {
  return askChanges(session, query, options, true);
}

/** @param isRepeated false when the caller repeats a read that fails */
function askChanges(
  session: Session,
  { after, waitSeconds = 0, limit }: ChangesQuery,
  options: CallOptions,
  isRepeated: boolean,
): Promise<OrderChanges> {
  const query = { after, wait: waitSeconds, limit };
  const answerWithinMs = waitSeconds * 1_000 + ANSWER_WITHIN_MS;
  const call = { ...options, answerWithinMs, method: 'GET', path: '/v1/orders/changes', query } as const;
  return askAs(session, call, isRepeated);
}

export interface OrderWatchHandlers {
  /** Called with each change, in the order of the engine. A promise that it returns is awaited before the next call. */
  readonly onChange: (change: OrderChange) => void | Promise<void>;
  /** Called with the cursor after the changes that `onChange` has taken. Keep it to go on from there later. */
  readonly onCursor?: (cursor: string) => void;
  /** Called after each read that failed; the next one follows all the same. */
  readonly onFault?: (error: RedbookError) => void;
}

export interface OrderWatchOptions {
  /** Cursor from which the watch goes on; the present one unless given. */
  readonly after?: string;
  /** 1 to 25; 25 unless given. */
  readonly waitSeconds?: number;
}

export interface OrderWatch {
  /** Cursor after the changes so far; undefined before the first answer. */
  readonly cursor: string | undefined;
  /** Ends the watch: nothing is called any more. Resolves when a handler under way has returned. */
  close(): Promise<void>;
  /**
   * Settles when the watch has ended. Rejects with what a handler threw, or with the refusal of a cursor or a session
   * that repeating does not mend.
   */
  readonly ended: Promise<void>;
}

/** True for refusals that repeating does not mend. */
const isLasting = ({ status, outcome }: RedbookError): boolean =>
  (status === 0 && outcome === 'refused') ||
  (status >= 400 && status < 500 && status !== 408 && status !== 429);

/** A replica that stops answers at once. */
const EARLY_MS = 250;

/** Failures after which the pause grows no more. */
const MAX_PAUSED_FAILURES = 6;

/**
 * Tells each change of the wallet's orders once. It goes on over cut connections and restarts of the service. Resolves
 * when it has its first cursor: every later change is told.
 */
export async function watchOrders(
  session: Session,
  handlers: OrderWatchHandlers,
  options: OrderWatchOptions = {},
): Promise<OrderWatch> {
  const { after, waitSeconds = 25 } = options;
  const watch = new Watching(session, handlers, waitSeconds);
  await watch.begin(after);
  return watch;
}

class Watching implements OrderWatch {
  readonly #session: Session;
  readonly #handlers: OrderWatchHandlers;
  readonly #waitSeconds: number;
  readonly #end = new AbortController();
  cursor: string | undefined;
  ended: Promise<void> = Promise.resolve();

  constructor(session: Session, handlers: OrderWatchHandlers, waitSeconds: number) {
    this.#session = session;
    this.#handlers = handlers;
    this.#waitSeconds = waitSeconds;
  }

  async begin(after: string | undefined): Promise<void> {
    this.cursor = after ?? (await changes(this.#session)).cursor;
    this.ended = this.#run();
    // Whoever wants the failure awaits it.
    this.ended.catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#end.abort();
    await this.ended.catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    let failures = 0;
    const { connection } = this.#session;
    while (!signal.aborted) {
      const askedMs = runningTime(connection);
      // After a failure the service is asked without a wait: it refuses to let more than ten requests of a wallet wait.
      const answer = await this.#read(failures === 0 ? this.#waitSeconds : 0);
      if (signal.aborted) return;
      if (answer instanceof RedbookError) {
        if (isLasting(answer)) throw answer;
        failures = Math.min(failures + 1, MAX_PAUSED_FAILURES);
        this.#handlers.onFault?.(answer);
        const paused = pauseAfter(connection, answer, failures, signal);
        // A service that asks for a longer pause than a call makes is asked again later.
        await paused
          .catch(() => pause(connection, 60_000 * (1 + fraction(connection)), signal))
          .catch(() => undefined);
      } else {
        failures = 0;
        await this.#take(answer);
        const isEarly = answer.changes.length === 0 && runningTime(connection) - askedMs < EARLY_MS;
        if (isEarly) await pause(connection, EARLY_MS, signal).catch(() => undefined);
      }
    }
  }

  async #read(waitSeconds: number): Promise<OrderChanges | RedbookError> {
    const query = { after: this.cursor!, waitSeconds };
    const read = askChanges(this.#session, query, { signal: this.#end.signal }, false);
    return await read.catch((error: unknown) => {
      if (error instanceof RedbookError) return error;
      throw error;
    });
  }

  async #take({ changes: told, cursor }: OrderChanges): Promise<void> {
    for (const change of told) {
      if (this.#end.signal.aborted) return;
      await this.#handlers.onChange(change);
    }
    this.cursor = cursor;
    if (!this.#end.signal.aborted) this.#handlers.onCursor?.(cursor);
  }
}
