/**
 * Wake-ups for settlement: the only home of BullMQ.
 *
 * Nothing that matters is ever in a job. A job says "look now", the events wait in the engine's stream, and
 * behind the wake-ups stand a ticker in Redis and a plain timer in each process: a wiped queue, or a queue
 * Redis that is away, costs a second or two of delay and nothing else.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, Queue, Worker } from 'bullmq';
import type { RedisOptions } from 'ioredis';

const QUEUE = 'settlement';
/** Hash-tagged, so that all keys of a queue lie in one slot of a cluster. */
const PREFIX = '{redbook}';
const TICKER = 'ticker';
const WAKE_UP = 'wake-up';

const COALESCE_MS = 50;
const TICK_MS = 1_000;
const SLOW_TICK_MS = 2_000;
/** A ticker not heard of for this long was deleted, whole or in part, and is set up anew. */
const TICKER_LOST_MS = 3_000;
const ANSWER_WITHIN_MS = 2_000;

/** What BullMQ keeps of a job that is over: nothing. */
const FORGET = { removeOnComplete: true, removeOnFail: true } as const;

export interface QueueOptions {
  /** BullMQ makes its own connections; `maxRetriesPerRequest: null`, its blocking reads wait without end. */
  connection: RedisOptions;
  /** Told of what goes wrong with the queue; nothing else comes of it. */
  onError?: (error: Error) => void;
}

export interface WakeUps {
  /** Asks for settlement soon. Costs nothing, never throws; at most one job in 50 ms comes of it. */
  wake(): void;
  /** Jobs by state, as BullMQ names them. Rejects when the queue's Redis is away. */
  counts(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

/** ioredis and BullMQ describe the same options in types that differ in what `undefined` means. */
const at = (connection: RedisOptions) => ({ connection: connection as ConnectionOptions, prefix: PREFIX });

export const openWakeUps = ({ connection, onError = () => {} }: QueueOptions): WakeUps => {
  const queue = new Queue(QUEUE, at(connection));
  queue.on('error', onError);
  let closed = false;
  let wanted = false;
  let sending = false;

  // One job is under way at a time and the next one not before 50 ms: however often settlement is wanted, and
  // however long Redis is away, nothing piles up here. In Redis the deduplication does the same over all
  // replicas: one job that waits, and one that is asked for while another is at work.
  const send = async (): Promise<void> => {
    sending = true;
    while (wanted && !closed) {
      wanted = false;
      const pause = sleep(COALESCE_MS);
      await queue
        .add(WAKE_UP, {}, { ...FORGET, deduplication: { id: WAKE_UP, keepLastIfActive: true } })
        .catch(onError);
      await pause;
    }
    sending = false;
  };

  return {
    wake: () => {
      wanted = true;
      if (!sending) void send();
    },
    counts: () => withinLimit(queue.getJobCounts()),
    close: async () => {
      closed = true;
      await closeAll(queue);
    },
  };
};

export interface SettlementWorkerOptions extends QueueOptions {
  /** Settles what there is; told to do so again only when it is done. Its errors are its own to handle. */
  run: () => Promise<void>;
}

/** Runs settlement whenever it is woken, and every second or two in any case. */
export const openSettlementWorker = (options: SettlementWorkerOptions): { close(): Promise<void> } => {
  const { connection, run, onError = () => {} } = options;
  let running: Promise<void> | undefined;
  let lastRunMs = 0;
  let lastTickMs = Date.now();

  /** A wake-up that comes during a run may be about what that run no longer saw: it waits, and runs again. */
  const runAlone = async (): Promise<void> => {
    while (running) await running;
    running = run()
      .catch(onError)
      .finally(() => {
        running = undefined;
        lastRunMs = Date.now();
      });
    await running;
  };

  const worker = new Worker(
    QUEUE,
    async (job) => {
      if (job.name === TICKER) lastTickMs = Date.now();
      await runAlone();
    },
    { ...at(connection), concurrency: 1 },
  );
  worker.on('error', onError);

  const queue = new Queue(QUEUE, at(connection));
  queue.on('error', onError);
  let settingTicker = false;
  const setTicker = async (): Promise<void> => {
    if (settingTicker) return;
    settingTicker = true;
    lastTickMs = Date.now();
    await queue.upsertJobScheduler(TICKER, { every: TICK_MS }, { name: TICKER, opts: FORGET }).catch(onError);
    settingTicker = false;
  };
  void setTicker();

  const slowTicker = setInterval(() => {
    if (!running && Date.now() - lastRunMs >= SLOW_TICK_MS) void runAlone();
    if (Date.now() - lastTickMs >= TICKER_LOST_MS) void setTicker();
  }, SLOW_TICK_MS);

  return {
    close: async () => {
      clearInterval(slowTicker);
      await running;
      await closeAll(queue, worker);
    },
  };
};

/** BullMQ waits without end for a Redis that is away; nobody here does. */
const withinLimit = async <Result>(answer: Promise<Result>): Promise<Result> => {
  const answered = new AbortController();
  const limit = sleep(ANSWER_WITHIN_MS, undefined, { signal: answered.signal }).then(() => {
    throw new Error('the Redis of the queue does not answer');
  });
  limit.catch(() => {});
  try {
    return await Promise.race([answer, limit]);
  } finally {
    answered.abort();
  }
};

/** In order while Redis answers, else by force: BullMQ would go on looking for it. */
const closeAll = async (queue: Queue, worker?: Worker): Promise<void> => {
  const answers = await withinLimit(queue.getJobCounts()).then(
    () => true,
    () => false,
  );
  await worker?.close(!answers);
  const closing = queue.close();
  if (answers) return closing;
  closing.catch(() => {});
  queue.disconnect().catch(() => {});
};
