/**
 * Wakes the snapshot workers. A job scheduler wakes one of them at every even second. Each worker also has a timer
 * shortly after, in case the job does not come. Perhaps the queue was wiped, its Redis was unavailable, or a killed
 * worker holds the lock of the job for another half minute. If both wake a worker, the second one finds the beat taken.
 */

import { Queue } from 'bullmq';
import { BEAT_MS } from '../domain/beat.ts';
import { at, closeAll, FORGET, type QueueOptions, SILENT } from './connection.ts';
import { PausingWorker } from './pausing-worker.ts';

const QUEUE = 'snapshot';
const TIMER = 'timer';
/** Delay of the timers after the job: well above the duration of a job, well below a delay that clients notice. */
const GRACE_MS = 100;
/** Minimum time between two attempts to create the scheduler. */
const TIMER_LOST_MS = 3 * BEAT_MS;
/**
 * BullMQ adds the offset to the even second before the call, also when the call waited for Redis. A first time given as
 * `startDate` may then have passed, and all later jobs would keep the wrong second. An offset of 0 means none.
 */
const EVEN_SECONDS = { every: BEAT_MS, offset: BEAT_MS } as const;

interface BeatOutcome {
  /** True if the beat was free, so that this process took it. */
  readonly taken: boolean;
  readonly untilNextMs: number;
}

interface BeatTimerOptions extends QueueOptions {
  /** Claims and builds the current beat, unless another process has it. */
  beat: () => Promise<BeatOutcome>;
  /** Called with the error of each failed beat, and with null after each other one. */
  tellBeat?: (trouble: Error | null) => void;
}

export function openBeatTimer(options: BeatTimerOptions): { close(): Promise<void> } {
  const { connection, beat, tell = SILENT, tellBeat = SILENT } = options;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<BeatOutcome> | undefined;
  let closed = false;

  const begin = async (): Promise<BeatOutcome> => {
    try {
      const outcome = await beat();
      tellBeat(null);
      return outcome;
    } catch (error) {
      tellBeat(error as Error);
      return { taken: false, untilNextMs: BEAT_MS };
    }
  };
  const run = async (): Promise<BeatOutcome> => {
    const outcome = await begin();
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
  const worker = new PausingWorker(QUEUE, async () => void wake(), { connection, tell });

  const queue = new Queue(QUEUE, at(connection));
  queue.on('error', SILENT); // a call that fails tells
  let setAtMs = 0;
  const setTimer = async (): Promise<void> => {
    if (Date.now() - setAtMs < TIMER_LOST_MS) return;
    setAtMs = Date.now();
    await queue
      .upsertJobScheduler(TIMER, EVEN_SECONDS, { name: TIMER, opts: FORGET })
      .then(() => tell(null), tell);
  };

  /** Handles a beat without a job. Perhaps the scheduler is gone, so it is created again. */
  const onTimer = async (): Promise<void> => {
    if (running !== undefined) return;
    const { taken } = await wake();
    if (taken && !closed) void setTimer();
  };
  void setTimer();
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
