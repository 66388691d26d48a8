/**
 * Writes orders, fills and wallet trades: docs/api.md 2.5 to 2.7. Amounts are exact literals made of the integers.
 *
 * Each shape is written by one template, because an object that is built first and walked afterwards takes twice the
 * time. The schemas of the contract say which members a template writes.
 */

import type {
  closedOrderSchema,
  fillSchema,
  orderSchema,
  placementSchema,
  walletTradeSchema,
} from '../../contract/orders.ts';
import type { MemberTexts, Written } from '../../contract/written.ts';
import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import type {
  ClosedOrder,
  Fill,
  ListedOrder,
  OrderStatus,
  RejectReason,
  WalletTrade,
} from '../../domain/order.ts';
import { type Count, formatCount, formatScaled, subtract } from '../../domain/units.ts';
import { timestamp } from './timestamp.ts';

/** The number of an order's fills, and those of them that its reply shows, in the order of execution. */
export interface ShownFills {
  readonly fillCount: number;
  readonly fills: readonly Fill[];
}

/** An order as a reply shows it. */
export interface OrderWithFills {
  readonly order: ListedOrder;
  readonly shown: ShownFills;
}

const fillText = (fill: MemberTexts<typeof fillSchema>): string =>
  `{"id":${fill.id},"orderId":${fill.orderId},"role":${fill.role},"price":${fill.price},"size":${fill.size},` +
  `"notional":${fill.notional},"feeAmount":${fill.feeAmount},"feeAsset":${fill.feeAsset},` +
  `"createdAt":${fill.createdAt}}`;

/** Writes the members without braces, because the placing reply has further members. */
const orderMembers = (order: MemberTexts<typeof orderSchema>): string =>
  `"id":${order.id},"market":${order.market},"side":${order.side},"type":${order.type},` +
  `"timeInForce":${order.timeInForce},"postOnly":${order.postOnly},"price":${order.price},` +
  `"size":${order.size},"filledSize":${order.filledSize},"remainingSize":${order.remainingSize},` +
  `"status":${order.status},"clientOrderId":${order.clientOrderId},"createdAt":${order.createdAt},` +
  `"updatedAt":${order.updatedAt},"fillCount":${order.fillCount},"fills":${order.fills}`;

/** Members of the placing reply that the order itself does not have. */
type PlacementTexts = Omit<MemberTexts<typeof placementSchema>, keyof MemberTexts<typeof orderSchema>>;

const walletTradeText = (trade: MemberTexts<typeof walletTradeSchema>): string =>
  `{"id":${trade.id},"orderId":${trade.orderId},"market":${trade.market},"side":${trade.side},` +
  `"role":${trade.role},"price":${trade.price},"size":${trade.size},"notional":${trade.notional},` +
  `"feeAmount":${trade.feeAmount},"feeAsset":${trade.feeAsset},"counterparty":${trade.counterparty},` +
  `"createdAt":${trade.createdAt}}`;

/** JSON string of a text in which JSON escapes nothing. */
const quoted = (plain: string): string => `"${plain}"`;

const priceText = (ticks: Count, market: Market): string => formatCount(ticks, marketGrid(market).tick);
const sizeText = (steps: Count, market: Market): string => formatCount(steps, marketGrid(market).step);
const quoteText = (atoms: Count, market: Market): string => formatScaled(atoms, market.quote.scale);

/** One side of a trade. Both sides, the market's prints and the wallet's own trades share one `id`. */
const fillReply = (fill: Fill, orderId: string, market: Market): string =>
  fillText({
    id: quoted(fill.tradeId),
    orderId: quoted(orderId),
    role: quoted(fill.role),
    price: priceText(fill.priceTicks, market),
    size: sizeText(fill.sizeSteps, market),
    notional: quoteText(fill.notionalAtoms, market),
    feeAmount: quoteText(fill.feeAtoms, market),
    feeAsset: quoted(market.quote.symbol),
    createdAt: quoted(timestamp(fill.timeMs)),
  });

/** Order data that a reply shows, without the fills. */
type OrderFacts = Omit<ListedOrder, 'fillCount'>;

function membersOf(order: OrderFacts, { fillCount, fills }: ShownFills, market: Market): string {
  const { clientOrderId } = order;
  let shown = '';
  for (const fill of fills) shown += `${shown === '' ? '' : ','}${fillReply(fill, order.id, market)}`;
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
    remainingSize: sizeText(subtract(order.sizeSteps, order.filledSteps), market),
    status: quoted(order.status),
    clientOrderId: clientOrderId === null ? 'null' : JSON.stringify(clientOrderId),
    createdAt: quoted(timestamp(order.createdAtMs)),
    updatedAt: quoted(timestamp(order.updatedAtMs)),
    fillCount: String(fillCount),
    fills: `[${shown}]`,
  });
}

/** An order as JSON text. */
export const orderReply = (order: OrderFacts, fills: ShownFills, market: Market): string =>
  `{${membersOf(order, fills, market)}}`;

/**
 * Writes the placing reply as JSON text: the order's members, and the order once more as `order`.
 * @param rejectReason reason of the engine's refusal; null on a replay too
 */
export function placingReply(
  order: OrderFacts,
  fills: ShownFills,
  market: Market,
  rejectReason: RejectReason | null,
): string {
  const members = membersOf(order, fills, market);
  const reason = quoted(rejectReason ?? '');
  const own: PlacementTexts = {
    accepted: order.status === 'rejected' ? 'false' : 'true',
    order: `{${members}}`,
    rejectCode: reason,
    rejectReason: reason,
  };
  const refusal =
    rejectReason === null ? '' : `,"rejectCode":${own.rejectCode},"rejectReason":${own.rejectReason}`;
  return `{${members},"accepted":${own.accepted},"order":${own.order}${refusal}}`;
}

/** A trade from the wallet's side, as JSON text. */
export const walletTradeReply = (
  { fill, orderId, market: symbol, side, counterparty }: WalletTrade,
  market: Market,
): string =>
  walletTradeText({
    id: quoted(fill.tradeId),
    orderId: quoted(orderId),
    market: quoted(symbol),
    side: quoted(side),
    role: quoted(fill.role),
    price: priceText(fill.priceTicks, market),
    size: sizeText(fill.sizeSteps, market),
    notional: quoteText(fill.notionalAtoms, market),
    feeAmount: quoteText(fill.feeAtoms, market),
    feeAsset: quoted(market.quote.symbol),
    counterparty: quoted(counterparty),
    createdAt: quoted(timestamp(fill.timeMs)),
  });

/** An order that a cancel closed has one of two statuses. */
const cancelledStatus = (status: OrderStatus) =>
  status === 'partially_filled_cancelled' ? status : 'cancelled';

export const closedReply = ({
  id,
  clientOrderId,
  market,
  status,
}: ClosedOrder): Written<typeof closedOrderSchema> => ({
  id,
  clientOrderId,
  market,
  status: cancelledStatus(status),
});
