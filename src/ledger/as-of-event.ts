/** Balances and live orders as of an event. */

import type pg from 'pg';
import type { LiveOrder, Side } from '../domain/order.ts';
import { LOT_COLUMNS, type LotRow, lotOf } from './lot.ts';
import { streamRows } from './pool.ts';

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
