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
  /** Called with each error of the queue. The queue recovers by itself. */
  onError?: (error: Error) => void;
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

/** Closes gracefully while Redis answers, otherwise by force, because BullMQ would keep trying to reconnect. */
export async function closeAll(queue: Queue, worker?: Worker): Promise<void> {
  const answers = await inTime(queue.getJobCounts()).then(
    () => true,
    () => false,
  );
  await worker?.close(!answers);
  const closing = queue.close();
  if (answers) return closing;
  closing.catch(() => {});
  queue.disconnect().catch(() => {});
}
