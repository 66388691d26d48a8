/** Reads a wallet's unsettled events, without the parts that concern other wallets. */

import { historyUnavailable, Refusal } from '../domain/errors.ts';
import type { Cursor, EngineEvent } from '../domain/event.ts';
import { type OrderVisitor, visitOrders } from '../domain/order-life.ts';
import type { Engine } from '../engine/index.ts';
import type { Ledger } from '../ledger/index.ts';

/**
 * Maximum number of placements, fills and closed orders in memory per read, some 500 bytes each. A wallet exceeds it
 * only while settlement is stopped.
 */
const MAX_PARTS = 50_000;

/** Up to this number of events, each page is followed by a check if it is enough, because that is cheap. */
const CHECKED_EACH_PAGE = 500;
/** Growth of the number of events between two later checks, so that all of them cost as much as a few. */
const CHECK_GROWTH = 1.5;

export interface UnsettledStores {
  readonly engine: Pick<Engine, 'outbox' | 'reads'>;
  readonly ledger: Pick<Ledger, 'settlement'>;
}

interface UnsettledRead {
  /** Oldest first. */
  readonly events: readonly EngineEvent[];
  /** True if the reader needs nothing older, neither from the engine nor from Postgres. */
  readonly isEnough: boolean;
  /** True if none of them was settled and trimmed before it was read. */
  readonly isWhole: boolean;
  /** Sequence up to which events were left out, because Postgres had them; 0 if none were. */
  readonly settledTo: number;
}

interface UnsettledFilter {
  /** Limits the events to one order; default all orders. */
  readonly orderId?: string | undefined;
  /**
   * Returns true if the reader needs nothing older. Gets every event of the filter from some event on, oldest first.
   * Reading stops then. Never called when an event may be missing.
   */
  readonly isEnough: (events: readonly EngineEvent[]) => boolean;
}

/**
 * Reads the wallet's unsettled events, newest first, until the reader has enough: placements, fills and closings of its
 * orders.
 * @throws Refusal SERVICE_UNAVAILABLE if the settlement backlog is too large for memory, or goes far back while Postgres
 *   is unavailable
 */
export async function unsettledEvents(
  { engine, ledger }: UnsettledStores,
  wallet: string,
  { orderId, isEnough }: UnsettledFilter,
): Promise<UnsettledRead> {
  let events: EngineEvent[] = [];
  let isWhole = true;
  let isChecked = true;
  let parts = 0;
  let checkAt = 0;
  let settledTo = 0;
  const askLedger = async (): Promise<number> => {
    settledTo = (await ledger.settlement.cursor()).sequence;
    return settledTo;
  };
  for await (const page of engine.outbox.unsettledPages(wallet, askLedger)) {
    const own = page.events.flatMap((event) => ownPart(event, wallet, orderId) ?? []);
    parts += own.reduce((sum, event) => sum + partsOf(event), 0);
    if (parts > MAX_PARTS) throw historyUnavailable();
    events = [...own, ...events];
    isWhole = page.isWhole;
    isChecked &&= own.length === 0;
    if (isWhole && !isChecked && events.length >= checkAt) {
      if (isEnough(events)) return { events, isEnough: true, isWhole, settledTo };
      isChecked = true;
      checkAt = events.length < CHECKED_EACH_PAGE ? 0 : events.length * CHECK_GROWTH;
    }
  }
  return { events, isEnough: isWhole && !isChecked && isEnough(events), isWhole, settledTo };
}

/**
 * Returns a read of Postgres that has all events which the read of the engine left out. A Postgres that was killed in
 * between may come back without its last commits, and the engine still has their events.
 * @throws Refusal SERVICE_UNAVAILABLE if it lacks some of them
 */
export function reaching<Read extends { readonly cursor: Cursor }>(settledTo: number, read: Read): Read {
  if (read.cursor.sequence >= settledTo) return read;
  throw new Refusal('SERVICE_UNAVAILABLE', 'the ledger was restarted during this read: try again');
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

export function partsOf(event: EngineEvent): number {
  if (event.kind === 'orders_closed') return event.orders.length;
  return event.kind === 'order_placed' ? 1 + event.trades.length + event.expired.length : 0;
}
