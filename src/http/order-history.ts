/** A wallet's orders and trades as they stand: what Postgres has, and what the engine did since. */

import type { EngineEvent } from '../domain/event.ts';
import { isLive, isOrderId, type Trade } from '../domain/order.ts';
import type { SettledOrder } from '../ledger/index.ts';
import { type FillLimits, fillShares, newest } from './fill-shares.ts';
import { type FoldedOrder, foldOrders, foldTrades, type TradesFilter } from './order-fold.ts';
import type { OrderWithTrades, ShownFills } from './replies/order.ts';
import type { Services } from './services.ts';
import { touchedIds, unsettledEvents } from './unsettled.ts';

type Stores = Pick<Services, 'engine' | 'ledger' | 'settings'>;

/** Part of a list, and where the next part begins; null at the end. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: number | null;
}

export interface OrdersFilter {
  /** All unless given. */
  readonly status?: 'live' | 'closed' | undefined;
  /** Only orders that were placed before this event. */
  readonly beforeSequence?: number | undefined;
}

/**
 * A page of the wallet's orders, newest first by placement. An order keeps its place for ever, so pages that follow
 * each other show none twice, and every order that has the status from the first page to the last.
 * @throws Refusal SERVICE_UNAVAILABLE while Postgres is away
 */
export async function ordersOf(
  { engine, ledger, settings }: Stores,
  wallet: string,
  { status, beforeSequence = Number.MAX_SAFE_INTEGER }: OrdersFilter,
  limit: number,
): Promise<Page<OrderWithTrades>> {
  const events = await unsettledEvents(engine, wallet);
  const isListed = (order: FoldedOrder): boolean =>
    order.sequence < beforeSequence && (status === undefined || isLive(order.status) === (status === 'live'));
  let found: FoldedOrder[] = [];
  let shares: number[] = [];
  // One more than is shown tells whether there is a next page.
  const page = { status, beforeSequence, limit: limit + 1, touchedIds: touchedIds(events, wallet) };
  const { orders } = await ledger.ordersOf(wallet, page, (settled) => {
    found = foldOrders(settled, events, wallet)
      .filter(isListed)
      .slice(0, limit + 1);
    shares = fillShares(found.slice(0, limit), settings);
    return new Map(shares.map((share, at) => [found[at]!.id, settledShare(found[at]!, share)]));
  });
  const settled = new Map(orders.map((order) => [order.id, order]));
  const shown = found.slice(0, limit);
  return {
    items: shown.map((order, at) => withFills(order, settled.get(order.id), shares[at]!)),
    next: found.length > limit ? shown.at(-1)!.sequence : null,
  };
}

const settledShare = ({ unsettledTrades }: FoldedOrder, share: number): number =>
  Math.max(0, share - unsettledTrades.length);

/** The order with its newest fills. */
function withFills(
  { unsettledTrades, ...order }: FoldedOrder,
  settled: SettledOrder | undefined,
  share: number,
): OrderWithTrades {
  return { ...order, trades: newest([...(settled?.trades ?? []), ...unsettledTrades], share) };
}

/** A page of the wallet's trades, newest first. @throws Refusal SERVICE_UNAVAILABLE while Postgres is away */
export async function tradesOf(
  { engine, ledger }: Stores,
  wallet: string,
  filter: TradesFilter,
  limit: number,
): Promise<Page<Trade>> {
  const { orderId } = filter;
  if (orderId !== undefined && !isOrderId(orderId)) return { items: [], next: null };
  const events = await unsettledEvents(engine, wallet, orderId);
  const settled = await ledger.tradesOf(wallet, { ...filter, limit: limit + 1 });
  const trades = foldTrades(settled, events, wallet, filter);
  const items = trades.slice(0, limit);
  return { items, next: trades.length > limit ? items.at(-1)!.tradeId : null };
}

const NOTHING_SETTLED = { cursor: { epoch: 0, sequence: 0 }, order: null };

const creates =
  (id: string) =>
  (event: EngineEvent): boolean =>
    event.kind === 'order_placed' && event.order.id === id;

/**
 * An order of the wallet; undefined when it has none with this id. Needs Postgres only when its placement is settled:
 * while the engine still has that event it has all later ones, and they tell the whole order.
 * @throws Refusal SERVICE_UNAVAILABLE when it must be read from Postgres and that is away
 */
export async function orderOf(
  { engine, ledger, settings }: Stores,
  wallet: string,
  id: string,
): Promise<OrderWithTrades | undefined> {
  if (!isOrderId(id)) return undefined;
  const { maxFillsPerOrder, maxFillsPerReply } = settings;
  const events = await unsettledEvents(engine, wallet, id);
  const { cursor, order } = events.some(creates(id))
    ? NOTHING_SETTLED
    : await ledger.orderById(id, Math.min(maxFillsPerOrder, maxFillsPerReply));
  const orders = order === null || order.wallet !== wallet ? [] : [order];
  const found = foldOrders({ cursor, orders }, events, wallet).find((folded) => folded.id === id);
  if (found === undefined) return undefined;
  return withFills(found, order ?? undefined, fillShares([found], settings)[0]!);
}

/** The fills of an order that was placed a moment ago, within the bounds of a reply. */
export function placedFills(trades: readonly Trade[], limits: FillLimits): ShownFills {
  const fillCount = trades.length;
  return { fillCount, trades: newest(trades, fillShares([{ fillCount }], limits)[0]!) };
}
