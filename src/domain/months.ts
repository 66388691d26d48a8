/** Days and calendar months of the books, which begin at midnight (UTC). */

const DAY_MS = 86_400_000;

export const dayStartMs = (timeMs: number): number => timeMs - (timeMs % DAY_MS);

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/;

export const isMonth = (text: string): boolean => MONTH.test(text);

/** Returns the month of a time in Unix milliseconds. */
export const monthOf = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 7);

/** Returns the span of a month like `2026-11` in Unix milliseconds; the end is exclusive. */
export function monthSpan(month: string): { readonly startMs: number; readonly endMs: number } {
  const [, year, number] = MONTH.exec(month) ?? [];
  if (year === undefined || number === undefined) throw new RangeError(`not a month: ${month}`);
  return {
    startMs: Date.UTC(Number(year), Number(number) - 1),
    endMs: Date.UTC(Number(year), Number(number)),
  };
}
