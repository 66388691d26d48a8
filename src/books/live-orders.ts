/** Reads a wallet's live orders: those that Postgres has, changed by the events that are not settled. */

import type { EngineEvent } from '../domain/event.ts';
import { isLive, type Lot, type Side } from '../domain/order.ts';
import type { Servers } from './servers.ts';

export interface LiveOrder {
  readonly id: string;
  readonly market: string;
  readonly side: Side;
  readonly priceTicks: bigint;
  readonly sizeSteps: bigint;
  readonly remainingSteps: bigint;
  readonly clientOrderId: string | null;
  readonly sequence: number;
  readonly lot: Lot;
}

/**
 * Returns the orders newest first. The engine is asked before Postgres: an event that was settled in between is found
 * twice and counted once. In the other order it could be missed.
 * The walk passes the live orders of every wallet, in Postgres, where it holds nobody up. It is made for an operator
 * who looks at one account, not for serving requests.
 */
export async function liveOrdersOf({ engine, ledger }: Servers, wallet: string): Promise<LiveOrder[]> {
  const unsettled = await engine.outbox.unsettledOf(wallet);
  const { sequence } = await ledger.settlement.cursor();
  const orders = new Map<string, LiveOrder>();
  for await (const order of ledger.state.liveOrders(sequence)) {
    if (order.wallet === wallet && order.priceTicks !== null) {
      orders.set(order.id, { ...order, priceTicks: order.priceTicks });
    }
  }
  for (const event of unsettled) if (event.sequence > sequence) apply(event, wallet, orders);
  return [...orders.values()].sort((one, other) => other.sequence - one.sequence);
}

function apply(event: EngineEvent, wallet: string, orders: Map<string, LiveOrder>): void {
  if (event.kind === 'orders_closed') {
    for (const { id } of event.orders) orders.delete(id);
  } else if (event.kind === 'order_placed') {
    const { order, status, filledSteps } = event;
    if (order.wallet === wallet && order.priceTicks !== null && isLive(status)) {
      const remainingSteps = order.sizeSteps - filledSteps;
      orders.set(order.id, { ...order, priceTicks: order.priceTicks, remainingSteps });
    }
    for (const { makerOrderId, sizeSteps } of event.trades) {
      const maker = orders.get(makerOrderId);
      if (maker === undefined) continue;
      const remainingSteps = maker.remainingSteps - sizeSteps;
      if (remainingSteps === 0n) orders.delete(makerOrderId);
      else orders.set(makerOrderId, { ...maker, remainingSteps });
    }
    for (const { id } of event.expired) orders.delete(id);
  }
}
