/** Times as people write them. */

const MOMENT = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Reads a day (its beginning, UTC) or an ISO 8601 time with its zone, in Unix milliseconds; undefined for any other text.
 * A local time would mean different moments on different machines.
 */
export function parseMoment(text: string): number | undefined {
  const day = MOMENT.exec(text)?.[1];
  const timeMs = day === undefined ? Number.NaN : Date.parse(text);
  if (Number.isNaN(timeMs)) return undefined;
  // Date.parse takes 31 February for 3 March.
  const dayStartMs = Date.parse(`${day}T00:00:00Z`);
  return new Date(dayStartMs).toISOString().startsWith(day!) ? timeMs : undefined;
}
