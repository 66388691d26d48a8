/** Limits repeated log lines, so that a client with endless refused requests does not fill the log. */

import type { Logger } from 'pino';

/** Number of lines of one kind that are written per period. Further lines are only counted. */
const LINES = 10;
const PERIOD_MS = 10_000;
/** Maximum number of kinds. A kind is a route and a status, so there are few; all others share one kind. */
const MAX_KINDS = 200;

export interface RepeatedLines {
  /** True if a line of the kind may be written now. */
  allows(kind: string): boolean;
}

/** Counts lines by kind. At the end of a period, one line tells how many of a kind were left out. */
export function limitRepeatedLines(logger: Logger, periodMs = PERIOD_MS): RepeatedLines {
  const kinds = new Map<string, number>();
  const endPeriod = (): void => {
    for (const [kind, lines] of kinds)
      if (lines > LINES) logger.warn({ kind, count: lines - LINES, periodMs }, 'similar lines were left out');
    kinds.clear();
  };
  return {
    allows(asked) {
      if (kinds.size === 0) setTimeout(endPeriod, periodMs).unref();
      const kind = kinds.has(asked) || kinds.size < MAX_KINDS ? asked : 'other';
      const lines = (kinds.get(kind) ?? 0) + 1;
      kinds.set(kind, lines);
      return lines <= LINES;
    },
  };
}
