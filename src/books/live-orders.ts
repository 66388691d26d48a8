/** Reads a wallet's live orders: the settled orders from Postgres, updated by the events that are not settled yet. */

import { type ClosedOrder, isLive, type LiveOrder, type RestingOrder, type Trade } from '../domain/order.ts';
import {
  closeOrder,
  fillMaker,
  lifeOfPlaced,
  type OrderLife,
  type OrderVisitor,
  type PlacedEvent,
  remainingSteps,
  visitOrders,
} from '../domain/order-life.ts';
import type { Servers } from './servers.ts';

/**
 * Returns the orders newest first. Reads the engine before Postgres: an event that is settled between the two reads is
 * found twice and counted once. In the other order it could be missed.
 *
 * Scans the live orders of all wallets in Postgres, which blocks nobody. It is meant for an operator who looks at one
 * account, not for serving requests.
 */
export async function readLiveOrders({ engine, ledger }: Servers, wallet: string): Promise<RestingOrder[]> {
  const unsettled = await engine.outbox.readUnsettled(wallet);
  const { sequence } = await ledger.settlement.cursor();
  const orders = new WalletOrders(wallet);
  for await (const order of ledger.state.liveOrders(sequence)) orders.add(order);
  for (const event of unsettled) if (event.sequence > sequence) visitOrders(event, orders);
  return orders.newestFirst();
}

type RestingTerms = Omit<RestingOrder, 'remainingSteps'>;

/** Orders of a wallet that were live at some time, by id. */
class WalletOrders implements OrderVisitor {
  readonly #wallet: string;
  readonly #orders = new Map<string, { readonly terms: RestingTerms; readonly life: OrderLife }>();

  constructor(wallet: string) {
    this.#wallet = wallet;
  }

  /** Adds a settled order if it belongs to the wallet and is resting. */
  add(order: LiveOrder): void {
    const { wallet, priceTicks, sizeSteps } = order;
    if (wallet !== this.#wallet || priceTicks === null) return;
    const filledSteps = sizeSteps - order.remainingSteps;
    const status = filledSteps === 0n ? 'resting' : 'partially_filled';
    const life: OrderLife = { sizeSteps, filledSteps, fillCount: 0, status, reason: null, updatedAtMs: 0 };
    this.#orders.set(order.id, { terms: { ...order, priceTicks }, life });
  }

  placed(event: PlacedEvent): void {
    const { order } = event;
    const { wallet, priceTicks } = order;
    if (wallet !== this.#wallet || priceTicks === null) return;
    this.#orders.set(order.id, { terms: { ...order, priceTicks }, life: lifeOfPlaced(event) });
  }

  filled(trade: Trade): void {
    const found = this.#orders.get(trade.makerOrderId);
    if (found !== undefined) fillMaker(found.life, trade);
  }

  closed(order: ClosedOrder): void {
    const found = this.#orders.get(order.id);
    if (found !== undefined) closeOrder(found.life, order, found.life.updatedAtMs);
  }

  newestFirst(): RestingOrder[] {
    return [...this.#orders.values()]
      .filter(({ life }) => isLive(life.status))
      .map(({ terms, life }) => ({ ...terms, remainingSteps: remainingSteps(life) }))
      .sort((one, other) => other.sequence - one.sequence);
  }
}
