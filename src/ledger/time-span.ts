/** Bounds a list by times. Its numbers rise with time, so a bisection finds the numbers where a span begins and ends. */

import type pg from 'pg';
import { type Ask, askForTexts, askForTextsIn, inSnapshot, type PreparedQuery } from './queries.ts';

/** Unix milliseconds; the start is inclusive, the end exclusive. */
export interface TimeSpan {
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** Numbers between which a list lies, both exclusive. */
interface Bounds {
  readonly after: number;
  readonly before: number;
}

interface SpannedBounds extends Bounds {
  readonly span: TimeSpan | undefined;
  /** Returns the first number at or after a time. */
  firstAt(ask: Ask, timeMs: number): Promise<bigint>;
}

/**
 * Asks for a page within bounds. A span is looked up in the snapshot of the page: an event that is settled in between
 * would be in neither.
 * @param parametersOf returns the parameters of the statement
 */
export function askWithin(
  pool: pg.Pool,
  statement: PreparedQuery,
  { span = {}, firstAt, ...bounds }: SpannedBounds,
  parametersOf: (bounds: Bounds) => unknown[],
): ReturnType<typeof askForTexts> {
  const { sinceMs, untilMs } = span;
  if (sinceMs === undefined && untilMs === undefined)
    return askForTexts(pool, statement, parametersOf(bounds));
  return inSnapshot(pool, async (ask) => {
    const since = sinceMs === undefined ? 1n : await firstAt(ask, sinceMs);
    const until = untilMs === undefined ? bounds.before : Number(await firstAt(ask, untilMs));
    const after = Math.max(bounds.after, Number(since) - 1);
    return askForTextsIn(ask, statement, parametersOf({ after, before: Math.min(bounds.before, until) }));
  });
}
