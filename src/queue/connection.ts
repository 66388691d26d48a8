/** Opens and closes BullMQ's queues. */

import type { ConnectionOptions, Queue, Worker } from 'bullmq';
import type { RedisOptions } from 'ioredis';
import { withTimeLimit } from '../domain/time-limit.ts';
import { TAG } from '../redis/tag.ts';

const ANSWER_WITHIN_MS = 2_000;

/** BullMQ keeps nothing of a finished job. */
export const FORGET = { removeOnComplete: true, removeOnFail: true } as const;

export interface QueueOptions {
  /** BullMQ makes its own connections; `maxRetriesPerRequest: null`, its blocking reads wait without end. */
  connection: RedisOptions;
  /** Called with each error of the queue. The queue goes on by itself. */
  onError?: (error: Error) => void;
}

/** ioredis and BullMQ describe the same options in types that differ in what `undefined` means. */
export const at = (connection: RedisOptions) => ({
  connection: connection as ConnectionOptions,
  prefix: TAG,
});

/** Rejects when the answer takes too long. BullMQ would wait without end for a Redis that is away. */
export const inTime = <Result>(answer: Promise<Result>): Promise<Result> =>
  withTimeLimit(ANSWER_WITHIN_MS, answer, () => {
    throw new Error('the Redis of the queue does not answer');
  });

/** Closes in order while Redis answers, otherwise by force, because BullMQ would go on looking for its Redis. */
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
