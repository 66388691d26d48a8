/** SQL of the balances at a time: those that were kept nearest before it, and what was booked since. */

/**
 * The kept balances from which those at `$1` follow, as the rows `point` and `kept`. Before the first there is the
 * beginning, when nobody had anything.
 */
export const NEAREST_KEPT = nearestKept(
  '(select end_ms, sequence, null from public.daily_balances where end_ms <= $1 order by end_ms desc limit 1) union all',
);

/** @param days SQL of further points; a closing follows from the closing before it and from entries alone */
function nearestKept(days: string): string {
  return `
  point as materialized (
    select end_ms, sequence, month from (
      (select end_ms, sequence, month from public.closings where end_ms <= $1 order by end_ms desc limit 1)
      union all
      ${days}
      select 0, 0, null
    ) as points order by end_ms desc, month nulls last limit 1),
  kept as (
    select account, asset, total_atoms from public.closing_balances where month = (select month from point)
    union all
    select account, asset, total_atoms from public.daily_balances
    where end_ms = (select end_ms from point) and (select month from point) is null)`;
}

/** The events with ledger entries, once for each row that these follow from, as a relation that indexes put in order. */
export const BOOKED_EVENTS = `(
  select sequence, time_ms from public.trades
  union all select sequence, time_ms from public.movements
  union all select sequence, time_ms from public.adopted_balances) as booked_events`;

/** SQL of every asset that was ever booked. */
export const BOOKED_ASSETS = `
  select base collate "C" as asset from public.trades
  union select quote from public.trades
  union select asset from public.movements
  union select asset from public.adopted_balances`;

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
        + ${filledBefore('maker_order_id = orders.id', time)} + ${adoptedBefore(time)} end) * ${HELD.atomsPerStep} as reserved
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

export const BALANCES_AT = balancesFrom(NEAREST_KEPT);

/** The same from the last closing: no kept day takes part in the next one. */
export const BALANCES_SINCE_CLOSING = balancesFrom(nearestKept(''));
