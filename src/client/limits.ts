/**
 * Keeps within the limits of the routes that have them: market data and signing in. Orders and cancels have no limits
 * and never pass here.
 */

import type { AbortSignalLike, Connection } from './connection.ts';
import { type Answer, aborted, untilAborted } from './exchange.ts';
import { guessedTime, runningTime, sleep } from './own-clock.ts';

/** Routes that the service counts together. */
export type Bucket = 'challenge' | 'verify' | 'market-data';

/** Longest wait. The service counts over a minute, so a longer wait could only come from clocks that disagree. */
const MAX_WAIT_MS = 61_000;

interface BucketCount {
  /** Number of requests that will still be let through, less those under way. */
  remaining: number;
  underWay: number;
  /** Running time at which the oldest request leaves the window. */
  resetsAt: number;
  /** Settles when nobody waits for the window any more. */
  queue: Promise<void>;
}

const counts = /* @__PURE__ */ new WeakMap<Connection, Map<Bucket, BucketCount>>();

function countOf(connection: Connection, bucket: Bucket): BucketCount {
  const ofConnection = counts.get(connection) ?? new Map<Bucket, BucketCount>();
  counts.set(connection, ofConnection);
  const count = ofConnection.get(bucket) ?? {
    remaining: Number.POSITIVE_INFINITY,
    underWay: 0,
    resetsAt: 0,
    queue: Promise.resolve(),
  };
  ofConnection.set(bucket, count);
  return count;
}

/** Sends a request of a bucket as soon as the service will count it, and reads the count in its answer. */
export async function withinLimits(
  connection: Connection,
  bucket: Bucket,
  signal: AbortSignalLike | undefined,
  send: () => Promise<Answer>,
): Promise<Answer> {
  const count = countOf(connection, bucket);
  if (count.remaining > 0) return await counted(connection, count, send);
  // One after the other: each answer tells if there is room for the next request.
  const before = count.queue;
  let leave: () => void = () => undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  count.queue = before.then(() => left);
  try {
    await untilAborted(before, signal);
    while (count.remaining <= 0 && runningTime(connection) < count.resetsAt) {
      await pause(connection, count.resetsAt - runningTime(connection), signal);
    }
    return await counted(connection, count, send);
  } finally {
    leave();
  }
}

async function counted(
  connection: Connection,
  count: BucketCount,
  send: () => Promise<Answer>,
): Promise<Answer> {
  count.remaining -= 1;
  count.underWay += 1;
  try {
    const answer = await send();
    observe(connection, count, answer);
    return answer;
  } finally {
    count.underWay -= 1;
  }
}

function observe(connection: Connection, count: BucketCount, { header }: Answer): void {
  const remaining = header('RateLimit-Remaining');
  const reset = header('RateLimit-Reset');
  if (remaining === null || reset === null) return;
  // The answered request is among those under way.
  count.remaining = Number(remaining) - (count.underWay - 1);
  const waitMs = Number(reset) * 1_000 - guessedTime(connection);
  count.resetsAt = runningTime(connection) + Math.min(Math.max(waitMs, 0), MAX_WAIT_MS);
}

/** @throws RedbookError `ABORTED` when the signal ends the wait */
export async function pause(
  connection: Connection,
  ms: number,
  signal: AbortSignalLike | undefined,
): Promise<void> {
  try {
    await sleep(connection, ms, signal);
  } catch {
    throw aborted(signal);
  }
}
