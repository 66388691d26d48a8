/** Orders as settled, each with every trade it took part in. */

import type pg from 'pg';
import type { Cursor } from '../domain/event.ts';
import type { Order, OrderStatus, OrderType, Side, TimeInForce, Trade } from '../domain/order.ts';
import { readCursor } from './cursor.ts';
import { LOT_COLUMNS, type LotRow, lotOf } from './lot.ts';
import { type Ask, askOnce, inSnapshot } from './pool.ts';
import { storable } from './text.ts';
import { tradesOfOrders } from './trades.ts';

/** `trades` in the order of execution. */
export type SettledOrder = Order & { readonly fillCount: number; readonly trades: readonly Trade[] };

interface OrderRow extends LotRow {
  id: string;
  wallet: string;
  market: string;
  side: Side;
  type: OrderType;
  time_in_force: TimeInForce;
  post_only: boolean;
  leverage: number | null;
  price_ticks: bigint | null;
  size_steps: bigint;
  filled_steps: bigint;
  fill_count: bigint;
  status: OrderStatus;
  client_order_id: string | null;
  created_at_ms: bigint;
  updated_at_ms: bigint;
  sequence: bigint;
}

const ORDER_COLUMNS = `id, wallet, market, side, type, time_in_force, post_only, leverage, price_ticks, size_steps,
  filled_steps, fill_count, status, client_order_id, created_at_ms, updated_at_ms, sequence, ${LOT_COLUMNS}`;

const orderOf = (row: OrderRow, trades: readonly Trade[]): SettledOrder => ({
  id: row.id,
  wallet: row.wallet,
  market: row.market,
  side: row.side,
  type: row.type,
  timeInForce: row.time_in_force,
  postOnly: row.post_only,
  leverage: row.leverage,
  priceTicks: row.price_ticks,
  sizeSteps: row.size_steps,
  filledSteps: row.filled_steps,
  fillCount: Number(row.fill_count),
  status: row.status,
  clientOrderId: row.client_order_id,
  createdAtMs: Number(row.created_at_ms),
  updatedAtMs: Number(row.updated_at_ms),
  sequence: Number(row.sequence),
  lot: lotOf(row),
  trades,
});

/** @param selection What follows `from orders`. */
const readOrders = async (
  ask: Ask,
  selection: string,
  parameters: readonly unknown[],
): Promise<{ cursor: Cursor; orders: SettledOrder[] }> => {
  const cursor = await readCursor(ask);
  const rows = await ask<OrderRow>(`select ${ORDER_COLUMNS} from orders ${selection}`, parameters);
  const trades = await tradesOfOrders(
    ask,
    rows.map((row) => row.id),
  );
  return { cursor, orders: rows.map((row) => orderOf(row, trades.get(row.id) ?? [])) };
};

/** The wallet's latest orders, newest first. */
export const ordersOf = (pool: pg.Pool, wallet: string, limit: number) =>
  inSnapshot(pool, (ask) =>
    readOrders(ask, 'where wallet = $1 order by sequence desc limit $2', [wallet, limit]),
  );

const readOrder = async (ask: Ask, selection: string, parameters: readonly unknown[]) => {
  const { cursor, orders } = await readOrders(ask, selection, parameters);
  return { cursor, order: orders[0] ?? null };
};

export const orderById = (pool: pg.Pool, id: string) =>
  inSnapshot(pool, (ask) => readOrder(ask, 'where id = $1', [id]));

/**
 * A placement with a new client order id asks this first, so "there is none" is the common answer and
 * must be cheap: one statement. Only an order that exists is then read whole, in a snapshot.
 */
export const orderByClientId = async (
  pool: pg.Pool,
  wallet: string,
  clientOrderId: string,
): Promise<{ cursor: Cursor; order: SettledOrder | null }> => {
  const [row] = await askOnce<{ epoch: bigint; sequence: bigint; id: string | null }>(
    pool,
    `select epoch, sequence,
       (select id from orders where wallet = $1 and client_order_id = $2 and client_order_id is not null) as id
     from engine_cursor`,
    [wallet, storable(clientOrderId)],
  );
  if (row?.id) return orderById(pool, row.id);
  return { cursor: { epoch: Number(row?.epoch), sequence: Number(row?.sequence) }, order: null };
};
