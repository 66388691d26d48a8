/**
 * Applies unsettled events to settled orders. A list is read from the engine first and from Postgres second: an event
 * that was settled in between is in both, and the cursor of the Postgres snapshot tells it apart.
 */

import type { Cursor, EngineEvent } from '../domain/event.ts';
import {
  type ClosedOrder,
  type Fill,
  fillOf,
  type ListedOrder,
  statusAfterFill,
  type Trade,
  type WalletTrade,
  walletTradeOf,
} from '../domain/order.ts';

/** An order with its unsettled changes, and its unsettled fills in the order of execution. */
export interface FoldedOrder {
  readonly order: ListedOrder;
  readonly unsettledFills: readonly Fill[];
}

interface Draft {
  readonly order: { -readonly [Key in keyof ListedOrder]: ListedOrder[Key] };
  readonly unsettledFills: Fill[];
}

const NO_FILLS: readonly Fill[] = [];

/** Orders by id; an order is copied when an event first changes it. */
class Drafts {
  readonly #folded = new Map<string, FoldedOrder>();
  readonly #drafts = new Map<string, Draft>();

  constructor(orders: readonly ListedOrder[]) {
    for (const order of orders) this.#folded.set(order.id, { order, unsettledFills: NO_FILLS });
  }

  put(order: ListedOrder, unsettledFills: Fill[]): void {
    const draft = { order, unsettledFills };
    this.#drafts.set(order.id, draft);
    this.#folded.set(order.id, draft);
  }

  /** Undefined: the order is not among the given ones. */
  of(id: string): Draft | undefined {
    const known = this.#folded.get(id);
    if (known !== undefined && !this.#drafts.has(id)) this.put({ ...known.order }, []);
    return this.#drafts.get(id);
  }

  newestFirst(): FoldedOrder[] {
    return [...this.#folded.values()].sort((one, other) => other.order.sequence - one.order.sequence);
  }
}

/**
 * The wallet's orders after the events, newest first. Events of orders that are not among the given ones are
 * passed over.
 * @param events in order; those that the cursor covers are skipped
 */
export function foldOrders(
  settled: { readonly cursor: Cursor; readonly orders: readonly ListedOrder[] },
  events: readonly EngineEvent[],
  wallet: string,
): FoldedOrder[] {
  const drafts = new Drafts(settled.orders);
  for (const event of events) {
    if (event.sequence <= settled.cursor.sequence) continue;
    if (event.kind === 'order_placed') {
      if (event.order.wallet === wallet) place(drafts, event);
      else for (const trade of event.trades) fillMaker(drafts, trade);
      for (const closed of event.expired) close(drafts, closed, event.timeMs);
    } else if (event.kind === 'orders_closed') {
      for (const closed of event.orders) close(drafts, closed, event.timeMs);
    }
  }
  return drafts.newestFirst();
}

function place(
  drafts: Drafts,
  { order, status, filledSteps, trades, timeMs }: EngineEvent & { kind: 'order_placed' },
): void {
  const { wallet: _wallet, leverage: _leverage, lot: _lot, ...terms } = order;
  drafts.put(
    { ...terms, status, filledSteps, updatedAtMs: timeMs, fillCount: trades.length },
    trades.map((trade) => fillOf(trade, order.id)),
  );
}

function fillMaker(drafts: Drafts, trade: Trade): void {
  const draft = drafts.of(trade.makerOrderId);
  if (draft === undefined) return;
  const { order, unsettledFills } = draft;
  const filledSteps = BigInt(order.filledSteps) + trade.sizeSteps;
  order.filledSteps = filledSteps;
  order.status = statusAfterFill(filledSteps, BigInt(order.sizeSteps));
  order.updatedAtMs = trade.timeMs;
  order.fillCount += 1;
  unsettledFills.push(fillOf(trade, order.id));
}

function close(drafts: Drafts, { id, status }: ClosedOrder, timeMs: number): void {
  const draft = drafts.of(id);
  if (draft === undefined) return;
  draft.order.status = status;
  draft.order.updatedAtMs = timeMs;
}

/** Filter of a list of trades. */
export interface TradesFilter {
  readonly market?: string | undefined;
  readonly orderId?: string | undefined;
  readonly beforeTradeId?: number | undefined;
}

/** Returns the wallet's trades in the events, as maker or taker, followed by those of the snapshot; newest first. */
export function foldTrades(
  settled: { readonly cursor: Cursor; readonly trades: readonly WalletTrade[] },
  events: readonly EngineEvent[],
  wallet: string,
  { market, orderId, beforeTradeId = Number.MAX_SAFE_INTEGER }: TradesFilter,
): WalletTrade[] {
  const isOwn = ({ takerWallet, makerWallet, takerOrderId, makerOrderId }: Trade): boolean =>
    (takerWallet === wallet && (orderId === undefined || orderId === takerOrderId)) ||
    (makerWallet === wallet && (orderId === undefined || orderId === makerOrderId));
  const fresh = events
    .filter(({ sequence }) => sequence > settled.cursor.sequence)
    .flatMap((event) => (event.kind === 'order_placed' ? event.trades : []))
    .filter((trade) => isOwn(trade) && trade.tradeId < beforeTradeId)
    .filter((trade) => market === undefined || trade.market === market)
    .map((trade) => walletTradeOf(trade, wallet));
  return fresh.length === 0 ? [...settled.trades] : [...fresh.reverse(), ...settled.trades];
}
