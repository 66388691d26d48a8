/**
 * Applies unsettled events to settled orders. Callers read the engine first and Postgres second. An event that is
 * settled in between is in both, and the cursor of the Postgres snapshot identifies it.
 */

import type { Cursor, EngineEvent } from '../domain/event.ts';
import {
  type ClosedOrder,
  type Fill,
  fillOf,
  type ListedOrder,
  type Trade,
  type WalletTrade,
  walletTradeOf,
} from '../domain/order.ts';
import {
  closeOrder,
  fillMaker,
  lifeOfPlaced,
  type OrderLife,
  type OrderVisitor,
  type PlacedEvent,
  visitOrders,
} from '../domain/order-life.ts';
import type { Direction, TimeSpan } from '../ledger/index.ts';

/** An order with its unsettled changes, and its unsettled fills in the order of execution. */
export interface FoldedOrder {
  readonly order: ListedOrder;
  readonly unsettledFills: readonly Fill[];
}

interface Draft {
  readonly order: Omit<ListedOrder, keyof OrderLife> & OrderLife;
  readonly unsettledFills: Fill[];
}

const NO_FILLS: readonly Fill[] = [];

/** Member by member: spreads that leave members out take 6 µs an order, this 0.1, and a list makes hundreds. */
function draftOf(event: PlacedEvent): Draft['order'] {
  const { order } = event;
  const life = lifeOfPlaced(event);
  return {
    id: order.id,
    market: order.market,
    side: order.side,
    type: order.type,
    timeInForce: order.timeInForce,
    postOnly: order.postOnly,
    priceTicks: order.priceTicks,
    sizeSteps: order.sizeSteps,
    clientOrderId: order.clientOrderId,
    createdAtMs: order.createdAtMs,
    sequence: order.sequence,
    filledSteps: life.filledSteps,
    fillCount: life.fillCount,
    status: life.status,
    reason: life.reason,
    updatedAtMs: life.updatedAtMs,
  };
}

/** The wallet's orders by id. An order is copied at the first event that changes it. */
class Drafts implements OrderVisitor {
  readonly #wallet: string;
  readonly #ids: ReadonlySet<string> | undefined;
  readonly #folded = new Map<string, FoldedOrder>();
  readonly #drafts = new Map<string, Draft>();

  constructor(wallet: string, orders: readonly ListedOrder[], ids: ReadonlySet<string> | undefined) {
    this.#wallet = wallet;
    this.#ids = ids;
    for (const order of orders) this.#folded.set(order.id, { order, unsettledFills: NO_FILLS });
  }

  placed(event: PlacedEvent): void {
    const { order, trades } = event;
    if (order.wallet !== this.#wallet || this.#ids?.has(order.id) === false) return;
    this.#put(
      draftOf(event),
      trades.map((trade) => fillOf(trade, order.id)),
    );
  }

  filled(trade: Trade): void {
    const draft = this.#draftOf(trade.makerOrderId);
    if (draft !== undefined && fillMaker(draft.order, trade)) {
      draft.unsettledFills.push(fillOf(trade, trade.makerOrderId));
    }
  }

  closed(order: ClosedOrder, { timeMs }: EngineEvent): void {
    const draft = this.#draftOf(order.id);
    if (draft !== undefined) closeOrder(draft.order, order, timeMs);
  }

  newestFirst(): FoldedOrder[] {
    return [...this.#folded.values()].sort((one, other) => other.order.sequence - one.order.sequence);
  }

  #put(order: Draft['order'], unsettledFills: Fill[]): Draft {
    const draft = { order, unsettledFills };
    this.#drafts.set(order.id, draft);
    this.#folded.set(order.id, draft);
    return draft;
  }

  /** Returns undefined if the order is not among the given ones. */
  #draftOf(id: string): Draft | undefined {
    const draft = this.#drafts.get(id);
    if (draft !== undefined) return draft;
    const order = this.#folded.get(id)?.order;
    if (order === undefined) return undefined;
    const sizeSteps = BigInt(order.sizeSteps);
    return this.#put({ ...order, sizeSteps, filledSteps: BigInt(order.filledSteps) }, []);
  }
}

/**
 * Returns the wallet's orders after the events, newest first. Ignores events of orders that are not among the given
 * ones.
 * @param events in order; events that the cursor covers are skipped
 * @param ids orders that the events may add; all of the wallet unless given
 */
export function foldOrders(
  settled: { readonly cursor: Cursor; readonly orders: readonly ListedOrder[] },
  events: readonly EngineEvent[],
  wallet: string,
  ids?: ReadonlySet<string>,
): FoldedOrder[] {
  const drafts = new Drafts(wallet, settled.orders, ids);
  for (const event of events) if (event.sequence > settled.cursor.sequence) visitOrders(event, drafts);
  return drafts.newestFirst();
}

export interface TradesFilter {
  readonly market?: string | undefined;
  readonly orderId?: string | undefined;
  readonly beforeTradeId?: number | undefined;
  readonly afterTradeId?: number | undefined;
  readonly span?: TimeSpan | undefined;
  /** The newest first unless given. */
  readonly direction?: Direction | undefined;
}

export const isWithin = (
  timeMs: number,
  { sinceMs = 0, untilMs = Number.POSITIVE_INFINITY }: TimeSpan = {},
): boolean => timeMs >= sinceMs && timeMs < untilMs;

/** Returns the wallet's trades, as maker or taker, in a direction: those in the snapshot with those in the events. */
export function foldTrades(
  settled: { readonly cursor: Cursor; readonly trades: readonly WalletTrade[] },
  events: readonly EngineEvent[],
  wallet: string,
  {
    market,
    orderId,
    beforeTradeId = Number.MAX_SAFE_INTEGER,
    afterTradeId = 0,
    span,
    direction,
  }: TradesFilter,
): WalletTrade[] {
  const isOwn = ({ takerWallet, makerWallet, takerOrderId, makerOrderId }: Trade): boolean =>
    (takerWallet === wallet && (orderId === undefined || orderId === takerOrderId)) ||
    (makerWallet === wallet && (orderId === undefined || orderId === makerOrderId));
  const fresh = events
    .filter(({ sequence }) => sequence > settled.cursor.sequence)
    .flatMap((event) => (event.kind === 'order_placed' ? event.trades : []))
    .filter((trade) => isOwn(trade) && trade.tradeId < beforeTradeId && trade.tradeId > afterTradeId)
    .filter((trade) => (market === undefined || trade.market === market) && isWithin(trade.timeMs, span))
    .map((trade) => walletTradeOf(trade, wallet));
  if (direction === 'asc') return [...settled.trades, ...fresh];
  return fresh.length === 0 ? [...settled.trades] : [...fresh.reverse(), ...settled.trades];
}
