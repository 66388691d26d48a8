/**
 * Wake-ups for settlement. This room is the only home of BullMQ.
 *
 * Nothing that matters is ever in a job. A job says "look now", the events wait in the engine's stream, and
 * behind the wake-ups stand a ticker in Redis and a plain timer in each process: a wiped queue, or a queue
 * Redis that is away, costs a second or two of delay and nothing else.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import { at, closeAll, FORGET, type QueueOptions, withinLimit } from './connection.ts';

export type { QueueOptions } from './connection.ts';
export { openSnapshotTicker, type SnapshotTickerOptions } from './snapshot-ticker.ts';

const QUEUE = 'settlement';
const TICKER = 'ticker';
const WAKE_UP = 'wake-up';

const COALESCE_MS = 50;
const TICK_MS = 1_000;
const SLOW_TICK_MS = 2_000;
/** A ticker not heard of for this long was deleted, whole or in part, and is set up anew. */
const TICKER_LOST_MS = 3_000;

export interface WakeUps {
  /** Asks for settlement soon. Costs nothing, never throws; at most one job in 50 ms comes of it. */
  wake(): void;
  /** Jobs by state, as BullMQ names them. Rejects when the queue's Redis is away. */
  counts(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

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
