/** Lets a settlement process with little memory catch up with a backlog, and measures it. */

import { setTimeout as sleep } from 'node:timers/promises';
import { peakBytesOf } from '../../support/proc.ts';

export interface CaughtUp {
  readonly events: number;
  readonly seconds: number;
  /** Maximum memory that the process held at once. */
  readonly peakBytes: number;
}

const POLL_MS = 200;

/** Maximum resident memory of a process so far; 0 if it has ended, or where the system does not tell. */
function peakBytesSoFar(pid: number): number {
  try {
    return peakBytesOf(pid);
  } catch {
    return 0;
  }
}

/** The environment of a process with a heap of so many MiB. */
export const heapOf = (mib: number): Record<string, string> => ({
  NODE_OPTIONS: `--max-old-space-size=${mib}`,
});

export const caughtUpText = ({ events, seconds, peakBytes }: CaughtUp): string =>
  `${events.toLocaleString('en-US')} events of lag settled in ${seconds.toFixed(0)} s, ` +
  `${(peakBytes / 2 ** 20).toFixed(0)} MiB of settlement's memory at most`;

/**
 * @param pid the settlement process, which has just been started
 * @param lag returns the number of events that are still to be settled
 * @param patienceMs longest time without progress
 * @throws Error when the process makes no progress
 */
export async function catchUp(
  pid: number,
  lag: () => Promise<number>,
  patienceMs = 120_000,
): Promise<CaughtUp> {
  const begunMs = performance.now();
  const events = await lag();
  let left = events;
  let sinceMs = performance.now();
  let peakBytes = 0;
  while (left > 0) {
    await sleep(POLL_MS);
    peakBytes = Math.max(peakBytes, peakBytesSoFar(pid));
    const now = await lag();
    if (now < left) sinceMs = performance.now();
    left = now;
    if (performance.now() - sinceMs > patienceMs)
      throw new Error(`settlement makes no progress: ${left} of ${events} events are left`);
  }
  return { events, seconds: (performance.now() - begunMs) / 1_000, peakBytes };
}
