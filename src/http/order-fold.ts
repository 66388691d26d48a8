/**
 * Adds what the engine did to what is settled. A list is read from the engine first and from Postgres second;
 * whatever was settled in between is in both, and the cursor of the Postgres snapshot tells it apart.
 */

import type { Cursor, EngineEvent } from '../domain/event.ts';
import { type ClosedOrder, statusAfterFill, type Trade } from '../domain/order.ts';
import type { OrderWithTrades } from './replies/order.ts';

type Orders = Map<string, OrderWithTrades>;

const isAfter =
  (cursor: Cursor) =>
  (event: EngineEvent): boolean =>
    event.sequence > cursor.sequence;

/**
 * The wallet's orders after the events, newest first. Events of orders that are not among the given ones are
 * passed over.
 * @param events in order; those that the cursor covers are skipped
 */
export function foldOrders(
  settled: { readonly cursor: Cursor; readonly orders: readonly OrderWithTrades[] },
  events: readonly EngineEvent[],
  wallet: string,
): OrderWithTrades[] {
  const orders: Orders = new Map(settled.orders.map((order) => [order.id, order]));
  for (const event of events.filter(isAfter(settled.cursor))) {
    if (event.kind === 'order_placed') {
      const { order, status, filledSteps, trades } = event;
      if (order.wallet === wallet) {
        orders.set(order.id, { ...order, status, filledSteps, updatedAtMs: event.timeMs, trades });
      } else {
        for (const trade of trades) fillMaker(orders, trade);
      }
      for (const closed of event.expired) close(orders, closed, event.timeMs);
    } else if (event.kind === 'orders_closed') {
      for (const closed of event.orders) close(orders, closed, event.timeMs);
    }
  }
  return [...orders.values()].sort((one, other) => other.sequence - one.sequence);
}

function fillMaker(orders: Orders, trade: Trade): void {
  const order = orders.get(trade.makerOrderId);
  if (order === undefined) return;
  const filledSteps = order.filledSteps + trade.sizeSteps;
  orders.set(order.id, {
    ...order,
    filledSteps,
    status: statusAfterFill(filledSteps, order.sizeSteps),
    updatedAtMs: trade.timeMs,
    trades: [...order.trades, trade],
  });
}

function close(orders: Orders, closed: ClosedOrder, timeMs: number): void {
  const order = orders.get(closed.id);
  if (order !== undefined) orders.set(order.id, { ...order, status: closed.status, updatedAtMs: timeMs });
}

/** The wallet's trades of the events, as maker or taker, before those of the snapshot; newest first. */
export function foldTrades(
  settled: { readonly cursor: Cursor; readonly trades: readonly Trade[] },
  events: readonly EngineEvent[],
  wallet: string,
  market: string | undefined,
): Trade[] {
  const fresh = events
    .filter(isAfter(settled.cursor))
    .flatMap((event) => (event.kind === 'order_placed' ? event.trades : []))
    .filter((trade) => trade.takerWallet === wallet || trade.makerWallet === wallet)
    .filter((trade) => market === undefined || trade.market === market);
  return [...fresh.reverse(), ...settled.trades];
}
