/**
 * Wake-ups for settlement. This room is the only home of BullMQ.
 * A job carries no data. It says "look now", and the events wait in the engine's stream. A ticker in Redis and a timer
 * in each process stand behind the wake-ups, so a wiped queue or an absent queue Redis costs a delay of a second or
 * two.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import { at, closeAll, FORGET, inTime, type QueueOptions } from './connection.ts';

export { openSnapshotTicker } from './snapshot-ticker.ts';

const QUEUE = 'settlement';
const TICKER = 'ticker';
const WAKE_UP = 'wake-up';

const COALESCE_MS = 50;
const TICK_MS = 1_000;
const SLOW_TICK_MS = 2_000;
/** Age at which a silent ticker is taken for deleted, and set up anew. */
const TICKER_LOST_MS = 3_000;

export interface WakeUps {
  /** Asks for settlement soon. Costs nothing, never throws, and makes at most one job in 50 ms. */
  wake(): void;
  /** Jobs by state, as BullMQ names them. Rejects when the queue's Redis is away. */
  counts(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

export function openWakeUps({ connection, onError = () => {} }: QueueOptions): WakeUps {
  const queue = new Queue(QUEUE, at(connection));
  queue.on('error', onError);
  let closed = false;
  let wanted = false;
  let sending = false;

  // One job is under way at a time, and the next one follows 50 ms later at the earliest, so nothing piles up here
  // however long Redis is away. In Redis the deduplication does the same over all replicas: one job waits at most,
  // while another is at work.
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
    counts: () => inTime(queue.getJobCounts()),
    close: async () => {
      closed = true;
      await closeAll(queue);
    },
  };
}

interface SettlementWorkerOptions extends QueueOptions {
  /** Settles all events. Not called again before it has finished. It handles its own errors. */
  run: () => Promise<void>;
}

/** Runs settlement whenever it is woken, and every second or two in any case. */
export function openSettlementWorker(options: SettlementWorkerOptions): { close(): Promise<void> } {
  const { connection, run, onError = () => {} } = options;
  let running: Promise<void> | undefined;
  let lastRunMs = 0;
  let lastTickMs = Date.now();

  /** A wake-up that comes during a run may be about an event that the run no longer saw, so it causes another run. */
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
}
