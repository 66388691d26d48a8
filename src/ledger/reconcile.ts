/**
 * The ledger's side of a reconcile: balances and live orders as of an event, to hold against what the
 * engine says as of the same event, and what must hold within the ledger alone.
 */

import type pg from 'pg';
import type { LiveOrder, Side } from '../domain/order.ts';
import { readCursor } from './cursor.ts';
import { LOT_COLUMNS, type LotRow, lotOf } from './lot.ts';
import { inSnapshot, streamRows } from './pool.ts';

export interface AccountBalance {
  /** A wallet, `house` or `custody`. */
  readonly account: string;
  /** Zero for an account that has nothing left. */
  readonly atoms: bigint;
}

/** Every account's sum of an asset up to and including the event, by account. */
export async function* balancesAt(
  pool: pg.Pool,
  asset: string,
  sequence: number,
): AsyncGenerator<AccountBalance> {
  const rows = streamRows<{ account: string; atoms: string }>(
    pool,
    `select account, sum(amount_atoms)::text as atoms from ledger_entries
     where asset = $1 and sequence <= $2
     group by account order by account`,
    [asset, sequence],
  );
  for await (const { account, atoms } of rows) yield { account, atoms: BigInt(atoms) };
}

interface LiveOrderRow extends LotRow {
  id: string;
  wallet: string;
  market: string;
  side: Side;
  price_ticks: bigint | null;
  size_steps: bigint;
  filled_steps: string;
  client_order_id: string | null;
  sequence: bigint;
}

/** The orders that were live right after the event, by id; what remained of them, by their trades. */
export async function* liveOrdersAt(pool: pg.Pool, sequence: number): AsyncGenerator<LiveOrder> {
  const rows = streamRows<LiveOrderRow>(
    pool,
    `select id, wallet, market, side, price_ticks, size_steps, client_order_id, sequence, ${LOT_COLUMNS},
       (coalesce((select sum(size_steps) from trades where taker_order_id = orders.id and sequence <= $1), 0)
        + coalesce((select sum(size_steps) from trades where maker_order_id = orders.id and sequence <= $1), 0)
       )::text as filled_steps
     from orders
     where sequence <= $1 and (closed_sequence is null or closed_sequence > $1)
     order by id`,
    [sequence],
  );
  for await (const row of rows) {
    yield {
      id: row.id,
      wallet: row.wallet,
      market: row.market,
      side: row.side,
      priceTicks: row.price_ticks,
      sizeSteps: row.size_steps,
      remainingSteps: row.size_steps - BigInt(row.filled_steps),
      clientOrderId: row.client_order_id,
      sequence: Number(row.sequence),
      lot: lotOf(row),
    };
  }
}

export interface Violation {
  /** What it is about: an order, a transaction, an account. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

export interface Check {
  readonly name: string;
  /** What must hold, in a sentence. */
  readonly meaning: string;
  /** How often it does not hold. */
  readonly count: number;
  /** The first hundred. */
  readonly violations: readonly Violation[];
}

const MOST_VIOLATIONS = 100;

