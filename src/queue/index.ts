/**
 * Wakes settlement with BullMQ jobs. No other folder uses BullMQ. A job only says that there are new events, which are
 * in the engine's stream, and carries no data but a place in a trace. If jobs are lost, one timer in Redis and another in
 * each process wake settlement, so a wiped queue or an unavailable queue Redis costs a delay of one or two seconds.
 *
 * Uses: redis, domain; types of process.
 * Begin at `pausing-worker.ts`.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, Queue } from 'bullmq';
import type { TracePlace } from '../process/spans.ts';
import { at, closeAll, FORGET, GrowingPause, inTime, type QueueOptions, SILENT } from './connection.ts';
import { PausingWorker } from './pausing-worker.ts';

export { openBeatTimer } from './beat-timer.ts';

const QUEUE = 'settlement';
const TIMER = 'timer';
const WAKE_UP = 'wake-up';

const COALESCE_MS = 50;
const WAKE_UP_MS = 1_000;
const SLOW_TIMER_MS = 2_000;
/** Time without its jobs after which the timer is considered deleted and is created again. */
const TIMER_LOST_MS = 3_000;

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

export function openWakeUps({ connection, tell = SILENT, placeHere }: WakeUpOptions): WakeUps {
  const queue = new Queue(QUEUE, at(connection));
  // A call that fails tells. The connection may break and return while nothing is called.
  queue.on('error', SILENT);
  const closing = new AbortController();
  let wanted = false;
  let place: TracePlace = {};
  let sending = false;

  // One job is being added at a time, and the next one at least 50 ms later, so no backlog builds up here while Redis
  // is unavailable. In Redis, deduplication does the same over all replicas: at most one job waits while another runs.
  const failures = new GrowingPause();
  const send = async (): Promise<void> => {
    sending = true;
    while (wanted && !closing.signal.aborted) {
      wanted = false;
      const pause = sleep(COALESCE_MS);
      try {
        await queue.add(WAKE_UP, place, {
          ...FORGET,
          deduplication: { id: WAKE_UP, keepLastIfActive: true },
        });
        failures.end();
        tell(null);
      } catch (error) {
        tell(error as Error);
        wanted = true;
        await sleep(failures.next(), undefined, { signal: closing.signal }).catch(() => undefined);
      }
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
      closing.abort();
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
  const { connection, run, tell = SILENT } = options;
  let running: Promise<void> | undefined;
  let lastRunMs = 0;
  let lastTimerMs = Date.now();

  /** A wake-up during a run may be about an event that the run did not see, so it starts another run afterwards. */
  const runAlone = async (place: TracePlace = {}): Promise<void> => {
    while (running !== undefined) await running;
    running = run(place)
      .catch(tell)
      .finally(() => {
        running = undefined;
        lastRunMs = Date.now();
      });
    await running;
  };

  const work = async (job: Job): Promise<void> => {
    if (job.name === TIMER) lastTimerMs = Date.now();
    await runAlone(job.data as TracePlace);
  };
  const worker = new PausingWorker(QUEUE, work, { connection, tell });

  const queue = new Queue(QUEUE, at(connection));
  queue.on('error', SILENT);
  let settingTimer = false;
  const setTimer = async (): Promise<void> => {
    if (settingTimer) return;
    settingTimer = true;
    lastTimerMs = Date.now();
    await queue
      .upsertJobScheduler(TIMER, { every: WAKE_UP_MS }, { name: TIMER, opts: FORGET })
      .then(() => tell(null), tell);
    settingTimer = false;
  };
  void setTimer();

  const slowTimer = setInterval(() => {
    if (!running && Date.now() - lastRunMs >= SLOW_TIMER_MS) void runAlone();
    if (Date.now() - lastTimerMs >= TIMER_LOST_MS) void setTimer();
  }, SLOW_TIMER_MS);

  return {
    close: async () => {
      clearInterval(slowTimer);
      await running;
      await closeAll(queue, worker);
    },
  };
}
