/** Checks the keys of the routes for operators against the acts that made them, and their caps against what they reserved. */

import { OTHER_ASSETS } from '../../domain/operator-rights.ts';
import type { LedgerQuery } from './query.ts';

const timeOf = (column: string): string => `to_timestamp(${column} / 1000.0)`;

export const KEY_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'keys follow from acts',
    meaning:
      'each key of operators was made, with its rights, limits and digest, by an act, each revoked one is revoked, and each key that an act made is there',
    proof: 'acts, proven by the chain; the time at which a key was made only with a checkpoint',
    sql: `
      with acts as (select name as act, subject, after, time_ms from public.operator_acts where name in ('key create', 'key revoke')),
      keys as (
        select *, concat_ws(' ', array_to_string(rights, ','),
          (select string_agg(format('%s=%s/day', key, value), ' ' order by key collate "C") from jsonb_each_text(caps)),
          (select string_agg(format('two-persons:%s=%s', key, value), ' ' order by key collate "C") from jsonb_each_text(two_persons)),
          'sha256:' || encode(digest, 'hex')) as made
        from public.operator_keys)
      select 'key ' || name as subject, coalesce(after || ' at ' || ${timeOf('time_ms')}, 'no such key') as expected,
        concat(made, ' at ', created_at) as found
      from keys left join lateral (select after, time_ms from acts where act = 'key create' and subject = name
        order by made = after desc, time_ms desc limit 1) as creation on true
      where after is null or after not in (made, array_to_string(rights, ','))
      union all
      select 'key ' || name, coalesce('revoked at ' || ${timeOf('time_ms')}, 'no act that revoked it'), coalesce('revoked at ' || revoked_at, 'in force')
      from keys left join lateral (select time_ms from acts where act = 'key revoke' and subject = name
        order by time_ms limit 1) as revocation on true
      where (time_ms is null) <> (revoked_at is null)
      union all
      select distinct 'key ' || subject, 'a key, which an act made at ' || ${timeOf('time_ms')}, 'none; after an interrupted command, make it again'
      from acts where act = 'key create' and not exists (select from keys where name = subject)`,
  },
  {
    name: 'large movements were approved',
    // Commands take no name of a key, so a movement by a name is of the key as soon as the key is there.
    meaning:
      'each movement of a key, since the key was made, above what it may move alone was approved before by an act of another person or key, with the same wallet, asset and amount',
    proof: 'acts, proven by the chain; limits of keys, which follow from acts',
    sql: `
      with acts as (select * from public.operator_acts),
      large as (
        select movements.*, acts.operator
        from acts join public.operator_keys on operator_keys.name = acts.operator and two_persons <> '{}'
        join acts as creation on creation.name = 'key create' and creation.subject = acts.operator
          and creation.sequence < acts.sequence and right(creation.after, 64) = encode(digest, 'hex')
        join public.movements on movements.sequence = acts.sequence join public.assets on symbol = movements.asset
        where kind in ('credited', 'debited', 'requested')
          and amount_atoms > trunc(coalesce(two_persons ->> movements.asset, two_persons ->> '${OTHER_ASSETS}', '0')::numeric * 10::numeric ^ scale))
      select 'movement ' || large.sequence as subject, 'an approval by another key' as expected, 'none' as found
      from large where not exists (
        select from acts as approval
        where approval.name = 'movement approve' and approval.subject = large.reference and approval.wallet = large.wallet
          and approval.after = concat_ws(' ', large.kind, large.asset, large.amount_atoms)
          and approval.operator <> large.operator and approval.sequence < large.sequence)`,
  },
  {
    name: 'caps count what keys reserved',
    meaning:
      'the amounts that a key reserved under its caps in the last days sum to what is counted for each day',
    proof:
      'sums of whole numbers of the last days by the date of UTC, each written in one transaction with its sum',
    sql: `
      with reserved as (
        select key, day, asset, sum(atoms) as atoms from public.cap_reservations group by key, day, asset)
      select concat_ws(' ', 'key', key, day, asset) as subject, coalesce(reserved.atoms, 0)::text as expected,
        coalesce(counted.atoms, 0)::text as found
      from reserved full join public.operator_key_days as counted using (key, day, asset)
      where coalesce(reserved.atoms, 0) <> coalesce(counted.atoms, 0)
        and day >= coalesce((select max(day) from public.operator_key_days as last where last.key = coalesce(reserved.key, counted.key)),
          day) - 7
      union all
      select concat_ws(' ', 'key', key, 'reservation', reference), 'a reservation of one or more, or a moved one', holders::text
      from public.cap_reservations where holders < 0 or atoms <= 0`,
  },
];
