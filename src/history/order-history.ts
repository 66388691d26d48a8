/**
 * Reads a wallet's orders and trades from Postgres and applies the unsettled events. An event that touches an order is
 * never older than its placement, and trades are numbered by age. So a page that is complete with the wallet's newest
 * events needs neither older events nor Postgres.
 */

import type { Cursor, EngineEvent } from '../domain/event.ts';
import {
  type Fill,
  type FillLimits,
  fillOf,
  isLive,
  isOrderId,
  type ListedOrder,
  type Trade,
  type WalletTrade,
} from '../domain/order.ts';
import type { Direction, Ledger, TimeSpan } from '../ledger/index.ts';
import { type FoldedOrder, foldOrders, foldTrades, isWithin, type TradesFilter } from './order-fold.ts';
import { fitting, newest, type OrderWithFills, type ShownFills, shownFillsOf } from './shown-fills.ts';
import { reaching, touchedIds, type UnsettledStores, unsettledEvents } from './unsettled.ts';

export interface Stores extends UnsettledStores {
  readonly ledger: Ledger;
  readonly settings: FillLimits;
}

/** Part of a list, with the position of the next part, which is null at the end. */
interface ListPart<Item> {
  readonly items: readonly Item[];
  readonly next: number | null;
}

const BEFORE_ALL: Cursor = { epoch: 0, sequence: 0 };
export const NOTHING_SETTLED = { cursor: BEFORE_ALL, orders: [], trades: [] };

const creates =
  (id: string) =>
  (event: EngineEvent): boolean =>
    event.kind === 'order_placed' && event.order.id === id;

interface OrdersFilter {
  /** If absent, orders of every status are listed. */
  readonly status?: 'live' | 'closed' | undefined;
  /** Symbol. If absent, orders of every market are listed. */
  readonly market?: string | undefined;
  /** Lists only orders that were placed before this event. */
  readonly beforeSequence?: number | undefined;
  /** Lists only orders that were placed after this event. */
  readonly afterSequence?: number | undefined;
  readonly span?: TimeSpan | undefined;
  /** The newest first unless given. */
  readonly direction?: Direction | undefined;
}

/**
 * Returns a page of the wallet's orders in the order of their placement, newest first unless asked otherwise. The page ends early where the reply has no room for
 * the fills of the next order. An order never changes its place, so consecutive
 * pages show no order twice. They include every order that keeps the status from the first page to the last.
 * @throws Refusal SERVICE_UNAVAILABLE if Postgres is needed and unavailable
 */
export async function readOrders(
  { engine, ledger, settings }: Stores,
  wallet: string,
  filter: OrdersFilter,
  limit: number,
): Promise<ListPart<OrderWithFills>> {
  const {
    status,
    market,
    beforeSequence = Number.MAX_SAFE_INTEGER,
    afterSequence = 0,
    span,
    direction,
  } = filter;
  const isAsked = (order: Pick<ListedOrder, 'sequence' | 'market' | 'createdAtMs'>): boolean =>
    order.sequence < beforeSequence &&
    order.sequence > afterSequence &&
    (market === undefined || order.market === market) &&
    isWithin(order.createdAtMs, span);
  const isListed = ({ order }: FoldedOrder): boolean =>
    isAsked(order) && (status === undefined || isLive(order.status) === (status === 'live'));
  const places = (event: EngineEvent): boolean =>
    event.kind === 'order_placed' && event.order.wallet === wallet && isAsked(event.order);
  const listed = (folded: FoldedOrder[]): FoldedOrder[] => {
    const found = folded.filter(isListed);
    return direction === 'asc' ? found.reverse() : found;
  };
  const listedIn = (events: readonly EngineEvent[]): FoldedOrder[] =>
    listed(foldOrders(NOTHING_SETTLED, events, wallet));
  // The count is cheap. Each further placement adds one order to the list at most.
  let minPlaced = limit + 1;
  const { events, isEnough, settledTo } = await unsettledEvents({ engine, ledger }, wallet, {
    isEnough(newest) {
      if (direction === 'asc') return false;
      const placed = newest.filter(places).length;
      if (placed < minPlaced) return false;
      const missing = limit + 1 - listedIn(newest).length;
      minPlaced = placed + missing;
      return missing <= 0;
    },
  });
  const pageOfOrders = <Item extends { readonly order: ListedOrder }>(
    found: readonly Item[],
  ): ListPart<Item> => pageOf(found, fitting(found.slice(0, limit), settings), ({ order }) => order.sequence);
  if (isEnough) {
    const { items, next } = pageOfOrders(listedIn(events));
    return { items: withFills(items, new Map(), settings), next };
  }
  // One extra order tells whether there is a next page.
  const page = { ...filter, limit: limit + 1 };
  if (events.length === 0) {
    const read = await ledger.orders.ofWallet(wallet, { ...page, fills: { ...settings, orders: limit } });
    const { orders } = reaching(settledTo, read);
    return pageOfOrders(orders.map((order) => ({ order, shown: order })));
  }
  const read = await ledger.orders.ofWallet(wallet, { ...page, touchedIds: touchedIds(events, wallet) });
  const settled = reaching(settledTo, read);
  const { items, next } = pageOfOrders(listed(foldOrders(settled, events, wallet)));
  const fills = await ledger.orders.fills(settledCounts(items, settings), settled.cursor);
  return { items: withFills(items, fills, settings), next };
}

