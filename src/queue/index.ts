/**
 * Wakes settlement with BullMQ jobs. No other folder uses BullMQ. A job only says that there are new events, which are
 * in the engine's stream, and carries no data but a place in a trace. If jobs are lost, a ticker in Redis and a timer in
 * each process wake settlement, so a wiped queue or an unavailable queue Redis costs a delay of one or two seconds.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import type { TracePlace } from '../process/spans.ts';
import { at, closeAll, FORGET, inTime, type QueueOptions } from './connection.ts';

export { openBeatTimer } from './beat-timer.ts';

const QUEUE = 'settlement';
const TICKER = 'ticker';
const WAKE_UP = 'wake-up';

const COALESCE_MS = 50;
const WAKE_UP_MS = 1_000;
const SLOW_TICK_MS = 2_000;
/** Time without ticks after which the ticker is considered deleted and is created again. */
const TICKER_LOST_MS = 3_000;

interface WakeUpOptions extends QueueOptions {
  /** Returns the present place in a trace; absent while nothing is traced. */
  placeHere?: (() => TracePlace) | undefined;
}

export interface WakeUps {
  /** Requests settlement soon. Costs nothing, never throws, and creates at most one job per 50 ms. */
  wake(): void;
  /** Returns the number of jobs by BullMQ's job states. Rejects if the queue's Redis is unavailable. */
  counts(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

export function openWakeUps({ connection, onError = () => {}, placeHere }: WakeUpOptions): WakeUps {
  const queue = new Queue(QUEUE, at(connection));
  queue.on('error', onError);
  let closed = false;
  let wanted = false;
  let place: TracePlace = {};
  let sending = false;

  // One job is being added at a time, and the next one at least 50 ms later, so no backlog builds up here while Redis
  // is unavailable. In Redis, deduplication does the same over all replicas: at most one job waits while another runs.
  const send = async (): Promise<void> => {
    sending = true;
    while (wanted && !closed) {
      wanted = false;
      const pause = sleep(COALESCE_MS);
      await queue
        .add(WAKE_UP, place, { ...FORGET, deduplication: { id: WAKE_UP, keepLastIfActive: true } })
        .catch(onError);
      await pause;
    }
    sending = false;
  };

  return {
    wake: () => {
      wanted = true;
      if (placeHere !== undefined) place = placeHere();
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
  /**
   * Settles all events and handles its own errors. It is never called while a previous call is running.
   * @param place in a trace, from the job that woke it; empty without one
   */
  run: (place: TracePlace) => Promise<void>;
}

/** Runs settlement at each wake-up, and at least every one or two seconds. */
export function openSettlementWorker(options: SettlementWorkerOptions): { close(): Promise<void> } {
  const { connection, run, onError = () => {} } = options;
  let running: Promise<void> | undefined;
  let lastRunMs = 0;
  let lastTickMs = Date.now();

  /** A wake-up during a run may be about an event that the run did not see, so it starts another run afterwards. */
  const runAlone = async (place: TracePlace = {}): Promise<void> => {
    while (running !== undefined) await running;
    running = run(place)
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
      await runAlone(job.data as TracePlace);
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
    await queue
      .upsertJobScheduler(TICKER, { every: WAKE_UP_MS }, { name: TICKER, opts: FORGET })
      .catch(onError);
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
