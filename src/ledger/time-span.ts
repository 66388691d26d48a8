/** Bounds a list by times. Its numbers rise with time, so a bisection finds the numbers where a span begins and ends. */

/** Unix milliseconds; the start is inclusive, the end exclusive. */
export interface TimeSpan {
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** True for a span that ends or begins somewhere. */
export const isBounded = ({ sinceMs, untilMs }: TimeSpan = {}): boolean =>
  sinceMs !== undefined || untilMs !== undefined;

/** Numbers between which a list lies, both exclusive. */
export interface Bounds {
  readonly after: number;
  readonly before: number;
}

/**
 * Narrows bounds to a span, which must be looked up in the snapshot of the list: an event that is settled in between would
 * be in neither.
 * @param firstAt returns the first number at or after a time
 */
export async function boundsWithin(
  { after, before }: Bounds,
  { sinceMs, untilMs }: TimeSpan = {},
  firstAt: (timeMs: number) => Promise<number>,
): Promise<Bounds> {
  const since = sinceMs === undefined ? 1 : await firstAt(sinceMs);
  const until = untilMs === undefined ? before : await firstAt(untilMs);
  return { after: Math.max(after, since - 1), before: Math.min(before, until) };
}
