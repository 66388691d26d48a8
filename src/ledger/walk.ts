/** Walks an index from one of its ends: Postgres reads only as many rows as requested, whatever its statistics say. */

/**
 * Returns the end of an SQL condition, and its order: rows whose `columns` have these values, from the highest number
 * below `before` downwards. `columns` and `number` together must be the columns of an index.
 *
 * Plain equalities would select the same rows, but Postgres could then walk an index of the numbers alone and skip the
 * rows of everybody else: hundreds of thousands, for a wallet that is rare among the newest rows. With comparison and
 * order by whole rows of columns, only the one index fits.
 */
export function endOf(
  columns: readonly string[],
  number: string,
  values: readonly string[],
  before: string,
): string {
  const row = `(${[...columns, number].join(', ')})`;
  return `and ${row} >= (${[...values, '0'].join(', ')}) and ${row} < (${[...values, before].join(', ')})
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
): string {
  const names = [...columns, number].join(', ');
  return `and (${names}) > (${[...values, after].join(', ')})
    and (${names}) <= (${[...values, Number.MAX_SAFE_INTEGER].join(', ')}) order by ${names}`;
}
