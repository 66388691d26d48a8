/** Checks movements against each other, and the sums of all entries. */

import { balancesAfter } from '../kept-balances.ts';
import type { LedgerQuery } from './query.ts';

export const BOOKKEEPING_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'adoptions sum to zero',
    meaning:
      'what lost events changed sums to 0 in each asset; the view of the ledger makes lines that do of every trade and movement',
    proof: 'sums of whole numbers in one snapshot, exact by Postgres; the text of the view',
    sql: `
      select concat_ws(' ', 'adopt-' || sequence, asset) as subject, '0' as expected, sum(amount_atoms)::text as found
      from public.adopted_balances group by sequence, asset having sum(amount_atoms) <> 0`,
  },
  {
    name: 'reversals are of movements',
    meaning: 'the movements that reverse another have its wallet and asset, and together at most its amount',
    proof:
      'references, unique by an index of the release; events in the order of their numbers, which settlement writes without gaps',
    sql: `
      select 'movement ' || one.sequence as subject, concat('a reversal of ', one.reverses) as expected,
        coalesce(to_jsonb(reversed)::text, 'no such movement') as found
      from public.movements as one
      left join public.movements as reversed on reversed.reference = one.reverses
        and reversed.kind in ('credited', 'debited') and reversed.kind <> one.kind
      where one.reverses is not null and (reversed.sequence is null and not exists (select from public.adoptions
          where adoptions.sequence < one.sequence) or reversed.sequence > one.sequence
        or (reversed.wallet, reversed.asset) is distinct from (one.wallet, one.asset) and reversed.sequence is not null
        or reversed.amount_atoms < (select sum(amount_atoms) from public.movements as part
          where part.kind = one.kind and part.reverses = one.reverses and part.sequence <= one.sequence))`,
  },
  {
    name: 'receivables are paid first',
    meaning:
      'only a reversed deposit makes a wallet owe, and what it receives afterwards from outside pays that before anything else',
    proof: 'amounts of movements in the order of their numbers, exact by Postgres',
    sql: `
      with changes as (
        select sequence, kind, wallet, asset, amount_atoms, owed_atoms, reverses,
          case kind when 'debited' then owed_atoms else -owed_atoms end as lent_atoms
        from public.movements where wallet in (select wallet from public.movements where owed_atoms <> 0
            union select substr(account, 12) from public.adopted_balances where account like 'receivable:%')
          and kind in ('credited', 'debited', 'returned') or owed_atoms <> 0
        union all
        select sequence, null, substr(account, 12), asset, 0, 0, null, -amount_atoms from public.adopted_balances
        where account like 'receivable:%'),
      owed as (select *, coalesce(sum(lent_atoms) over (partition by wallet, asset order by sequence
          rows between unbounded preceding and 1 preceding), 0) as before_atoms from changes)
      select 'movement ' || sequence as subject, case when kind in ('credited', 'returned')
          then concat(least(before_atoms, amount_atoms), ' of ', before_atoms, ' owed atoms paid') else 'nothing owed' end as expected,
        concat(owed_atoms, ' atoms') as found
      from owed
      where kind in ('credited', 'returned') and owed_atoms <> least(before_atoms, amount_atoms)
        or kind not in ('credited', 'returned') and owed_atoms <> 0 and (kind <> 'debited' or reverses is null)`,
  },
  {
    name: 'withdrawals end once',
    meaning:
      'each withdrawal that ended was requested before, the pending ones are those that did not end, and none was returned while it was taken',
    proof: 'references, unique by an index of the release; events in the order of their numbers',
    sql: `
      with ends as (select * from public.movements where kind in ('confirmed', 'returned'))
      select 'movement ' || ends.sequence as subject, concat('the only end of request ', ends.reference) as expected,
        coalesce(to_jsonb(request)::text, 'no such request') as found
      from ends left join public.movements as request on request.reference = ends.reference and request.kind = 'requested'
      where request.sequence is null or request.sequence > ends.sequence
        or (request.wallet, request.asset, request.amount_atoms) is distinct from (ends.wallet, ends.asset, ends.amount_atoms)
        or (ends.kind = 'confirmed') <> (ends.txid is not null)
        or exists (select from ends as other where other.reference = ends.reference and other.sequence <> ends.sequence)
      union all
      select 'pending_withdrawals ' || coalesce(due.reference, pending.reference), coalesce(due.sequence::text, 'no row'),
        coalesce(pending.sequence::text, 'no row')
      from (select reference, sequence from public.movements as request where kind = 'requested'
          and not exists (select from ends where ends.reference = request.reference)) as due
      full join public.pending_withdrawals as pending on pending.reference = due.reference
      where due.sequence is distinct from pending.sequence
      union all
      select 'setting_changes ' || take.sequence, concat('a pending withdrawal ', take.subject), 'none'
      from public.setting_changes as take
      where take.kind in ('withdrawal_taken', 'withdrawal_released')
        and (exists (select from ends where ends.reference = take.subject and ends.sequence < take.sequence)
          or not exists (select from public.movements as request where request.kind = 'requested'
              and request.reference = take.subject and request.sequence < take.sequence)
            and not exists (select from public.adoptions where after_sequence < take.sequence))
      union all
      select 'movement ' || ends.sequence, concat('a release of ', ends.reference, ', taken by event ', take.sequence), 'none'
      from ends join public.setting_changes as take on take.kind = 'withdrawal_taken' and take.subject = ends.reference
        and take.sequence < ends.sequence
      where ends.kind = 'returned' and not exists (select from public.setting_changes as release
        where release.kind = 'withdrawal_released' and release.subject = take.subject
          and release.sequence between take.sequence and ends.sequence)
        and not exists (select from public.adoptions where after_sequence >= take.sequence
          and adoptions.sequence < ends.sequence)`,
  },
  {
    name: 'announced deposits end once',
    meaning:
      'each deposit that was dropped was announced before, with the same content, and the announced ones are those that did not end',
    proof: 'references, unique by an index of the release; events in the order of their numbers',
    sql: `
      select 'movement ' || dropped.sequence as subject, concat('the only end of announcement ', dropped.reference) as expected,
        coalesce(to_jsonb(announced)::text, 'no such announcement') as found
      from public.movements as dropped
      left join public.movements as announced on announced.reference = dropped.reference and announced.kind = 'announced'
      where dropped.kind = 'dropped' and (announced.sequence is null and not exists (select from public.adoptions
          where adoptions.sequence < dropped.sequence) or announced.sequence > dropped.sequence
        or (announced.wallet, announced.asset, announced.amount_atoms)
          is distinct from (dropped.wallet, dropped.asset, dropped.amount_atoms) and announced.sequence is not null
        or exists (select from public.movements as other where other.kind = 'credited' and other.reference = dropped.reference))
      union all
      select 'announced_deposits ' || coalesce(due.reference, listed.reference), coalesce(due.sequence::text, 'no row'),
        coalesce(listed.sequence::text, 'no row')
      from (select reference, sequence from public.movements as announced where kind = 'announced'
          and not exists (select from public.movements as ends where ends.kind in ('credited', 'dropped')
            and ends.reference = announced.reference)) as due
      full join public.announced_deposits as listed on listed.reference = due.reference
      where due.sequence is distinct from listed.sequence`,
  },
  {
    name: 'no account is overdrawn',
    meaning: 'no wallet, not the house and no pending withdrawal is below 0, and no receivable is above it',
    proof: 'sums of whole numbers in one snapshot; the script checks each balance before it writes',
    sql: `
      select account || ' ' || asset as subject,
        case when account like 'receivable:%' then '0 or less' else '0 or more' end as expected, atoms::text as found
      from (${balancesAfter('{to}', '{from}')}) as booked
      where account <> 'custody' and atoms * case when account like 'receivable:%' then -1 else 1 end < 0`,
  },
];
