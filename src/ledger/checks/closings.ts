/** Checks the balances that were kept, from which statements start, against the entries and orders. */

import { BOOKED_EVENTS, reservedAt } from '../kept-balances.ts';
import type { LedgerQuery } from './query.ts';

/** All kept balances, by their place in time. */
const POINTS = `
  points as materialized (
    select *, row_number() over (order by end_ms) as place from (
      select 'closing of ' || month as name, month, end_ms, sequence from public.closings
      union all
      select distinct 'balances at ' || to_timestamp(end_ms / 1000), null, end_ms, sequence from public.daily_balances
    ) as named),
  kept as materialized (
    select place, account, asset, total_atoms from public.closing_balances join points using (month)
    union all
    select place, account, asset, total_atoms from public.daily_balances join points using (end_ms) where month is null)`;

export const CLOSING_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'kept balances follow from entries',
    meaning: 'balances of each closing and each kept day are those before them and the entries between',
    proof: 'entries of one snapshot, by the numbers of their events and not by clocks',
    sql: `
      with ${POINTS},
      booked as (
        select width_bucket(sequence, (select array_agg(sequence + 1 order by place) from points)) + 1 as place,
          account, asset, sum(amount_atoms) as atoms
        from public.ledger_entries group by 1, 2, 3),
      changes as (
        select place, account, asset, total_atoms as atoms from kept
        union all
        select place + 1, account, asset, -total_atoms from kept
        union all
        select place, account, asset, -atoms from booked)
      select concat_ws(' ', name, account, asset) as subject, 'the sum of its entries' as expected,
        concat(sum(atoms), ' atoms more') as found
      from changes join points using (place) group by name, account, asset having sum(atoms) <> 0
      union all
      select name, 'the last event with entries before their end', concat('event ', sequence)
      from points
      where sequence <> 0 and sequence is distinct from (select sequence from ${BOOKED_EVENTS}
        where booked_events.sequence <= points.sequence order by sequence desc limit 1)`,
  },
  {
    name: 'kept balances end with their events',
    meaning:
      'each closing and each kept day has the events before its end and no later ones; a closing has the month that it names, and the balances of its digest',
    proof: 'months of UTC; times of events, which the script never sets back; no clock of Postgres',
    sql: `
      with ${POINTS}
      select points.name as subject, 'the events before its end' as expected, problem as found
      from points cross join lateral (values
        ((select time_ms >= end_ms from ${BOOKED_EVENTS} where sequence <= points.sequence
          order by sequence desc limit 1), 'contains a later event'),
        ((select time_ms < end_ms from ${BOOKED_EVENTS} where sequence > points.sequence
          order by sequence limit 1), 'lacks an event')) as rule (is_broken, problem)
      where is_broken
      union all
      select 'closing of ' || month, 'end and digest of ' || month, problem
      from public.closings
      cross join lateral (values
        (end_ms <> extract(epoch from to_date(month, 'YYYY-MM') + interval '1 month') * 1000, 'ends at another time'),
        (digest is distinct from (
          select sha256(convert_to(coalesce(string_agg(concat_ws(E'\\t', account, asset, total_atoms, reserved_atoms) || E'\\n', ''
            order by account, asset), ''), 'UTF8'))
          from public.closing_balances where closing_balances.month = closings.month), 'has balances of another digest')
      ) as rule (is_broken, problem)
      where is_broken
      union all
      select distinct 'closing of ' || month, 'a closing', 'balances alone' from public.closing_balances
      where not exists (select from public.closings where closings.month = closing_balances.month)`,
  },
  {
    name: 'the last closing holds what orders held',
    meaning: 'reserved balances of the last closing are what the orders held that were live at its end',
    proof: 'times of events, which the engine never sets back; orders and trades of one snapshot',
    sql: `
      with last as materialized (select month, end_ms from public.closings order by month desc limit 1),
      held as (
        select account, asset, sum(reserved) as atoms
        from (${reservedAt('(select end_ms from last)')}) as live group by account, asset),
      closed as (
        select account, asset, reserved_atoms as atoms from public.closing_balances
        where month = (select month from last) and reserved_atoms <> 0)
      select concat_ws(' ', 'closing of', (select month from last), account, asset) as subject,
        coalesce(held.atoms, 0)::text as expected, coalesce(closed.atoms, 0)::text as found
      from held full join closed using (account, asset)
      where coalesce(held.atoms, 0) <> coalesce(closed.atoms, 0) and exists (select from last)`,
  },
];
