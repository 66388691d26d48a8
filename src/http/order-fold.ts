/**
 * Adds what the engine did to what is settled. A list is read from the engine first and from Postgres second;
 * whatever was settled in between is in both, and the cursor of the Postgres snapshot tells it apart.
 */

import type { Cursor, EngineEvent } from '../domain/event.ts';
import { type ClosedOrder, statusAfterFill, type Trade } from '../domain/order.ts';
import type { OrderHead } from '../ledger/index.ts';

/** An order as it stands, and those of its fills that are not settled, in the order of execution. */
export type FoldedOrder = OrderHead & { readonly unsettledTrades: readonly Trade[] };

type Draft = { -readonly [Key in keyof OrderHead]: OrderHead[Key] } & { unsettledTrades: Trade[] };

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
  settled: { readonly cursor: Cursor; readonly orders: readonly OrderHead[] },
  events: readonly EngineEvent[],
  wallet: string,
): FoldedOrder[] {
  const orders = new Map<string, Draft>();
  for (const order of settled.orders) orders.set(order.id, { ...order, unsettledTrades: [] });
  for (const event of events.filter(isAfter(settled.cursor))) {
    if (event.kind === 'order_placed') {
      if (event.order.wallet === wallet) orders.set(event.order.id, placed(event));
      else for (const trade of event.trades) fillMaker(orders, trade);
      for (const closed of event.expired) close(orders, closed, event.timeMs);
    } else if (event.kind === 'orders_closed') {
      for (const closed of event.orders) close(orders, closed, event.timeMs);
    }
  }
  return [...orders.values()].sort((one, other) => other.sequence - one.sequence);
}

const placed = ({
  order,
  status,
  filledSteps,
  trades,
  timeMs,
}: EngineEvent & { kind: 'order_placed' }): Draft => ({
  ...order,
  ...{ status, filledSteps, updatedAtMs: timeMs, fillCount: trades.length, unsettledTrades: [...trades] },
});

function fillMaker(orders: ReadonlyMap<string, Draft>, trade: Trade): void {
  const order = orders.get(trade.makerOrderId);
  if (order === undefined) return;
  order.filledSteps += trade.sizeSteps;
  order.status = statusAfterFill(order.filledSteps, order.sizeSteps);
  order.updatedAtMs = trade.timeMs;
  order.fillCount += 1;
  order.unsettledTrades.push(trade);
}

function close(orders: ReadonlyMap<string, Draft>, { id, status }: ClosedOrder, timeMs: number): void {
  const order = orders.get(id);
  if (order === undefined) return;
  order.status = status;
  order.updatedAtMs = timeMs;
}

/** Which of a wallet's trades a list asks for. */
export interface TradesFilter {
  readonly market?: string | undefined;
  readonly orderId?: string | undefined;
  readonly beforeTradeId?: number | undefined;
}

/** The wallet's trades of the events, as maker or taker, before those of the snapshot; newest first. */
export function foldTrades(
  settled: { readonly cursor: Cursor; readonly trades: readonly Trade[] },
  events: readonly EngineEvent[],
  wallet: string,
  { market, orderId, beforeTradeId = Number.MAX_SAFE_INTEGER }: TradesFilter,
): Trade[] {
  const isOwn = ({ takerWallet, makerWallet, takerOrderId, makerOrderId }: Trade): boolean =>
    (takerWallet === wallet && (orderId === undefined || orderId === takerOrderId)) ||
    (makerWallet === wallet && (orderId === undefined || orderId === makerOrderId));
  const fresh = events
    .filter(isAfter(settled.cursor))
    .flatMap((event) => (event.kind === 'order_placed' ? event.trades : []))
    .filter((trade) => isOwn(trade) && trade.tradeId < beforeTradeId)
    .filter((trade) => market === undefined || trade.market === market);
  return [...fresh.reverse(), ...settled.trades];
}
