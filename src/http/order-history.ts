/** A wallet's orders and trades as they stand: what Postgres has, and what the engine did since. */

import { Refusal } from '../domain/errors.ts';
import type { EngineEvent } from '../domain/event.ts';
import type { Trade } from '../domain/order.ts';
import { foldOrders, foldTrades } from './order-fold.ts';
import type { OrderWithTrades } from './replies/order.ts';
import type { Services } from './services.ts';

type Stores = Pick<Services, 'engine' | 'ledger'>;

/** The latest `limit` orders, newest first. Throws SERVICE_UNAVAILABLE while Postgres is away. */
export async function ordersOf(
  { engine, ledger }: Stores,
  wallet: string,
  limit: number,
): Promise<OrderWithTrades[]> {
  const events = await engine.unsettledOf(wallet);
  const settled = await ledger.ordersOf(wallet, limit);
  return foldOrders(settled, events, wallet).slice(0, limit);
}

/** The latest `limit` trades, newest first. Throws SERVICE_UNAVAILABLE while Postgres is away. */
export async function tradesOf(
  { engine, ledger }: Stores,
  wallet: string,
  filter: { readonly market?: string; readonly limit: number },
): Promise<Trade[]> {
  const events = await engine.unsettledOf(wallet);
  const settled = await ledger.tradesOf(wallet, filter);
  return foldTrades(settled, events, wallet, filter.market).slice(0, filter.limit);
}

const NOTHING_SETTLED = { cursor: { epoch: 0, sequence: 0 }, orders: [] };

const creates =
  (id: string) =>
  (event: EngineEvent): boolean =>
    event.kind === 'order_placed' && event.order.id === id;

/**
 * An order of the wallet that is known to exist. Needs Postgres only when its placement is settled: while the
 * engine still has that event it has all later ones, and they tell the whole order.
 */
export async function orderOf(
  { engine, ledger }: Stores,
  wallet: string,
  id: string,
): Promise<OrderWithTrades> {
  const events = await engine.unsettledOf(wallet);
  const settled = events.some(creates(id)) ? NOTHING_SETTLED : await settledOrder(ledger, id);
  const order = foldOrders(settled, events, wallet).find((found) => found.id === id);
  if (order === undefined) throw new Refusal('SERVICE_UNAVAILABLE', 'the order cannot be read at the moment');
  return order;
}

async function settledOrder(ledger: Services['ledger'], id: string) {
  const { cursor, order } = await ledger.orderById(id);
  return { cursor, orders: order === null ? [] : [order] };
}
