/** Times as people write them. */

/**
 * Also what Python, Go and Postgres write: a space in place of the T, micro- and nanoseconds, and zones like +00, +0000 and
 * +00:00. A plus sign that a query does not encode arrives as a space.
 */
const MOMENT =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:[.,](\d{1,9}))?(?:(Z)|([+ -]\d{2})(?::?(\d{2}))?))?$/i;
const MILLISECOND_DIGITS = 3;

/**
 * Reads a day (its beginning, UTC) or an ISO 8601 time with its zone, in Unix milliseconds; undefined for any other text.
 * A local time would mean different moments on different machines. Digits beyond milliseconds are cut off,
 * as those of the engine's times are: a row of a later moment is never before the read one.
 */
export function parseMoment(text: string): number | undefined {
  const [, day, time = '00:00', fraction = '', , hours, minutes = '00'] = MOMENT.exec(text) ?? [];
  const zone = hours === undefined ? 'Z' : `${hours.replace(' ', '+')}:${minutes}`;
  const seconds = time.length === 'hh:mm'.length ? `${time}:00` : time;
  const millis = fraction.slice(0, MILLISECOND_DIGITS).padEnd(MILLISECOND_DIGITS, '0');
  const timeMs = day === undefined ? Number.NaN : Date.parse(`${day}T${seconds}.${millis}${zone}`);
  if (Number.isNaN(timeMs)) return undefined;
  // Date.parse takes 31 February for 3 March.
  const dayStartMs = Date.parse(`${day}T00:00:00Z`);
  return new Date(dayStartMs).toISOString().startsWith(day!) ? timeMs : undefined;
}