/** Each query gives a row (subject, expected, found) for every violation. */
const CHECKS: readonly { name: string; meaning: string; sql: string }[] = [
  {
    name: 'transactions sum to zero',
    meaning: 'the entries of each transaction sum to 0 in each asset',
    sql: `
      select transaction_id || ' ' || asset as subject, '0' as expected, sum(amount_atoms)::text as found
      from ledger_entries group by sequence, transaction_id, asset having sum(amount_atoms) <> 0`,
  },
  {
    name: 'entries follow from trades and movements',
    meaning: 'each trade, deposit and withdrawal is booked exactly once, on both sides, and nothing else is',
    sql: `
      with due as (
        select sequence, 'trade-' || trade_id as transaction_id, line.kind, line.account, line.asset, line.atoms
        from trades
        cross join lateral (select
          case taker_side when 'buy' then 1 else -1 end as direction,
          size_steps::numeric * base_atoms_per_step as base_atoms,
          price_ticks::numeric * size_steps * quote_atoms_per_lot as quote_atoms) as amounts
        cross join lateral (values
          ('trade', taker_wallet, base, direction * amounts.base_atoms),
          ('trade', maker_wallet, base, -direction * amounts.base_atoms),
          ('trade', taker_wallet, quote, -direction * quote_atoms),
          ('trade', maker_wallet, quote, direction * quote_atoms),
          ('fee', taker_wallet, quote, -fee_atoms),
          ('fee', 'house', quote, fee_atoms)) as line (kind, account, asset, atoms)
        union all
        select sequence, line.kind || '-' || sequence, line.kind, line.account, asset, line.atoms
        from movements
        cross join lateral (values
          (case kind when 'credited' then 'credit' else 'debit' end, 'custody',
           case kind when 'credited' then -amount_atoms else amount_atoms end),
          (case kind when 'credited' then 'credit' else 'debit' end, wallet,
           case kind when 'credited' then amount_atoms else -amount_atoms end)) as line (kind, account, atoms)
      )
      select concat_ws(' ', transaction_id, kind, account, asset) as subject,
        sum(due)::text as expected, sum(booked)::text as found
      from (
        select sequence, transaction_id, kind, account, asset, atoms as due, 0 as booked from due
        union all
        select sequence, transaction_id, kind, account, asset, 0, amount_atoms from ledger_entries
      ) as both_sides
      group by sequence, transaction_id, kind, account, asset having sum(due) <> sum(booked)`,
  },
  {
    name: 'trades fit their orders',
    meaning: 'both orders of a trade exist, on opposite sides of its market, at a price both accept',
    sql: `
      select 'trade ' || trade_id as subject, 'two orders that could make it' as expected,
        concat_ws(' and ', coalesce(taker.id, 'no taker'), coalesce(maker.id, 'no maker')) as found
      from trades
      left join orders as taker on taker.id = taker_order_id
      left join orders as maker on maker.id = maker_order_id
      where (taker.wallet = taker_wallet and maker.wallet = maker_wallet and taker_wallet <> maker_wallet
        and taker.market = trades.market and maker.market = trades.market
        and taker.side = taker_side and maker.side <> taker_side
        and maker.price_ticks = trades.price_ticks
        and (taker.price_ticks is null
          or case taker_side when 'buy' then taker.price_ticks >= trades.price_ticks
             else taker.price_ticks <= trades.price_ticks end)
        and taker.sequence = trades.sequence and maker.sequence < trades.sequence) is not true`,
  },
  {
    name: 'fills are trades',
    meaning: 'the filled size of each order is the sum of its trades, and its number of fills is theirs',
    sql: `
      select 'order ' || id as subject, traded || ' in ' || trades as expected,
        filled_steps || ' in ' || fill_count as found
      from (
        select orders.id, filled_steps, fill_count, coalesce(sum(size_steps), 0) as traded,
          count(size_steps) as trades
        from (select id, filled_steps, fill_count from orders) as orders
        left join (
          select taker_order_id as id, size_steps from trades
          union all select maker_order_id, size_steps from trades) as fills on fills.id = orders.id
        group by orders.id, filled_steps, fill_count
      ) as sums
      where filled_steps <> traded or fill_count <> trades`,
  },
  {
    name: 'trade ids rise',
    meaning: 'trade ids rise in the order of execution',
    sql: `
      select 'trade ' || trade_id as subject, 'an event at or after ' || before as expected,
        sequence::text as found
      from (select trade_id, sequence, lag(sequence) over (order by trade_id) as before from trades) as ordered
      where sequence < before`,
  },
  {
    name: 'candles are their trades',
    meaning:
      'each one-minute candle is what the trades of its market and minute add up to, and none is missing',
    sql: `
      with due as (
        select market, time_ms - time_ms % 60000 as open_ms, (min(array[trade_id, price_ticks]))[2] as open_ticks,
          max(price_ticks) as high_ticks, min(price_ticks) as low_ticks,
          (max(array[trade_id, price_ticks]))[2] as close_ticks, sum(size_steps) as volume_steps,
          sum(notional_atoms) as quote_atoms, min(trade_id) as first_trade_id, max(trade_id) as last_trade_id
        from trades group by 1, 2),
      kept as (
        select market, open_ms, open_ticks, high_ticks, low_ticks, close_ticks, volume_steps, quote_atoms,
          first_trade_id, last_trade_id
        from candles)
      select concat_ws(' ', market, 'at', open_ms) as subject, coalesce(to_jsonb(due)::text, 'no candle') as expected,
        coalesce(to_jsonb(kept)::text, 'no candle') as found
      from due full join kept using (market, open_ms)
      where to_jsonb(due) is distinct from to_jsonb(kept)`,
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

/** What must hold within the ledger, recomputed from its rows in one snapshot. */
export const checkLedger = (pool: pg.Pool): Promise<{ sequence: number; checks: Check[] }> =>
  inSnapshot(pool, async (ask) => {
    const { sequence } = await readCursor(ask);
    const checks: Check[] = [];
    for (const { name, meaning, sql } of CHECKS) {
      const rows = await ask<Violation & { count: bigint }>(
        `select subject, expected, found, count(*) over () as count from (${sql}) as violation
         order by subject limit ${MOST_VIOLATIONS}`,
      );
      checks.push({
        name,
        meaning,
        count: Number(rows[0]?.count ?? 0n),
        violations: rows.map(({ subject, expected, found }) => ({ subject, expected, found })),
      });
    }
    return { sequence, checks };
  });
