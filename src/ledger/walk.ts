/** Walks an index from one of its ends: Postgres reads only as many rows as requested, whatever its statistics say. */

/**
 * Returns the end of an SQL condition, and its order: rows whose `columns` have these values, from the highest number
 * below `before` downwards, to the lowest above `after`. `columns` and `number` together must be the columns of an index.
 *
 * Plain equalities would select the same rows, but Postgres could then walk an index of the numbers alone and skip the
 * rows of everybody else. Those are hundreds of thousands, for a wallet that is rare among the newest rows. With
 * comparison and order by whole rows of columns, only the one index fits.
 */
export function endOf(
  columns: readonly string[],
  number: string,
  values: readonly string[],
  before: string,
  after = '0',
): string {
  const row = `(${[...columns, number].join(', ')})`;
  return `and ${row} > (${[...values, after].join(', ')}) and ${row} < (${[...values, before].join(', ')})
    order by ${[...columns, number].map((column) => `${column} desc`).join(', ')}`;
}

/**
 * Returns the same for the other direction: rows from the lowest number after `after` upwards.
 */
export function startOf(
  columns: readonly string[],
  number: string,
  values: readonly string[],
  after: string,
  before = String(Number.MAX_SAFE_INTEGER),
): string {
  const names = [...columns, number].join(', ');
  return `and (${names}) > (${[...values, after].join(', ')})
    and (${names}) < (${[...values, before].join(', ')}) order by ${names}`;
}

/** Direction of a list: the newest or the oldest first. */
export type Direction = 'desc' | 'asc';

/** Returns the condition and the order of a walk in either direction. */
export const walkOf = (
  direction: Direction,
  columns: readonly string[],
  number: string,
  values: readonly string[],
  { after, before }: { readonly after: string; readonly before: string },
): string =>
  direction === 'desc'
    ? endOf(columns, number, values, before, after)
    : startOf(columns, number, values, after, before);

/** SQL: true for rows that follow the event of a parameter in the direction of the list. */
export const follows = (direction: Direction, sequence: string, parameter: string): string =>
  `${sequence} ${direction === 'asc' ? '>' : '<'} ${parameter}::bigint`;

/** SQL: rows in the direction of the list. */
export const inDirection = (direction: Direction, sequence: string): string =>
  `order by ${sequence}${direction === 'asc' ? '' : ' desc'}`;

/** The place before the first row of a list. */
export const beginningOf = (direction: Direction): number =>
  direction === 'asc' ? 0 : Number.MAX_SAFE_INTEGER;
