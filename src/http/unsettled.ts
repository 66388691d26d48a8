/** Reads a wallet's unsettled events, without the parts that concern other wallets. */

import { Refusal } from '../domain/errors.ts';
import type { EngineEvent } from '../domain/event.ts';
import { type OrderVisitor, visitOrders } from '../domain/order-life.ts';
import type { Engine } from '../engine/index.ts';

/**
 * Maximum number of placements, fills and closed orders in memory per read, some 500 bytes each. A wallet exceeds it
 * only while settlement is stopped.
 */
const MOST_PARTS = 50_000;

/**
 * Returns the wallet's unsettled events, oldest first: placements, fills and closings of its orders.
 * @param orderId limits the events to one order; default all orders
 * @throws Refusal SERVICE_UNAVAILABLE if the settlement backlog is too large for memory
 */
export async function unsettledEvents(
  engine: Engine,
  wallet: string,
  orderId?: string,
): Promise<EngineEvent[]> {
  const events: EngineEvent[] = [];
  let parts = 0;
  for await (const page of engine.outbox.unsettledPages(wallet)) {
    for (const event of page) {
      const own = ownPart(event, wallet, orderId);
      if (own === undefined) continue;
      events.push(own);
      parts += partsOf(own);
    }
    if (parts > MOST_PARTS) {
      throw new Refusal(
        'SERVICE_UNAVAILABLE',
        'settlement is behind: lists are back when it has caught up; trading goes on',
      );
    }
  }
  return events;
}

/** Returns the ids of the wallet's orders that the events filled or closed. */
export function touchedIds(events: readonly EngineEvent[], wallet: string): string[] {
  const ids = new Set<string>();
  const visitor: OrderVisitor = {
    placed: () => undefined,
    filled({ makerWallet, makerOrderId }) {
      if (makerWallet === wallet) ids.add(makerOrderId);
    },
    closed: ({ id }) => void ids.add(id),
  };
  for (const event of events) visitOrders(event, visitor);
  return [...ids];
}

/** Returns the event without fills and closed orders of other wallets, or undefined if nothing is left. */
function ownPart(event: EngineEvent, wallet: string, orderId: string | undefined): EngineEvent | undefined {
  const isOwn = (owner: string, id: string): boolean =>
    owner === wallet && (orderId === undefined || orderId === id);
  if (event.kind === 'orders_closed') {
    const orders = event.orders.filter((order) => isOwn(order.wallet, order.id));
    return orders.length === 0 ? undefined : { ...event, orders };
  }
  if (event.kind !== 'order_placed') return undefined;
  const expired = event.expired.filter((order) => isOwn(order.wallet, order.id));
  if (isOwn(event.order.wallet, event.order.id)) return { ...event, expired };
  const trades = event.trades.filter((trade) => isOwn(trade.makerWallet, trade.makerOrderId));
  return trades.length + expired.length === 0 ? undefined : { ...event, trades, expired };
}

function partsOf(event: EngineEvent): number {
  if (event.kind === 'orders_closed') return event.orders.length;
  return event.kind === 'order_placed' ? 1 + event.trades.length + event.expired.length : 0;
}
