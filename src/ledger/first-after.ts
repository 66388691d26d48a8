/** Finds the first row at or after a time by bisection of a key: times never run backwards, so they need no index. */

import type { Moment } from './moment.ts';
import { ENDED_IN_SEGMENT, LIVE_ORDERS } from './order-rows.ts';
import { type Ask, prepared } from './queries.ts';
import { endOf, startOf } from './walk.ts';

/**
 * Returns SQL that looks at the row in the middle of [low, high) again and again, some fifty times for any length.
 * @param order of rows with equal keys
 * @param column whose values rise with the key
 * @param value that the row reaches first
 */
const bisection = (table: string, key: string, order: string, column: string, value = '$1'): string => `
  with recursive halves (low, high) as (
    select 0::bigint, (select ${key} + 1 from ${table} order by ${key} desc limit 1)
    union all
    select case when found.value < ${value} then found.key + 1 else low end,
      case when found.value < ${value} then high else middle end
    from halves
    cross join lateral (select (low + high) / 2 as middle) as halved
    cross join lateral (
      select ${key} as key, ${column} as value from ${table} where ${key} >= middle order by ${order} limit 1) as found
    where low < high)
  select ${key} as key from ${table} where ${key} >= (select max(low) from halves) order by ${order} limit 1`;

/** The tables whose rows the ledger's entries follow from. */
const FIRST_SEQUENCE = `
  select least(
    (select sequence from public.trades where trade_id = (${bisection('public.trades', 'trade_id', 'trade_id', 'time_ms')})),
    (${bisection('public.movements', 'sequence', 'sequence', 'time_ms')}),
    (${bisection('public.adopted_balances', 'sequence', 'sequence, line', 'time_ms')})) as key`;
const FIRST_ACT = bisection('public.operator_acts', 'sequence', 'sequence', 'time_ms');
const FIRST_TRADE = bisection('public.trades', 'trade_id', 'trade_id', 'time_ms');

/**
 * Returns SQL of the first order of a wallet, $2, at or after a time, $1, of those that were placed after the event $3
 * and before $4, in one segment. They stand in several tables.
 */
function firstOrder(): string {
  const either = (walk: string): string =>
    [LIVE_ORDERS, ...ENDED_IN_SEGMENT]
      .map((orders) => `(select sequence, created_at_ms from ${orders} ${walk} limit 1)`)
      .join(' union all ');
  const from = (place: string): string =>
    `(select sequence as key, created_at_ms as value
      from (${either(startOf(['wallet'], 'sequence', ['$2'], `${place} - 1`, '$4'))}) as either order by sequence limit 1)`;
  const newest = either(endOf(['wallet'], 'sequence', ['$2'], '$4', '$3'));
  return `
    with recursive halves (low, high) as (
      select $3::bigint + 1, (select max(sequence) + 1 from (${newest}) as newest)
      union all
      select case when found.value < $1 then found.key + 1 else low end,
        case when found.value < $1 then high else middle end
      from halves
      cross join lateral (select (low + high) / 2 as middle) as halved
      cross join lateral ${from('middle')} as found
      where low < high)
    select key from ${from('(select max(low) from halves)')} as first`;
}

const FIRST_ORDER = prepared(firstOrder());

/** @param sequence parameter. @returns SQL of the id of the first trade after an event; null if there is none */
export const firstTradeAfter = (sequence: string): string =>
  `(${bisection('public.trades', 'trade_id', 'trade_id', 'sequence', `${sequence}::bigint + 1`)})`;

/** Later than every event. */
const AFTER_ALL = BigInt(Number.MAX_SAFE_INTEGER);

const firstBy =
  (sql: string) =>
  async (ask: Ask, timeMs: number): Promise<bigint> =>
    (await ask<{ key: bigint }>(sql, [timeMs]))[0]?.key ?? AFTER_ALL;

/**
 * Returns the sequence of the first ledger entry at or after a time; all later entries are of later sequences. Returns
 * more than every sequence when there is none.
 */
export const firstSequenceAt = firstBy(FIRST_SEQUENCE);

/** Returns the sequence of the first act at or after a time, or more than every sequence. */
export const firstActAt = firstBy(FIRST_ACT);

/** Returns the id of the first trade at or after a time, or more than every id. */
export const firstTradeAt = firstBy(FIRST_TRADE);

const FIRST_TRADE_OF_SEGMENT = prepared(bisection('segments.trades_{0}', 'trade_id', 'trade_id', 'time_ms'));

/** Returns the id of the first trade at or after a time as of a moment, or more than every id. */
export async function firstTradeIn(moment: Moment, timeMs: number): Promise<number> {
  const segment = await moment.lastBefore((first) => first.timeMs < timeMs);
  const [found] = await moment.rows<{ key: bigint }>(FIRST_TRADE_OF_SEGMENT, [segment], [timeMs]);
  if (found !== undefined) return Number(found.key);
  for (let later = segment + 1; later <= moment.newest; later += 1) {
    const first = await moment.firstTradeOf(later);
    if (first !== null) return first.tradeId;
  }
  return Number.MAX_SAFE_INTEGER;
}

/**
 * Returns the sequence of the first order of a wallet at or after a time as of a moment, or one that all of them follow and
 * none before.
 */
export async function firstOrderIn(moment: Moment, wallet: string, timeMs: number): Promise<number> {
  let segment = await moment.lastBefore((first) => first.timeMs < timeMs);
  for (let isLater = false; !isLater && segment <= moment.newest; segment += 1) {
    const { after, before } = moment.eventsOf(segment);
    const [found] = await moment.rows<{ key: bigint }>(
      FIRST_ORDER,
      [segment],
      [timeMs, wallet, after, before],
    );
    if (found !== undefined) return Number(found.key);
    // Every order of the segments after such a trade is later.
    isLater = ((await moment.firstTradeOf(segment))?.timeMs ?? 0) >= timeMs;
  }
  return moment.eventsOf(segment).after + 1;
}
