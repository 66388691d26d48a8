/** Checks double entry: the entries of the ledger against the trades and movements that they book. */

import type { LedgerQuery } from './query.ts';

export const BOOKKEEPING_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'transactions sum to zero',
    meaning: 'the entries of each transaction sum to 0 in each asset',
    sql: `
      select transaction_id || ' ' || asset as subject, '0' as expected, sum(amount_atoms)::text as found
      from ledger_entries group by sequence, transaction_id, asset having sum(amount_atoms) <> 0`,
  },
  {
    name: 'entries follow from trades and movements',
    meaning:
      'each trade, deposit and withdrawal is booked exactly once on both sides, with its time and reference, and nothing else is',
    sql: `
      with lines as (
        select sequence, trade_id, line.place, 'trade-' || trade_id as transaction_id, line.kind, line.account,
          line.asset, line.atoms, line.reference, time_ms
        from trades
        cross join lateral (select
          case taker_side when 'buy' then 1 else -1 end as direction,
          size_steps::numeric * base_atoms_per_step as in_base,
          price_ticks::numeric * size_steps * quote_atoms_per_lot as in_quote) as amounts
        cross join lateral (values
          (0, 'trade', taker_wallet, base, direction * in_base, taker_order_id),
          (1, 'trade', maker_wallet, base, -direction * in_base, maker_order_id),
          (2, 'trade', taker_wallet, quote, -direction * in_quote, taker_order_id),
          (3, 'trade', maker_wallet, quote, direction * in_quote, maker_order_id),
          (4, 'fee', taker_wallet, quote, -fee_atoms, taker_order_id),
          (5, 'fee', 'house', quote, fee_atoms, taker_order_id)) as line (place, kind, account, asset, atoms, reference)
        where line.atoms <> 0
        union all
        select sequence, 0, line.place, line.kind || '-' || sequence, line.kind, line.account, asset, line.atoms,
          reference, time_ms
        from movements
        cross join lateral (select
          case kind when 'credited' then 'credit' else 'debit' end as kind,
          case kind when 'credited' then amount_atoms else -amount_atoms end as received) as moved
        cross join lateral (values
          (0, moved.kind, 'custody', -received), (1, moved.kind, wallet, received)) as line (place, kind, account, atoms)
      ),
      due as (
        select sequence, row_number() over (partition by sequence order by trade_id, place) - 1 as line,
          transaction_id, kind, account, asset, atoms as amount_atoms, reference, time_ms
        from lines),
      booked as (
        select sequence, line, transaction_id, kind, account, asset, amount_atoms, reference, time_ms
        from ledger_entries)
      select concat('ledger_entries ', sequence, '-', line) as subject,
        coalesce(to_jsonb(due)::text, 'no entry') as expected, coalesce(to_jsonb(booked)::text, 'no entry') as found
      from due full join booked using (sequence, line)
      where (due.transaction_id, due.kind, due.account, due.asset, due.amount_atoms, due.reference, due.time_ms)
        is distinct from (booked.transaction_id, booked.kind, booked.account, booked.asset, booked.amount_atoms,
          booked.reference, booked.time_ms)`,
  },
  {
    name: 'no account is overdrawn',
    meaning: 'no wallet and not the house owes anything',
    sql: `
      select account || ' ' || asset as subject, '0 or more' as expected, sum(amount_atoms)::text as found
      from ledger_entries where account <> 'custody'
      group by account, asset having sum(amount_atoms) < 0`,
  },
];
