/** Ages of data in words. An age is counted from the arrival of the data, by the reader's own clock. */

/** A moment by both clocks of the browser. */
export interface PageMoment {
  /** Unix milliseconds. The reader may set this clock. */
  readonly wallMs: number;
  /** Milliseconds since the page was opened. This clock may stand still while the machine sleeps. */
  readonly runningMs: number;
}

/**
 * Returns the milliseconds from one moment to another by the clock that advanced further, so that no clock makes data
 * look young.
 */
export const elapsedMs = (from: PageMoment, to: PageMoment): number =>
  Math.max(0, to.wallMs - from.wallMs, to.runningMs - from.runningMs);

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** `7 s`, `3 min`, `2 h`: whole units, rounded down. */
export function durationWords(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  return `${Math.floor(ms / HOUR_MS)} h`;
}

export type StreamState = 'live' | 'stale' | 'offline';

/** Frames come every two seconds; data without a new frame for this long is stale. */
const STALE_AFTER_MS = 5_000;

/**
 * Returns the state of the data on the screen.
 * @param connection state of the stream as the client reports it
 * @param ageMs age of the latest frame, null before the first
 */
export function streamStateOf(
  connection: 'connecting' | 'live' | 'stale' | 'offline',
  ageMs: number | null,
): StreamState {
  if (connection === 'offline' || ageMs === null) return 'offline';
  return connection === 'stale' || ageMs > STALE_AFTER_MS ? 'stale' : 'live';
}

/** Returns the line under the state: the age of the data, and the time until the next attempt to connect. */
export function ageWords(state: StreamState, ageMs: number | null, retryInMs: number | null): string {
  const retry = state === 'offline' && retryInMs !== null ? `retry in ${durationWords(retryInMs)}` : null;
  if (ageMs === null) return retry ?? 'connecting';
  if (state === 'live') return `updated ${durationWords(ageMs)} ago`;
  return [`no update for ${durationWords(ageMs)}`, retry].filter((part) => part !== null).join(', ');
}
