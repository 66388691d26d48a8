/** Finds the first row at or after a time by bisection of a key: times never run backwards, so they need no index. */

import type { Ask } from './queries.ts';

/**
 * Returns SQL that looks at the row in the middle of [low, high) again and again, some fifty times for any length.
 * @param order of rows with equal keys
 * @param column whose values rise with the key
 * @param value that the row reaches first
 */
const bisection = (table: string, key: string, order: string, column: string, value = '$1'): string => `
  with recursive halves (low, high) as (
    select 0::bigint, (select ${key} + 1 from public.${table} order by ${key} desc limit 1)
    union all
    select case when found.value < ${value} then found.key + 1 else low end,
      case when found.value < ${value} then high else middle end
    from halves
    cross join lateral (select (low + high) / 2 as middle) as halved
    cross join lateral (
      select ${key} as key, ${column} as value from public.${table} where ${key} >= middle order by ${order} limit 1) as found
    where low < high)
  select ${key} as key from public.${table} where ${key} >= (select max(low) from halves) order by ${order} limit 1`;

const FIRST_SEQUENCE = bisection('ledger_entries', 'sequence', 'sequence, line', 'time_ms');
const FIRST_ACT = bisection('operator_acts', 'sequence', 'sequence', 'time_ms');
const FIRST_TRADE = bisection('trades', 'trade_id', 'trade_id', 'time_ms');

/** @param sequence parameter. @returns SQL of the id of the first trade after an event; null if there is none */
export const firstTradeAfter = (sequence: string): string =>
  `(${bisection('trades', 'trade_id', 'trade_id', 'sequence', `${sequence}::bigint + 1`)})`;

/** Later than every event. */
const AFTER_ALL = BigInt(Number.MAX_SAFE_INTEGER);

const firstBy =
  (sql: string) =>
  async (ask: Ask, timeMs: number): Promise<bigint> =>
    (await ask<{ key: bigint }>(sql, [timeMs]))[0]?.key ?? AFTER_ALL;

/**
 * Returns the sequence of the first entry at or after a time; all later entries are of later sequences. Returns more than
 * every sequence when there is none.
 */
export const firstSequenceAt = firstBy(FIRST_SEQUENCE);

/** Returns the sequence of the first act at or after a time, or more than every sequence. */
export const firstActAt = firstBy(FIRST_ACT);

/** Returns the id of the first trade at or after a time, or more than every id. */
export const firstTradeAt = firstBy(FIRST_TRADE);
