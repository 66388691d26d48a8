/** A virtual clock. Its time advances only when all other work is done. */

import type { Clock } from '../../src/client/index.ts';

interface Sleeper {
  readonly atMs: number;
  wake(): void;
}

export interface VirtualClock extends Clock {
  /** Advances the time, running everything that is due. */
  pass(ms: number): Promise<void>;
  /** Advances the time until the promise settles. Gives up after an hour. */
  until<Result>(promise: Promise<Result>): Promise<Result>;
  /** Suspends timers, as in a tab that the browser has frozen, and then fires all that are due at once. */
  freeze(ms: number): void;
  /** Sets the displayed time back. Timers fire as if it had not changed. */
  turnBack(ms: number): void;
  /** Calls all listeners for the tab becoming visible. */
  wake(): void;
}

const HOUR_MS = 3_600_000;

/** Runs everything that does not wait for time to pass. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function virtualClock(startMs = 1_767_605_400_000): VirtualClock {
  let nowMs = startMs;
  let backMs = 0;
  const sleepers = new Set<Sleeper>();
  const wakeListeners = new Set<() => void>();
  const next = (): Sleeper | undefined => {
    let first: Sleeper | undefined;
    for (const sleeper of sleepers) if (first === undefined || sleeper.atMs < first.atMs) first = sleeper;
    return first;
  };
  /** Wakes the next sleeper if it is due by `untilMs`. */
  const step = async (untilMs: number): Promise<boolean> => {
    await settle();
    const sleeper = next();
    if (sleeper === undefined || sleeper.atMs > untilMs) return false;
    sleepers.delete(sleeper);
    nowMs = Math.max(nowMs, sleeper.atMs);
    sleeper.wake();
    return true;
  };
  return {
    now: () => nowMs - backMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const sleeper = { atMs: nowMs + Math.max(0, ms), wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', () => {
          sleepers.delete(sleeper);
          reject(signal.reason);
        });
      }),
    onWake(listener) {
      wakeListeners.add(listener);
      return () => wakeListeners.delete(listener);
    },
    async pass(ms) {
      const untilMs = nowMs + ms;
      while (await step(untilMs));
      nowMs = Math.max(nowMs, untilMs);
      await settle();
    },
    async until(promise) {
      let settled = false;
      const end = (): void => {
        settled = true;
      };
      promise.then(end, end);
      const untilMs = nowMs + HOUR_MS;
      await settle();
      while (!settled) {
        if (!(await step(untilMs)) && !settled) throw new Error('nothing is left that could settle it');
      }
      return await promise;
    },
    freeze(ms) {
      nowMs += ms;
    },
    turnBack(ms) {
      backMs += ms;
    },
    wake() {
      for (const listener of wakeListeners) listener();
    },
  };
}
