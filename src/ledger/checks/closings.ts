/** Checks the balances that were kept, from which statements start, against the entries and orders. */

import { CLOSE_ACT, CLOSINGS_IN_FORCE, IS_OF_MONTH, REOPEN_ACT } from '../closing-acts.ts';
import { BOOKED_EVENTS, reservedAt } from '../kept-balances.ts';
import { WHOLE_HISTORY } from '../span.ts';
import type { LedgerQuery } from './query.ts';

/**
 * The kept balances of a span, and those before from which they follow. A closing is of the span of its act, whose balances
 * may be those of an earlier event.
 */
const POINTS = `
  named as materialized (
    select 'closing of ' || month as name, id as closing, sequence, act > {from} as is_new from ${CLOSINGS_IN_FORCE}
    where sequence <= {to} and act <= {to}
    union all
    select distinct 'balances after event ' || sequence, null::bigint, sequence, sequence > {from} from public.kept_balances
    where sequence <= {to}),
  base as materialized (
    select max(sequence) as sequence from named
    where not is_new and sequence <= coalesce((select min(sequence) from named where is_new), {from})),
  points as materialized (
    select *, row_number() over (order by sequence, is_new, closing) as place from named
    where sequence >= coalesce((select sequence from base), ${WHOLE_HISTORY.from})),
  kept as materialized (
    select place, account, asset, total_atoms from public.closing_balances join points using (closing)
    union all
    select place, account, asset, total_atoms from public.kept_balances join points using (sequence) where closing is null)`;

/** SQL of a condition: the event of the act before is lost, or was not before the events that are lost. */
const IS_AFTER_SEAM = `exists (select from public.adoptions
  where adoptions.sequence < acts.sequence and after_sequence >= coalesce(acts.sequence_before, 0))`;

export const CLOSING_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'kept balances follow from entries',
    meaning:
      'balances of each closing in force, and those kept after an event, are those before them and the entries between',
    proof: 'entries of one snapshot, by the numbers of their events and not by clocks',
    sql: `
      with ${POINTS},
      booked as (
        select width_bucket(sequence, (select array_agg(sequence + 1 order by place) from points)) + 1 as place,
          account, asset, sum(amount_atoms) as atoms
        from public.ledger_entries where sequence > coalesce((select sequence from base), ${WHOLE_HISTORY.from}) and sequence <= {to}
        group by 1, 2, 3),
      changes as (
        select place, account, asset, total_atoms as atoms from kept
        union all
        select place + 1, account, asset, -total_atoms from kept
        union all
        select place, account, asset, -atoms from booked)
      select concat_ws(' ', name, account, asset) as subject, 'the sum of its entries' as expected,
        concat(sum(atoms), ' atoms more') as found
      from changes join points using (place) where is_new
      group by name, account, asset having sum(atoms) <> 0
      union all
      select name, 'the last event with entries before their end', concat('event ', sequence)
      from points
      where closing is not null and sequence <> 0 and is_new and sequence is distinct from (select sequence from ${BOOKED_EVENTS}
        where booked_events.sequence <= points.sequence order by sequence desc limit 1)`,
  },
  {
    name: 'kept balances end with their events',
    meaning:
      'each closing in force has the events before its end and no later ones; each closing, withdrawn ones too, has the month that it names, and the balances of its digest',
    proof: 'months of UTC; times of events, which the script never sets back; no clock of Postgres',
    sql: `
      select 'closing of ' || points.month as subject, 'the events before its end' as expected, problem as found
      from (select * from ${CLOSINGS_IN_FORCE}) as points cross join lateral (values
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
          from public.closing_balances where closing = closings.id), 'has balances of another digest')
      ) as rule (is_broken, problem)
      where is_broken
      union all
      select distinct 'closing ' || closing, 'a closing', 'balances alone' from public.closing_balances
      where not exists (select from public.closings where id = closing)`,
  },
  {
    name: 'closings follow from acts',
    meaning:
      'each act that closed a month has its closing of the same digest, each closing of a closed month has an act that closed it, acts reopen the digest that was in force, and no open month with entries lies between closed ones',
    proof:
      'acts, proven by the chain; the figures are kept before their act, so a command that was interrupted leaves no act without them',
    sql: `
      with acts as (
        select subject as month, name, before, after, sequence, lag(name) over earlier as name_before,
          lag(after) over earlier as after_before, lag(sequence) over earlier as sequence_before
        from public.operator_acts where ${IS_OF_MONTH} window earlier as (partition by subject order by sequence)),
      kept as (select *, encode(digest, 'hex') as hex from public.closings),
      in_order as (
        select month, lag(month) over months as month_before, lag(sequence) over months as before
        from ${CLOSINGS_IN_FORCE} window months as (order by end_ms))
      select 'closing of ' || month as subject, 'digest ' || after as expected,
        coalesce((select string_agg('digest ' || hex, ', ' order by id) from kept where kept.month = acts.month),
          'none; after lost seconds of Postgres, close the month again') as found
      from acts where name = '${CLOSE_ACT}' and not exists (select from kept where kept.month = acts.month and hex = after)
      union all
      select 'closing of ' || month, 'an act that closed it', 'digest ' || hex from kept
      where not exists (select from acts where acts.month = kept.month and after = hex)
        and month <= (select max(month) from ${CLOSINGS_IN_FORCE})
        and not exists (select from public.adoptions where adoptions.sequence > kept.sequence)
      union all
      select concat('act of event ', sequence, ' on ', month), coalesce('digest ' || after_before, 'no act'),
        concat(name, ' of digest ', coalesce(after, before))
      from acts
      where not ${IS_AFTER_SEAM} and case name when '${REOPEN_ACT}'
        then name_before is distinct from '${CLOSE_ACT}' or before is distinct from after_before
        else name_before = '${CLOSE_ACT}' and after is distinct from after_before end
      union all
      select 'closing of ' || month, 'each month with entries closed since ' || month_before, 'entries of an open month, from event ' || open.sequence
      from in_order cross join lateral (
        select sequence, time_ms from ${BOOKED_EVENTS} where sequence > before order by sequence limit 1) as open
      where open.time_ms < extract(epoch from to_date(month, 'YYYY-MM')) * 1000`,
  },
  {
    name: 'the last closing holds what orders held',
    meaning: 'reserved balances of the last closing are what the orders held that were live at its end',
    proof: 'times of events, which the engine never sets back; orders and trades of one snapshot',
    sql: `
      with last as materialized (select id, month, end_ms from ${CLOSINGS_IN_FORCE} order by month desc limit 1),
      held as (
        select account, asset, sum(reserved) as atoms
        from (${reservedAt('(select end_ms from last)')}) as live group by account, asset),
      closed as (
        select account, asset, reserved_atoms as atoms from public.closing_balances
        where closing = (select id from last) and reserved_atoms <> 0)
      select concat_ws(' ', 'closing of', (select month from last), account, asset) as subject,
        coalesce(held.atoms, 0)::text as expected, coalesce(closed.atoms, 0)::text as found
      from held full join closed using (account, asset)
      where coalesce(held.atoms, 0) <> coalesce(closed.atoms, 0) and exists (select from last)`,
  },
];