/** @param items the first of those that were found */
function pageOf<Item>(
  found: readonly Item[],
  items: readonly Item[],
  positionOf: (item: Item) => number,
): ListPart<Item> {
  return { items, next: found.length > items.length ? positionOf(items.at(-1)!) : null };
}

/** Returns the number of settled fills that each order shows beside its unsettled ones, by order id. */
export const settledCounts = (orders: readonly FoldedOrder[], limits: FillLimits): Map<string, number> =>
  new Map(
    orders.map(({ order, unsettledFills }) => [
      order.id,
      Math.max(0, shownFillsOf(order, limits) - unsettledFills.length),
    ]),
  );

/**
 * Returns the orders with their newest fills.
 * @param settled settled fills by order id
 */
export const withFills = (
  orders: readonly FoldedOrder[],
  settled: ReadonlyMap<string, readonly Fill[]>,
  limits: FillLimits,
): OrderWithFills[] => orders.map((folded) => withNewest(folded, settled.get(folded.order.id) ?? [], limits));

const withNewest = (
  { order, unsettledFills }: FoldedOrder,
  settled: readonly Fill[],
  limits: FillLimits,
): OrderWithFills => ({
  order,
  shown: {
    fillCount: order.fillCount,
    fills: newest([...settled, ...unsettledFills], shownFillsOf(order, limits)),
  },
});

/**
 * Returns a page of the wallet's trades, newest first unless asked otherwise.
 * @throws Refusal SERVICE_UNAVAILABLE if Postgres is needed and unavailable
 */
export async function readTrades(
  { engine, ledger }: Stores,
  wallet: string,
  filter: TradesFilter,
  limit: number,
): Promise<ListPart<WalletTrade>> {
  const { orderId, direction } = filter;
  if (orderId !== undefined && !isOrderId(orderId)) return { items: [], next: null };
  const tradesIn = (events: readonly EngineEvent[]): WalletTrade[] =>
    foldTrades(NOTHING_SETTLED, events, wallet, filter);
  const { events, isEnough, settledTo } = await unsettledEvents({ engine, ledger }, wallet, {
    orderId,
    isEnough: (newest) =>
      (direction !== 'asc' && tradesIn(newest).length > limit) ||
      (orderId !== undefined && newest.some(creates(orderId))),
  });
  const trades = isEnough
    ? tradesIn(events)
    : foldTrades(
        reaching(settledTo, await ledger.trades.ofWallet(wallet, { ...filter, limit: limit + 1 })),
        events,
        wallet,
        filter,
      );
  return pageOf(trades, trades.slice(0, limit), ({ fill }) => Number(fill.tradeId));
}

/**
 * Returns an order of the wallet, or undefined if the wallet has no order with this id. Reads Postgres only if the
 * placement is settled: while the engine still has that event, it has all later ones, and they contain the whole order.
 * @throws Refusal SERVICE_UNAVAILABLE if Postgres is needed and unavailable
 */
export async function findOrder(
  { engine, ledger, settings }: Stores,
  wallet: string,
  id: string,
): Promise<OrderWithFills | undefined> {
  if (!isOrderId(id)) return undefined;
  const maxFills = shownFillsOf({ fillCount: Number.POSITIVE_INFINITY }, settings);
  const { events, settledTo } = await unsettledEvents({ engine, ledger }, wallet, {
    orderId: id,
    isEnough: (newest) => newest.some(creates(id)),
  });
  const { cursor, order } = events.some(creates(id))
    ? { cursor: BEFORE_ALL, order: null }
    : reaching(settledTo, await ledger.orders.byId(wallet, id, maxFills));
  const orders = order === null ? [] : [order];
  const found = foldOrders({ cursor, orders }, events, wallet).find((folded) => folded.order.id === id);
  if (found === undefined) return undefined;
  return withNewest(found, order?.fills ?? [], settings);
}

/** Returns the fills of an order that was just placed, cut to the reply limits. */
export function placedFills(orderId: string, trades: readonly Trade[], limits: FillLimits): ShownFills {
  const fillCount = trades.length;
  const shown = newest(trades, shownFillsOf({ fillCount }, limits));
  return { fillCount, fills: shown.map((trade) => fillOf(trade, orderId)) };
}
