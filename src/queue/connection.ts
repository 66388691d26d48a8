/** Options and closing of BullMQ queues. */

import type { ConnectionOptions, Queue, Worker } from 'bullmq';
import type { RedisOptions } from 'ioredis';
import { withTimeLimit } from '../domain/time-limit.ts';
import { TAG } from '../redis/tag.ts';

const ANSWER_WITHIN_MS = 2_000;

/** Makes BullMQ delete every finished job. */
export const FORGET = { removeOnComplete: true, removeOnFail: true } as const;

export interface QueueOptions {
  /**
   * Options for BullMQ's own connections. `maxRetriesPerRequest: null` makes its blocking reads wait without a limit.
   */
  connection: RedisOptions;
  /** Called with each error of the queue, and with null after each success. The queue recovers by itself. */
  tell?: (trouble: Error | null) => void;
}

/** Tells nobody. */
export const SILENT = (): void => undefined;

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/** A pause that doubles with each failure until something succeeds. */
export class GrowingPause {
  #failures = 0;

  /** @returns milliseconds to wait after one more failure */
  next(): number {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS);
    this.#failures += 1;
    return pauseMs;
  }

  end(): void {
    this.#failures = 0;
  }
}

/** Casts the options: the types of ioredis and BullMQ differ in the meaning of `undefined`. */
export const at = (connection: RedisOptions) => ({
  connection: connection as ConnectionOptions,
  prefix: TAG,
});

/** Rejects after a timeout. BullMQ would wait without a limit for an unavailable Redis. */
export const inTime = <Result>(answer: Promise<Result>): Promise<Result> =>
  withTimeLimit(ANSWER_WITHIN_MS, answer, () => {
    throw new Error('the Redis of the queue does not answer');
  });

const answers = (queue: Queue): Promise<boolean> =>
  inTime(queue.getJobCounts()).then(
    () => true,
    () => false,
  );

/**
 * Closes gracefully while Redis answers, otherwise by force, because BullMQ would keep trying to reconnect. Redis may
 * also go away in the middle, and the end of a job would wait for it without a limit.
 */
export async function closeAll(queue: Queue, worker?: Worker): Promise<void> {
  const isGraceful = await answers(queue);
  if (isGraceful && (await closesWhileRedisAnswers(queue, worker))) return;
  // BullMQ's `disconnect` would first wait for a connection that was never made. A worker that began to close gracefully
  // cannot be closed by force, and its timers end with the process.
  await Promise.all([worker, queue].map((one) => one?.backend.close(true)));
  if (!isGraceful) await worker?.close(true);
}

/** Returns false when Redis went away before both were closed. */
async function closesWhileRedisAnswers(queue: Queue, worker: Worker | undefined): Promise<boolean> {
  const closing = closeInTurn(queue, worker);
  closing.catch(() => {});
  let isClosed = false;
  do isClosed = await withTimeLimit(ANSWER_WITHIN_MS, closing, () => false);
  while (!isClosed && (await answers(queue)));
  return isClosed;
}

async function closeInTurn(queue: Queue, worker: Worker | undefined): Promise<true> {
  await worker?.close();
  await queue.close();
  return true;
}
