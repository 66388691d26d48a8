/**
 * Reads the own clock, in this file only, and estimates the service's time. The own clock may be wrong, and it may be
 * set back or ahead at any time. So every moment that is kept is one of a running time, which only grows.
 */

import type { AbortSignalLike, Connection } from './connection.ts';

interface Reading {
  /** Latest time that the own clock showed. */
  wallMs: number;
  /** Running time of the latest reading. */
  runningMs: number;
  /** Sleeps under way. */
  readonly sleeps: Set<{ readonly endMs: number }>;
  /** Time of the service, in Unix milliseconds, at a running time. */
  service: { readonly timeMs: number; readonly atMs: number } | undefined;
}

const readings = /* @__PURE__ */ new WeakMap<Connection, Reading>();

function readingOf(connection: Connection): Reading {
  const kept = readings.get(connection);
  if (kept !== undefined) return kept;
  const { clock } = connection;
  const reading = {
    wallMs: clock.now(),
    runningMs: 0,
    sleeps: new Set<{ endMs: number }>(),
    service: undefined,
  };
  readings.set(connection, reading);
  return reading;
}

/** Unix milliseconds as the own clock shows them: for people, and for a guess before the service has answered. */
export const shownTime = ({ clock }: Connection): number => clock.now();

/** Milliseconds since some moment. It grows with each call or stays, whatever the own clock is set to. */
export function runningTime(connection: Connection): number {
  const { clock } = connection;
  if (clock.running !== undefined) return clock.running();
  const reading = readingOf(connection);
  const wallMs = clock.now();
  let runningMs = reading.runningMs + wallMs - reading.wallMs;
  // A sleep that has not ended yet tells a clock that was set ahead.
  for (const { endMs } of reading.sleeps) runningMs = Math.min(runningMs, endMs);
  reading.wallMs = wallMs;
  reading.runningMs = Math.max(reading.runningMs, runningMs);
  return reading.runningMs;
}

/** Sleeps by the connection's clock. At least so much running time has passed when it resolves. */
export async function sleep(
  connection: Connection,
  ms: number,
  signal: AbortSignalLike | undefined,
): Promise<void> {
  const { clock } = connection;
  if (clock.running !== undefined) return await clock.sleep(ms, signal);
  const reading = readingOf(connection);
  const own = { endMs: runningTime(connection) + ms };
  reading.sleeps.add(own);
  try {
    await clock.sleep(ms, signal);
    reading.runningMs = Math.max(runningTime(connection), own.endMs);
  } finally {
    reading.sleeps.delete(own);
  }
}

/** A moment by both clocks. */
export interface Moment {
  readonly wallMs: number;
  readonly runningMs: number;
}

export const momentOf = (connection: Connection): Moment => ({
  wallMs: shownTime(connection),
  runningMs: runningTime(connection),
});

/**
 * Returns the maximum of milliseconds that may have passed since a moment. A clock that was set ahead counts, and so
 * does a running time that stands still while the machine sleeps.
 */
export const maxPassed = (connection: Connection, { wallMs, runningMs }: Moment): number =>
  Math.max(shownTime(connection) - wallMs, runningTime(connection) - runningMs);

/** Notes the `Date` of an answer. It has whole seconds, rounded down, so it is never later than the answer came. */
export const noteDate = (connection: Connection, date: string | null): void =>
  noteServiceTime(connection, Date.parse(date ?? ''));

/** Notes a time in Unix milliseconds that the service's clock has shown just now. */
export function noteServiceTime(connection: Connection, timeMs: number): void {
  if (Number.isNaN(timeMs)) return;
  readingOf(connection).service = { timeMs, atMs: runningTime(connection) };
}

/** Returns the time that the service's clock had shown by the latest answer; undefined before the first one. */
export const serviceTimeSeen = (connection: Connection): number | undefined =>
  readingOf(connection).service?.timeMs;

/**
 * Returns the earliest time that the service's clock may show now, in Unix milliseconds; undefined before the first
 * answer.
 */
export function serviceTime(connection: Connection): number | undefined {
  const { service } = readingOf(connection);
  return service === undefined ? undefined : service.timeMs + runningTime(connection) - service.atMs;
}

/** Returns the service's time, or before its first answer what the own clock shows. */
export const guessedTime = (connection: Connection): number =>
  serviceTime(connection) ?? shownTime(connection);
