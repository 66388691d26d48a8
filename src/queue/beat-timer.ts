/**
 * Wakes the snapshot workers. A job scheduler wakes one of them at every even second. Each worker also has a timer
 * shortly after, in case the job does not come: the queue was wiped, its Redis was unavailable, or a killed worker
 * holds the lock of the job for another half minute. If both wake a worker, the second one finds the beat taken.
 */

import { Queue, Worker } from 'bullmq';
import { BEAT_MS } from '../domain/beat.ts';
import { at, closeAll, FORGET, type QueueOptions } from './connection.ts';

const QUEUE = 'snapshot';
const TICKER = 'ticker';
/** Delay of the timers after the job: well above the duration of a job, well below a delay that clients notice. */
const GRACE_MS = 100;
/** Minimum time between two attempts to create the scheduler. */
const TICKER_LOST_MS = 3 * BEAT_MS;

interface BeatOutcome {
  /** True if the beat was free, so that this process took it. */
  readonly taken: boolean;
  readonly untilNextMs: number;
}

interface BeatTimerOptions extends QueueOptions {
  /** Claims and builds the current beat, unless another process has it. */
  beat: () => Promise<BeatOutcome>;
}

export function openBeatTimer(options: BeatTimerOptions): { close(): Promise<void> } {
  const { connection, beat, onError = () => {} } = options;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<BeatOutcome> | undefined;
  let closed = false;

  const run = async (): Promise<BeatOutcome> => {
    const outcome = await beat().catch((error: Error) => {
      onError(error);
      return { taken: false, untilNextMs: BEAT_MS };
    });
    running = undefined;
    clearTimeout(timer);
    if (!closed) timer = setTimeout(onTimer, outcome.untilNextMs + GRACE_MS);
    return outcome;
  };
  const wake = (): Promise<BeatOutcome> => {
    running ??= run();
    return running;
  };

  // The job ends as soon as it has woken a worker, so it leaves no lock if that worker dies.
  const worker = new Worker(QUEUE, async () => void wake(), { ...at(connection), concurrency: 1 });
  worker.on('error', onError);

  const queue = new Queue(QUEUE, at(connection));
  queue.on('error', onError);
  let setAtMs = 0;
  const setTicker = async (): Promise<void> => {
    if (Date.now() - setAtMs < TICKER_LOST_MS) return;
    setAtMs = Date.now();
    const startDate = Math.ceil(setAtMs / BEAT_MS) * BEAT_MS;
    await queue
      .upsertJobScheduler(TICKER, { every: BEAT_MS, startDate }, { name: TICKER, opts: FORGET })
      .catch(onError);
  };

  /** Handles a beat without a job. Perhaps the scheduler is gone, so it is created again. */
  const onTimer = async (): Promise<void> => {
    if (running !== undefined) return;
    const { taken } = await wake();
    if (taken && !closed) void setTicker();
  };
  void setTicker();
  void wake();

  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
      await closeAll(queue, worker);
    },
  };
}
