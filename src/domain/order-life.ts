/**
 * Applies events to orders: placed, filled as a maker, closed. Settlement, the lists of a wallet and reconcile all use
 * this file, so that they interpret events alike.
 */

import type { EngineEvent, OrderPlacedEvent } from './event.ts';
import { type ClosedOrder, isLive, type Order, type OrderStatus, type Trade } from './order.ts';

/** Kinds of changes in the order in which an event makes them. A place after an event follows all its kinds. */
export const KIND = { placed: 0, filled: 1, closed: 2, after: 3 } as const;

/** Progress of an order. Its functions change it in place, because settlement applies thousands of events a batch. */
export interface OrderLife {
  readonly sizeSteps: bigint;
  filledSteps: bigint;
  /** Number of trades that the order took part in, as taker or maker. */
  fillCount: number;
  status: OrderStatus;
  reason: Order['reason'];
  /** Unix milliseconds of the last change of its status or fills. */
  updatedAtMs: number;
}

export type PlacedEvent = EngineEvent & OrderPlacedEvent;

/** Receives what an event does to orders. */
export interface OrderVisitor {
  /** An order was placed. Its own fills and its status are in the event. */
  placed(event: PlacedEvent): void;
  /** The resting order `trade.makerOrderId` was filled. */
  filled(trade: Trade, event: PlacedEvent): void;
  /** A resting order was closed. */
  closed(order: ClosedOrder, event: EngineEvent): void;
}

/** Calls the visitor for each change that the event makes to orders, in the order of the engine. */
export function visitOrders(event: EngineEvent, visitor: OrderVisitor): void {
  if (event.kind === 'order_placed') {
    visitor.placed(event);
    for (const trade of event.trades) visitor.filled(trade, event);
    for (const order of event.expired) visitor.closed(order, event);
  } else if (event.kind === 'orders_closed') {
    for (const order of event.orders) visitor.closed(order, event);
  }
}

/** Returns the state of the order that the event placed, at the end of the event. */
export function lifeOfPlaced({ order, status, reason, filledSteps, trades, timeMs }: PlacedEvent): OrderLife {
  const { sizeSteps } = order;
  return { sizeSteps, filledSteps, fillCount: trades.length, status, reason, updatedAtMs: timeMs };
}

/**
 * Fills a resting order.
 * @returns false, with the order unchanged, when the order had ended or has too little left
 */
export function fillMaker(
  life: OrderLife,
  { sizeSteps, timeMs }: Pick<Trade, 'sizeSteps' | 'timeMs'>,
): boolean {
  const filledSteps = life.filledSteps + sizeSteps;
  if (!isLive(life.status) || filledSteps > life.sizeSteps) return false;
  life.filledSteps = filledSteps;
  life.fillCount += 1;
  life.status = filledSteps === life.sizeSteps ? 'filled' : 'partially_filled';
  life.updatedAtMs = timeMs;
  return true;
}

/**
 * Closes a resting order.
 * @returns false, with the order unchanged, when the order had ended
 */
export function closeOrder(
  life: OrderLife,
  { status, reason }: Pick<ClosedOrder, 'status' | 'reason'>,
  timeMs: number,
): boolean {
  if (!isLive(life.status)) return false;
  life.status = status;
  life.reason = reason;
  life.updatedAtMs = timeMs;
  return true;
}

/** Returns the size that still rests, 0 for an order that has ended. */
export function remainingSteps({ sizeSteps, filledSteps, status }: OrderLife): bigint {
  return isLive(status) ? sizeSteps - filledSteps : 0n;
}
