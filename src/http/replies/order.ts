/**
 * Orders, fills and wallet trades: contract 2.5 to 2.7. Amounts are exact literals made of the integers.
 *
 * Orders and fills are written by one template each: an object that is built first and then walked takes twice the
 * time. The schemas beside this file say which members a template writes.
 */

import type { z } from 'zod';
import { type Json, JsonText } from '../../domain/json.ts';
import { type Market, marketGrid } from '../../domain/market.ts';
import {
  type ClosedOrder,
  notionalAtoms,
  type Order,
  type RejectReason,
  type Trade,
} from '../../domain/order.ts';
import { formatCount, formatScaled } from '../../domain/units.ts';
import type { fillSchema, orderSchema } from './order-schema.ts';

/** The number of an order's fills, and those of them that its reply shows, in the order of execution. */
export interface ShownFills {
  readonly fillCount: number;
  readonly trades: readonly Trade[];
}

export type OrderWithTrades = Order & ShownFills;

/** The JSON text of each member of a shape. */
type MemberTexts<Schema extends z.ZodType> = { readonly [Name in keyof z.infer<Schema>]-?: string };

const fillText = (fill: MemberTexts<typeof fillSchema>): string =>
  `{"id":${fill.id},"orderId":${fill.orderId},"role":${fill.role},"price":${fill.price},"size":${fill.size},` +
  `"notional":${fill.notional},"feeAmount":${fill.feeAmount},"feeAsset":${fill.feeAsset},` +
  `"createdAt":${fill.createdAt}}`;

/** Without its braces, for the placing reply has further members. */
const orderMembers = (order: MemberTexts<typeof orderSchema>): string =>
  `"id":${order.id},"market":${order.market},"side":${order.side},"type":${order.type},` +
  `"timeInForce":${order.timeInForce},"postOnly":${order.postOnly},"price":${order.price},` +
  `"size":${order.size},"filledSize":${order.filledSize},"remainingSize":${order.remainingSize},` +
  `"status":${order.status},"clientOrderId":${order.clientOrderId},"createdAt":${order.createdAt},` +
  `"updatedAt":${order.updatedAt},"fillCount":${order.fillCount},"fills":${order.fills}`;

/** Of a text in which JSON escapes nothing. */
const quoted = (plain: string): string => `"${plain}"`;

const priceText = (ticks: bigint, market: Market): string => formatCount(ticks, marketGrid(market).tick);
const sizeText = (steps: bigint, market: Market): string => formatCount(steps, marketGrid(market).step);
const quoteText = (atoms: bigint, market: Market): string => formatScaled(atoms, market.quote.scale);

let lastMs = Number.NaN;
let lastTimestamp = '';

/** ISO 8601. Remembers the last one: the times of one reply, and of replies made together, are mostly the same. */
function timestamp(timeMs: number): string {
  if (timeMs !== lastMs) {
    lastTimestamp = new Date(timeMs).toISOString();
    lastMs = timeMs;
  }
  return lastTimestamp;
}

/** One side of a trade. Both sides, the market's prints and the wallet's own trades share one `id`. */
function fillReply(trade: Trade, orderId: string, market: Market): string {
  const role = trade.takerOrderId === orderId ? 'taker' : 'maker';
  return fillText({
    id: quoted(String(trade.tradeId)),
    orderId: quoted(orderId),
    role: quoted(role),
    price: priceText(trade.priceTicks, market),
    size: sizeText(trade.sizeSteps, market),
    notional: quoteText(notionalAtoms(trade), market),
    feeAmount: role === 'taker' ? quoteText(trade.feeAtoms, market) : '0',
    feeAsset: quoted(market.quote.symbol),
    createdAt: quoted(timestamp(trade.timeMs)),
  });
}

function membersOf(order: Order, { fillCount, trades }: ShownFills, market: Market): string {
  const { clientOrderId } = order;
  let fills = '';
  for (const trade of trades) fills += `${fills === '' ? '' : ','}${fillReply(trade, order.id, market)}`;
  return orderMembers({
    id: quoted(order.id),
    market: quoted(order.market),
    side: quoted(order.side),
    type: quoted(order.type),
    timeInForce: quoted(order.timeInForce),
    postOnly: order.postOnly ? 'true' : 'false',
    price: order.priceTicks === null ? 'null' : priceText(order.priceTicks, market),
    size: sizeText(order.sizeSteps, market),
    filledSize: sizeText(order.filledSteps, market),
    remainingSize: sizeText(order.sizeSteps - order.filledSteps, market),
    status: quoted(order.status),
    clientOrderId: clientOrderId === null ? 'null' : JSON.stringify(clientOrderId),
    createdAt: quoted(timestamp(order.createdAtMs)),
    updatedAt: quoted(timestamp(order.updatedAtMs)),
    fillCount: String(fillCount),
    fills: `[${fills}]`,
  });
}

export const orderReply = (order: OrderWithTrades, market: Market): JsonText =>
  new JsonText(`{${membersOf(order, order, market)}}`);

/**
 * The placing reply, as JSON text: the order's members, and the order once more as `order`.
 * @param rejectReason why the engine refused it; null on a replay too
 */
export function placingReply(
  order: Order,
  fills: ShownFills,
  market: Market,
  rejectReason: RejectReason | null,
): string {
  const members = membersOf(order, fills, market);
  const accepted = order.status === 'rejected' ? 'false' : 'true';
  const reject =
    rejectReason === null
      ? ''
      : `,"rejectCode":${quoted(rejectReason)},"rejectReason":${quoted(rejectReason)}`;
  return `{${members},"accepted":${accepted},"order":{${members}}${reject}}`;
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
    role: isTaker ? 'taker' : 'maker',
    price: new JsonText(priceText(trade.priceTicks, market)),
    size: new JsonText(sizeText(trade.sizeSteps, market)),
    notional: new JsonText(quoteText(notionalAtoms(trade), market)),
    feeAmount: new JsonText(isTaker ? quoteText(trade.feeAtoms, market) : '0'),
    feeAsset: market.quote.symbol,
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
