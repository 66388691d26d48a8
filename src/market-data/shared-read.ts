/** Reads that concurrent callers share. */

/**
 * At most one read is under way; all who ask meanwhile share the one that begins after it. So nobody is answered
 * with what was read before they asked. A read that fails is the failure of those as well who wait for the next one:
 * a server that hangs is waited for once.
 */
export function oneAtATime<T>(read: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    next = undefined;
    const reading = read();
    underWay = reading;
    reading.catch(() => {
      underWay = Promise.resolve();
    });
    return reading;
  };
  const fail = (error: unknown): never => {
    next = undefined;
    throw error;
  };
  return () => {
    next ??= underWay.then(begin, fail);
    return next;
  };
}

/** A flood of requests costs this many reads a second, and sees answers at most that old. */
const READS_PER_SECOND = 10;

/**
 * As `oneAtATime`; when more is asked than the server should pay for, the last read is shared for 100 ms.
 * @param burst reads that are made as they are asked for before that begins
 */
export function cappedReads<T>(burst: number, read: () => Promise<T>): () => Promise<T> {
  let credit = burst;
  let creditedAt = performance.now();
  let last: Promise<T> | undefined;
  const fresh = oneAtATime(() => {
    credit -= 1;
    last = read();
    return last;
  });
  return () => {
    const now = performance.now();
    credit = Math.min(burst, credit + ((now - creditedAt) / 1000) * READS_PER_SECOND);
    creditedAt = now;
    return credit >= 1 || last === undefined ? fresh() : last;
  };
}

const SHARED_MS = 1_000;

/** Reads at most once a second: all who ask share a read until it ends and until a second has passed since it began. */
export function sharedForASecond<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { readonly answer: Promise<T>; readonly begunAtMs: number } | undefined;
  let isReading = false;
  return () => {
    if (last !== undefined && (isReading || performance.now() - last.begunAtMs < SHARED_MS))
      return last.answer;
    isReading = true;
    const answer = read();
    last = { answer, begunAtMs: performance.now() };
    const end = (): void => {
      isReading = false;
    };
    answer.then(end, end);
    return answer;
  };
}
