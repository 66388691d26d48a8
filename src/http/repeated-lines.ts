/** Keeps a client that is refused again and again from filling the log. */

import type { Logger } from 'pino';

/** Lines of a kind that are written in a period; the others are counted. */
const LINES = 10;
const PERIOD_MS = 10_000;
/** Kinds are made of routes and statuses, which are few; what comes beyond shares one. */
const MOST_KINDS = 200;

export interface RepeatedLines {
  /** True when a line of the kind may be written now. */
  allows(kind: string): boolean;
}

/** One line at the end of a period tells how many of a kind were left out in it. */
export function limitRepeatedLines(logger: Logger, periodMs = PERIOD_MS): RepeatedLines {
  const kinds = new Map<string, number>();
  const endPeriod = (): void => {
    for (const [kind, lines] of kinds)
      if (lines > LINES)
        logger.warn({ kind, count: lines - LINES, periodMs }, 'more of the same was left out');
    kinds.clear();
  };
  return {
    allows(asked) {
      if (kinds.size === 0) setTimeout(endPeriod, periodMs).unref();
      const kind = kinds.has(asked) || kinds.size < MOST_KINDS ? asked : 'other';
      const lines = (kinds.get(kind) ?? 0) + 1;
      kinds.set(kind, lines);
      return lines <= LINES;
    },
  };
}
