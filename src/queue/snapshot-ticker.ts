/**
 * Ticks for the snapshot workers. A job scheduler wakes one of them at every even second. Each worker also has a timer
 * shortly after, in case the job does not come: the queue was wiped, its Redis was unavailable, or a killed worker
 * holds the lock of the job for another half minute. If both wake a worker, the second one finds the tick taken.
 */

import { Queue, Worker } from 'bullmq';
import { TICK_MS } from '../domain/tick.ts';
import { at, closeAll, FORGET, type QueueOptions } from './connection.ts';

const QUEUE = 'snapshot';
const TICKER = 'ticker';
/** Delay of the timers after the job: well above the duration of a job, well below a delay that clients notice. */
const GRACE_MS = 100;
/** Minimum time between two attempts to create the scheduler. */
const TICKER_LOST_MS = 3 * TICK_MS;

interface Ticked {
  /** True if the tick was free, so that this process took it. */
  readonly taken: boolean;
  readonly untilNextMs: number;
}

interface SnapshotTickerOptions extends QueueOptions {
  /** Claims and builds the current tick, unless another process has it. */
  tick: () => Promise<Ticked>;
}

export function openSnapshotTicker(options: SnapshotTickerOptions): { close(): Promise<void> } {
  const { connection, tick, onError = () => {} } = options;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<Ticked> | undefined;
  let closed = false;

  const run = async (): Promise<Ticked> => {
    const ticked = await tick().catch((error: Error) => {
      onError(error);
      return { taken: false, untilNextMs: TICK_MS };
    });
    running = undefined;
    clearTimeout(timer);
    if (!closed) timer = setTimeout(onTimer, ticked.untilNextMs + GRACE_MS);
    return ticked;
  };
  const wake = (): Promise<Ticked> => {
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
    const startDate = Math.ceil(setAtMs / TICK_MS) * TICK_MS;
    await queue
      .upsertJobScheduler(TICKER, { every: TICK_MS, startDate }, { name: TICKER, opts: FORGET })
      .catch(onError);
  };

  /** Handles a tick without a job. Perhaps the scheduler is gone, so it is created again. */
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
