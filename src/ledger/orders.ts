/** Orders as settled, with as many of their fills as a reader asks for. */

import type pg from 'pg';
import type { Cursor } from '../domain/event.ts';
import type { Order, OrderStatus, OrderType, Side, TimeInForce, Trade } from '../domain/order.ts';
import { readCursor } from './cursor.ts';
import { LOT_COLUMNS, type LotRow, lotOf } from './lot.ts';
import { type Ask, askOnce, inOrder } from './pool.ts';
import { storable } from './text.ts';
import { newestFills } from './trades.ts';
import { endOf } from './walk.ts';

/** An order without its fills, and how many it has. */
export type OrderHead = Order & { readonly fillCount: number };

/** `trades`: its newest fills, as many as were asked for, in the order of execution. */
export type SettledOrder = OrderHead & { readonly trades: readonly Trade[] };

export interface OrdersPage {
  /** All unless given. */
  readonly status?: 'live' | 'closed' | undefined;
  /** Only orders that were placed before this event. */
  readonly beforeSequence?: number | undefined;
  readonly limit: number;
  /**
   * Orders that the engine filled or closed, whether that is settled or not. A page of live or of closed orders
   * carries those of them that are live in the ledger, beyond its limit: the reader knows what became of them.
   */
  readonly touchedIds?: readonly string[] | undefined;
}

/** Number of the newest fills to read for each order, by id; an order that is not named gets none. */
export type FillShares = (settled: {
  readonly cursor: Cursor;
  readonly orders: readonly OrderHead[];
}) => ReadonlyMap<string, number>;

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

const headOf = (row: OrderRow): OrderHead => ({
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
});

/** The wallet's newest orders of one of the indexes on (wallet, sequence), which `where` selects. */
const newest = (where: string): string =>
  `(select ${ORDER_COLUMNS} from orders where ${where} ${endOf(['wallet'], 'sequence', ['$1'], '$2')} limit $3)`;

/** `offset 0` keeps the conditions after it from choosing another index than that of the ids. */
const TOUCHED = `(select ${ORDER_COLUMNS} from unnest($4::text[]) as touched (touched_id)
  cross join lateral (select * from orders where id = touched_id offset 0) as found
  where wallet = $1 and closed_sequence is null and sequence < $2)`;

const PAGES = {
  all: newest('true'),
  live: `${newest('closed_sequence is null and id <> all($4)')} union all ${TOUCHED}`,
  closed: `${newest('closed_sequence is not null')} union all ${TOUCHED}`,
};

const readHeads = async (ask: Ask, wallet: string, page: OrdersPage): Promise<OrderHead[]> => {
  const { status = 'all', beforeSequence = Number.MAX_SAFE_INTEGER, limit, touchedIds = [] } = page;
  const parameters = [wallet, beforeSequence, limit];
  const rows = await ask<OrderRow>(
    PAGES[status],
    status === 'all' ? parameters : [...parameters, touchedIds],
  );
  return rows.map(headOf);
};

/** A page of the wallet's orders in no order, and of those that `sharesOf` names their newest fills. */
export const ordersOf = (
  pool: pg.Pool,
  wallet: string,
  page: OrdersPage,
  sharesOf: FillShares,
): Promise<{ cursor: Cursor; orders: SettledOrder[] }> =>
  inOrder(pool, async (ask) => {
    const cursor = await readCursor(ask);
    const heads = await readHeads(ask, wallet, page);
    const fills = await newestFills(ask, sharesOf({ cursor, orders: heads }));
    return { cursor, orders: heads.map((head) => ({ ...head, trades: fills.get(head.id) ?? [] })) };
  });

/** An order of any wallet, with its newest fills up to a number. */
export const orderById = (
  pool: pg.Pool,
  id: string,
  mostFills: number,
): Promise<{ cursor: Cursor; order: SettledOrder | null }> =>
  inOrder(pool, async (ask) => {
    const cursor = await readCursor(ask);
    const [row] = await ask<OrderRow>(`select ${ORDER_COLUMNS} from orders where id = $1`, [id]);
    if (row === undefined) return { cursor, order: null };
    const fills = await newestFills(ask, new Map([[id, mostFills]]));
    return { cursor, order: { ...headOf(row), trades: fills.get(id) ?? [] } };
  });

/** The id of the wallet's order with this client order id; null when there is none. One statement, one row. */
export const orderIdByClientId = async (
  pool: pg.Pool,
  wallet: string,
  clientOrderId: string,
): Promise<string | null> => {
  const [row] = await askOnce<{ id: string }>(
    pool,
    'select id from orders where wallet = $1 and client_order_id = $2 and client_order_id is not null',
    [wallet, storable(clientOrderId)],
  );
  return row?.id ?? null;
};
