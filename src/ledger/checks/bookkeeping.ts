/** Checks double entry: the entries of the ledger against the trades and movements that they book. */

import { ADOPTION_NAME } from '../adoption.ts';
import type { LedgerQuery } from './query.ts';

export const BOOKKEEPING_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'transactions sum to zero',
    meaning: 'the entries of each transaction sum to 0 in each asset',
    proof: 'sums of whole numbers in one snapshot, exact by Postgres',
    sql: `
      select transaction_id || ' ' || asset as subject, '0' as expected, sum(amount_atoms)::text as found
      from public.ledger_entries group by sequence, transaction_id, asset having sum(amount_atoms) <> 0`,
  },
  {
    name: 'entries follow from trades and movements',
    meaning:
      'each trade, deposit, withdrawal and adoption is booked exactly once on both sides, with its time and reference, and nothing else is',
    proof: 'rows of one snapshot; trades and movements are proven by the chain',
    sql: `
      with booked_trades as (
        select sequence, trade_id, 'trade-' || trade_id as transaction_id, taker_wallet, maker_wallet, base, quote,
          fee_atoms, taker_order_id, maker_order_id, time_ms, in_base, in_quote, base_lines, quote_lines,
          sum(base_lines + quote_lines + fee_lines) over (partition by sequence order by trade_id)
            - (base_lines + quote_lines + fee_lines) as first_line
        from public.trades
        cross join lateral (select
          case taker_side when 'buy' then 1 else -1 end * size_steps::numeric * base_atoms_per_step as in_base,
          case taker_side when 'buy' then -1 else 1 end * price_ticks::numeric * size_steps * quote_atoms_per_lot
            as in_quote) as amounts
        cross join lateral (select case in_base when 0 then 0 else 2 end as base_lines,
          case in_quote when 0 then 0 else 2 end as quote_lines, case fee_atoms when 0 then 0 else 2 end as fee_lines
        ) as lines),
      due as (
        select sequence, first_line + line.place as line, transaction_id, line.kind, line.account, line.asset,
          line.atoms as amount_atoms, line.reference, time_ms
        from booked_trades
        cross join lateral (values
          (0, 'trade', taker_wallet, base, in_base, taker_order_id),
          (1, 'trade', maker_wallet, base, -in_base, maker_order_id),
          (base_lines, 'trade', taker_wallet, quote, in_quote, taker_order_id),
          (base_lines + 1, 'trade', maker_wallet, quote, -in_quote, maker_order_id),
          (base_lines + quote_lines, 'fee', taker_wallet, quote, -fee_atoms, taker_order_id),
          (base_lines + quote_lines + 1, 'fee', 'house', quote, fee_atoms, taker_order_id)
        ) as line (place, kind, account, asset, atoms, reference)
        where line.atoms <> 0
        union all
        select sequence, line.place, moved.kind || '-' || sequence, moved.kind, line.account, asset, line.atoms,
          reference, time_ms
        from public.movements
        join (values ('credited', 'credit', 'custody', null, -1), ('debited', 'debit', 'custody', null, 1),
          ('requested', 'request', 'withdrawals', null, 1), ('confirmed', 'confirm', 'custody', 'withdrawals', 1),
          ('returned', 'return', 'withdrawals', null, -1)) as moved (of, kind, account, other, sign)
          on moved.of = movements.kind
        cross join lateral (values (0, moved.account, sign * amount_atoms),
          (1, coalesce(moved.other, wallet), -sign * amount_atoms)) as line (place, account, atoms)
        union all
        select sequence, line, ${ADOPTION_NAME}, 'adopt', account, asset, amount_atoms, ${ADOPTION_NAME}, time_ms
        from public.adopted_balances
      ),
      booked as (
        select sequence, line, transaction_id, kind, account, asset, amount_atoms, reference, time_ms
        from public.ledger_entries)
      select concat('ledger_entries ', sequence, '-', line) as subject,
        coalesce(to_jsonb(due)::text, 'no entry') as expected, coalesce(to_jsonb(booked)::text, 'no entry') as found
      from due full join booked using (sequence, line)
      where (due.transaction_id, due.kind, due.account, due.asset, due.amount_atoms, due.reference, due.time_ms)
        is distinct from (booked.transaction_id, booked.kind, booked.account, booked.asset, booked.amount_atoms,
          booked.reference, booked.time_ms)`,
  },
  {
    name: 'reversals are of movements',
    meaning: 'each movement that reverses another has its wallet and asset, and at most its amount',
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
        or (reversed.wallet, reversed.asset) is distinct from (one.wallet, one.asset)
        or reversed.amount_atoms < one.amount_atoms)`,
  },
  {
    name: 'withdrawals end once',
    meaning:
      'each withdrawal that ended was requested before, and the pending ones are those that did not end',
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
      where due.sequence is distinct from pending.sequence`,
  },
  {
    name: 'no account is overdrawn',
    meaning: 'no wallet, not the house and no pending withdrawal owes anything',
    proof: 'sums of whole numbers in one snapshot; the script checks each balance before it writes',
    sql: `
      select account || ' ' || asset as subject, '0 or more' as expected, sum(amount_atoms)::text as found
      from public.ledger_entries where account <> 'custody'
      group by account, asset having sum(amount_atoms) < 0`,
  },
];
