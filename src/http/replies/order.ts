/** Orders, fills and wallet trades: contract 2.5 to 2.7. Amounts are exact literals made of the integers. */

import { type Json, JsonText, writeJson } from '../../domain/json.ts';
import { type Market, marketGrid } from '../../domain/market.ts';
import {
  type ClosedOrder,
  notionalAtoms,
  type Order,
  type RejectReason,
  type Trade,
} from '../../domain/order.ts';
import { formatCount, formatScaled } from '../../domain/units.ts';

/** An order, the number of its fills, and those of them that its reply shows, in the order of execution. */
export type OrderWithTrades = Order & { readonly fillCount: number; readonly trades: readonly Trade[] };

const priceOf = (ticks: bigint, market: Market): JsonText =>
  new JsonText(formatCount(ticks, marketGrid(market).tick));

const sizeOf = (steps: bigint, market: Market): JsonText =>
  new JsonText(formatCount(steps, marketGrid(market).step));

const quoteOf = (atoms: bigint, market: Market): JsonText =>
  new JsonText(formatScaled(atoms, market.quote.scale));

const timestamp = (timeMs: number): string => new Date(timeMs).toISOString();

/** One side of a trade. Both sides, the market's prints and the wallet's own trades share one `id`. */
function fillMembers(trade: Trade, role: 'maker' | 'taker', market: Market) {
  return {
    role,
    price: priceOf(trade.priceTicks, market),
    size: sizeOf(trade.sizeSteps, market),
    notional: quoteOf(notionalAtoms(trade), market),
    feeAmount: quoteOf(role === 'taker' ? trade.feeAtoms : 0n, market),
    feeAsset: market.quote.symbol,
  };
}

export const fillReply = (trade: Trade, orderId: string, market: Market): Json => ({
  id: String(trade.tradeId),
  orderId,
  ...fillMembers(trade, trade.takerOrderId === orderId ? 'taker' : 'maker', market),
  createdAt: timestamp(trade.timeMs),
});

export function orderReply(order: OrderWithTrades, market: Market): Json {
  return {
    id: order.id,
    market: order.market,
    side: order.side,
    type: order.type,
    timeInForce: order.timeInForce,
    postOnly: order.postOnly,
    price: order.priceTicks === null ? null : priceOf(order.priceTicks, market),
    size: sizeOf(order.sizeSteps, market),
    filledSize: sizeOf(order.filledSteps, market),
    remainingSize: sizeOf(order.sizeSteps - order.filledSteps, market),
    status: order.status,
    clientOrderId: order.clientOrderId,
    createdAt: timestamp(order.createdAtMs),
    updatedAt: timestamp(order.updatedAtMs),
    fillCount: order.fillCount,
    fills: order.trades.map((trade) => fillReply(trade, order.id, market)),
  };
}

/**
 * The placing reply, as JSON text: the order's fields, and the order once more as `order`; written once, for
 * this is the reply that has to be fast.
 * @param rejectReason why the engine refused it; null on a replay too
 */
export function placingReply(
  order: OrderWithTrades,
  market: Market,
  rejectReason: RejectReason | null,
): string {
  const text = writeJson(orderReply(order, market));
  const more = {
    accepted: order.status !== 'rejected',
    order: new JsonText(text),
    ...(rejectReason !== null && { rejectCode: rejectReason, rejectReason }),
  };
  return `${text.slice(0, -1)},${writeJson(more).slice(1)}`;
}

/** A trade from the wallet's side. */
export function walletTradeReply(trade: Trade, wallet: string, market: Market): Json {
  const isTaker = trade.takerWallet === wallet;
  const makerSide = trade.takerSide === 'buy' ? 'sell' : 'buy';
  return {
    id: String(trade.tradeId),
    orderId: isTaker ? trade.takerOrderId : trade.makerOrderId,
    market: trade.market,
    side: isTaker ? trade.takerSide : makerSide,
    ...fillMembers(trade, isTaker ? 'taker' : 'maker', market),
    counterparty: isTaker ? trade.makerWallet : trade.takerWallet,
    createdAt: timestamp(trade.timeMs),
  };
}

export const closedReply = ({ id, clientOrderId, market, status }: ClosedOrder): Json => ({
  id,
  clientOrderId,
  market,
  status,
});
