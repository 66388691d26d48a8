/** SQL of the balances at a time: those that were kept nearest before it, and what was booked since. */

import { CLOSINGS_IN_FORCE } from './closing-acts.ts';
import type { Ask } from './queries.ts';

/**
 * Returns the kept balances from which those before an event follow, as the rows `point` and `kept`. Before the first
 * there is the beginning, when nobody had anything. No clock takes part: where nothing was booked between an event and a
 * time, the balances of both are the same.
 * @param end parameter of the event
 */
export const keptBefore = (end: string): string =>
  nearestKept(
    `sequence < ${end}`,
    `(select sequence, null from public.kept_balances where sequence < ${end} order by sequence desc limit 1) union all`,
  );

/** SQL of the balances of all accounts after an event, from those that are kept up to another one, as a whole statement. */
export const balancesAfter = (event: string, from = event): string => `
  with ${keptBefore(`${from} + 1`)}
  select account, asset, sum(atoms) as atoms from (
    select account, asset, total_atoms as atoms from kept
    union all
    select account, asset, sum(amount_atoms) from public.ledger_entries
    where sequence > (select sequence from point) and sequence <= ${event} group by account, asset) as booked
  group by account, asset`;

/**
 * @param closed SQL of the closings from which to choose the last
 * @param others SQL of further points; a closing follows from the closing before it and from entries alone
 */
function nearestKept(closed: string, others: string): string {
  return `
  point as materialized (
    select sequence, closing from (
      (select sequence, id as closing from ${CLOSINGS_IN_FORCE} where ${closed} order by end_ms desc limit 1)
      union all
      ${others}
      select 0, null
    ) as points order by sequence desc, closing nulls last limit 1),
  kept as (
    select account, asset, total_atoms from public.closing_balances where closing = (select closing from point)
    union all
    select account, asset, total_atoms from public.kept_balances
    where sequence = (select sequence from point) and (select closing from point) is null)`;
}

/** The events with ledger entries, once for each row that these follow from, as a relation that indexes put in order. */
export const BOOKED_EVENTS = `(
  select sequence, time_ms from public.trades
  union all select sequence, time_ms from public.movements
  union all select sequence, time_ms from public.adopted_balances) as booked_events`;

/** Returns the last booked event before a sequence; 0: none. */
export async function lastBookedBefore(ask: Ask, end: number): Promise<bigint> {
  const [last] = await ask<{ sequence: bigint }>(
    `select sequence from ${BOOKED_EVENTS} where sequence < $1 order by sequence desc limit 1`,
    [end],
  );
  return last?.sequence ?? 0n;
}

/** Atoms that one step of an order holds, and the asset that they are of. */
const HELD = {
  asset: `case side when 'sell' then base else quote end collate "C"`,
  atomsPerStep: `case side when 'sell' then base_atoms_per_step else price_ticks::numeric * quote_atoms_per_lot end`,
};

const filledBefore = (ofOrder: string, time: string): string =>
  `coalesce((select sum(size_steps) from public.trades where ${ofOrder} and time_ms < ${time}), 0)`;

const adoptedBefore = (time: string): string =>
  `coalesce((select sum(steps) from public.adopted_fills where order_id = orders.id and time_ms < ${time}), 0)`;

/**
 * SQL of the atoms that each order held which was live right before a time. Orders that ended later are found by their
 * time.
 */
export const reservedAt = (time: string): string => `
  select wallet as account, ${HELD.asset} as asset, (size_steps - case when updated_at_ms < ${time} then filled_steps
      else ${filledBefore('trades.sequence = orders.sequence', time)}
        + ${filledBefore('maker_order_id = orders.id and trades.sequence > orders.sequence', time)} + ${adoptedBefore(time)} end) * ${HELD.atomsPerStep} as reserved
  from (
    select * from public.orders where closed_sequence is null and created_at_ms < ${time}
    union all
    select * from public.orders where closed_sequence is not null and created_at_ms < ${time} and updated_at_ms >= ${time}
  ) as orders`;

/**
 * Every account's total and reserved atoms right before `$1` (Unix milliseconds), without those of nothing. `$2` is the
 * first sequence at or after it; `$3` and `$4` name one account and one asset, or are null.
 */
const balancesFrom = (kept: string): string => `
  with ${kept}
  select account, asset, sum(total)::text as total, sum(reserved)::text as reserved
  from (
    select account, asset, total_atoms as total, 0::numeric as reserved from kept
    where $3::text is null or account = $3
    union all
    select account, asset, sum(amount_atoms), 0 from public.ledger_entries
    where sequence > (select sequence from point) and sequence < $2 and time_ms < $1
      and ($3::text is null or account = $3)
    group by account, asset
    union all
    select account, asset, 0, reserved from (${reservedAt('$1')}) as live where $3::text is null or account = $3
  ) as booked
  where $4::text is null or asset = $4
  group by account, asset having sum(total) <> 0 or sum(reserved) <> 0
  order by account, asset`;

export const BALANCES_AT = balancesFrom(keptBefore('$2'));

/** The same from the closing before: neither balances after an event nor a closing of the same month take part. */
export const BALANCES_SINCE_CLOSING = balancesFrom(nearestKept('end_ms < $1', ''));
