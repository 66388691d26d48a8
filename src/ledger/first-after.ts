/** Finds the first row at or after a time by bisection of a key: times never run backwards, so they need no index. */

import type pg from 'pg';
import { type FirstTrade, type Moment, type Moments, type SegmentQuery, TRADES } from './moment.ts';
import { ENDED_IN_SEGMENT, LIVE_ORDERS } from './order-rows.ts';
import { type Ask, prepared } from './queries.ts';
import { endOf, startOf } from './walk.ts';

/**
 * Returns SQL of the key of the first row at or after the time $1. It looks at the row in the middle of [low, high) again and
 * again, some fifty times for any length.
 * @param order of rows with equal keys
 */
const bisection = (table: string, key: string, order = key): string => `
  with recursive halves (low, high) as (
    select 0::bigint, (select ${key} + 1 from ${table} order by ${key} desc limit 1)
    union all
    select case when found.value < $1 then found.key + 1 else low end,
      case when found.value < $1 then high else middle end
    from halves
    cross join lateral (select (low + high) / 2 as middle) as halved
    cross join lateral (
      select ${key} as key, time_ms as value from ${table} where ${key} >= middle order by ${order} limit 1) as found
    where low < high)
  select ${key} as key from ${table} where ${key} >= (select max(low) from halves) order by ${order} limit 1`;

/** The first rows, besides trades, that the ledger's entries follow from. */
const FIRST_MOVED = prepared(`
  select least(
    (${bisection('public.movements', 'sequence')}),
    (${bisection('public.adopted_balances', 'sequence', 'sequence, line')})) as key`);
const FIRST_ACT = bisection('public.operator_acts', 'sequence');

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

/** Later than every event, and more than every id. */
const AFTER_ALL = Number.MAX_SAFE_INTEGER;

/** Returns the sequence of the first act at or after a time, or more than every sequence. */
export const firstActAt = async (ask: Ask, timeMs: number): Promise<bigint> =>
  (await ask<{ key: bigint }>(FIRST_ACT, [timeMs]))[0]?.key ?? BigInt(AFTER_ALL);

const FIRST_TRADE_AT = prepared(
  `select trade_id, sequence from ${TRADES}
   where trade_id = (${bisection(TRADES, 'trade_id')})`,
);
const FIRST_TRADE_AFTER = prepared(
  `select trade_id, sequence from ${TRADES} where sequence > $1 order by sequence, trade_id limit 1`,
);

interface PlaceRow {
  trade_id: bigint;
  sequence: bigint;
}

/** A trade, and its event. */
type TradePlace = Pick<FirstTrade, 'tradeId' | 'sequence'>;

/** Later than every trade. */
const AFTER_ALL_TRADES: TradePlace = { tradeId: AFTER_ALL, sequence: AFTER_ALL };

/** Returns the trade that a query finds in a segment, or else the first one of the segments after it. */
async function firstFrom(
  moment: Moment,
  segment: number,
  query: SegmentQuery,
  value: number,
): Promise<TradePlace> {
  const [found] = await moment.rows<PlaceRow & pg.QueryResultRow>(query, [segment], [value]);
  if (found !== undefined) return { tradeId: Number(found.trade_id), sequence: Number(found.sequence) };
  for (let later = segment + 1; later <= moment.newest; later += 1) {
    const first = await moment.firstTradeOf(later);
    if (first !== null) return first;
  }
  return AFTER_ALL_TRADES;
}

const firstTradeAt = async (moment: Moment, timeMs: number): Promise<TradePlace> =>
  firstFrom(moment, await moment.lastBefore((first) => first.timeMs < timeMs), FIRST_TRADE_AT, timeMs);

/** Returns the id of the first trade at or after a time (Unix milliseconds), or more than every id. */
export const firstTradeIn = async (moment: Moment, timeMs: number): Promise<number> =>
  (await firstTradeAt(moment, timeMs)).tradeId;

/** Returns the id of the first trade after an event, or more than every id. */
export const firstTradeAfter = async (moment: Moment, sequence: number): Promise<number> =>
  (await firstFrom(moment, moment.segmentOf(sequence), FIRST_TRADE_AFTER, sequence)).tradeId;

/** Where the ledger's entries from a time on begin. */
export interface BookedFrom {
  /** Event of the first entry; all later entries are of later events. More than every sequence if there is none. */
  readonly sequence: number;
  /** Id of the first trade, or more than every id. */
  readonly tradeId: number;
}

/** Returns where the entries at or after a time (Unix milliseconds) begin. */
export async function bookedFrom(moment: Moment, timeMs: number): Promise<BookedFrom> {
  const { tradeId, sequence } = await firstTradeAt(moment, timeMs);
  const [moved] = await moment.rows<{ key: bigint | null }>(FIRST_MOVED, [], [timeMs]);
  return { tradeId, sequence: Math.min(sequence, Number(moved?.key ?? AFTER_ALL)) };
}

/** Returns the event of the first entry at or after each time (Unix milliseconds), as of one moment. */
export const bookedEvents = (moments: Moments, pool: pg.Pool, times: readonly number[]): Promise<number[]> =>
  moments.read(
    pool,
    async (moment) => {
      const found: number[] = [];
      for (const timeMs of times) found.push((await bookedFrom(moment, timeMs)).sequence);
      return found;
    },
    true,
  );

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
