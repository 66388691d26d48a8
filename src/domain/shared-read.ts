/** Shares one answer between concurrent callers. */

/** Callers who get an answer before other requests have their go. A reply may be some MB. */
const CALLERS_OF_TURN = 32;

const nextTurn = <T>(answer: T): Promise<T> =>
  new Promise((resolve) => {
    setImmediate(resolve, answer);
  });

/** Returns a function that gives each caller the answer, to some of them in each turn of the event loop. */
export function inTurns<T>(answer: Promise<T>): () => Promise<T> {
  let ofTurn = answer;
  let callers = 0;
  return () => {
    if (callers > 0 && callers % CALLERS_OF_TURN === 0) ofTurn = ofTurn.then(nextTurn<T>);
    callers += 1;
    return ofTurn;
  };
}

/**
 * Makes at most one read at a time. Calls during a read share the next read, so no caller gets an answer from before
 * its call. If a read fails, the calls that wait for the next one fail too, so that they do not wait for a second
 * timeout.
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

/** Maximum reads per second under a flood of requests. Answers are then at most 100 ms old. */
const READS_PER_SECOND = 10;

/**
 * Works like `oneAtATime`, but above a burst, callers share the last read for 100 ms.
 * @param burst number of separate reads before sharing begins
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

/** Reads at most once per second. Callers share a read until it has ended and a second has passed since it began. */
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
