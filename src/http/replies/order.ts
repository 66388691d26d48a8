/**
 * Writes orders, fills and wallet trades: docs/api.md 2.5 to 2.7. Amounts are exact literals, computed from integers.
 *
 * One template writes each shape, because building an object and then serializing it takes twice the time. The schemas
 * of the contract define the members that a template writes.
 */

import type { MemberTexts, WrittenText } from '../../contract/written.ts';
import { JsonText } from '../../domain/json.ts';
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
import type { ToldChange } from '../../history/order-changes.ts';
import type { ShownFills } from '../../history/shown-fills.ts';
import { FIELDS, type FieldName, type Kind, SHOWN, wireOf } from '../../order/fields.ts';
import { type Part, writer } from '../../order/maker.ts';
import type {
  closedOrderSchema,
  fillSchema,
  orderChangeSchema,
  orderSchema,
  placementSchema,
  walletTradeSchema,
} from '../../order/reply.ts';
import { timestamp } from './timestamp.ts';

const fillText = (fill: MemberTexts<typeof fillSchema>): string =>
  `{"id":${fill.id},"orderId":${fill.orderId},"role":${fill.role},"price":${fill.price},"size":${fill.size},` +
  `"notional":${fill.notional},"feeAmount":${fill.feeAmount},"feeAsset":${fill.feeAsset},` +
  `"createdAt":${fill.createdAt}}`;

const changeText = (change: MemberTexts<typeof orderChangeSchema>): string =>
  `{"at":${change.at},"order":${change.order},"fills":${change.fills}}`;

/** Members that only the placing reply has. */
type PlacementTexts = Omit<MemberTexts<typeof placementSchema>, keyof MemberTexts<typeof orderSchema>>;

const walletTradeText = (trade: MemberTexts<typeof walletTradeSchema>): string =>
  `{"id":${trade.id},"orderId":${trade.orderId},"market":${trade.market},"side":${trade.side},` +
  `"role":${trade.role},"price":${trade.price},"size":${trade.size},"notional":${trade.notional},` +
  `"feeAmount":${trade.feeAmount},"feeAsset":${trade.feeAsset},"counterparty":${trade.counterparty},` +
  `"createdAt":${trade.createdAt}}`;

/** Returns the JSON string of a text that needs no escapes. */
const quoted = (plain: string): string => `"${plain}"`;

const priceText = (ticks: Count, market: Market): string => formatCount(ticks, marketGrid(market).tick);
const sizeText = (steps: Count, market: Market): string => formatCount(steps, marketGrid(market).step);
const quoteText = (atoms: Count, market: Market): string => formatScaled(atoms, market.quote.scale);

/** Writes one side of a trade. Both sides, the market's trades and the wallet's own trades share one `id`. */
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

/** Writes a value that is not null as JSON. */
const JSON_OF: Readonly<Record<Kind, (value: never, market: Market) => string>> = {
  word: quoted,
  text: (text: string) => JSON.stringify(text),
  flag: String,
  number: String,
  time: (timeMs: number) => quoted(timestamp(timeMs)),
  price: priceText,
  size: sizeText,
};

type Source = [order: OrderFacts, shown: ShownFills, market: Market];

/** Members that are not members of the order. */
const OTHERS: Partial<Record<FieldName, (...source: Source) => unknown>> = {
  remainingSteps: ({ sizeSteps, filledSteps }) => subtract(sizeSteps, filledSteps),
  fillCount: (_order, { fillCount }) => fillCount,
};

function fillsReply(
  { id }: { readonly id: string },
  { fills }: Pick<ShownFills, 'fills'>,
  market: Market,
): string {
  let shown = '';
  for (const fill of fills) shown += `${shown === '' ? '' : ','}${fillReply(fill, id, market)}`;
  return `[${shown}]`;
}

function partOf(name: (typeof SHOWN)[number], at: number): Part<Source> {
  const before = `${at === 0 ? '' : ','}"${wireOf(name)}":`;
  if (name === 'fills') return { name, before, value: fillsReply, write: String };
  const write: (value: never, market: Market) => string = JSON_OF[FIELDS[name].kind];
  return {
    name,
    before,
    value: OTHERS[name] ?? name,
    write: (value: never, market: Market) => (value === null ? 'null' : write(value, market)),
  };
}

/** Writes the members without braces, because the placing reply adds more members. */
const orderMembers = writer('orderMembers', SHOWN.map(partOf));

/** The same without the status. */
const stillMembers = writer('stillMembers', SHOWN.filter((name) => name !== 'status').map(partOf));

/** Writes an order as JSON text. */
export const orderReply = (order: OrderFacts, fills: ShownFills, market: Market): string =>
  `{${orderMembers(order, fills, market)}}`;

/** Writes a change of an order as JSON text. */
export const changeReply = ({ timeMs, fills, order }: ToldChange, market: Market): string =>
  changeText({
    at: quoted(timestamp(timeMs)),
    order: orderReply(order.order, order.shown, market),
    fills: fillsReply(order.order, { fills }, market),
  });

/**
 * Writes the placing reply as JSON text: the order's members, and the order again as `order`.
 * @param rejectReason reason of the engine's refusal; also null on a replay
 * @param replaced the order that it replaced
 */
export function placingReply(
  order: OrderFacts,
  fills: ShownFills,
  market: Market,
  rejectReason: RejectReason | null,
  replaced: ClosedOrder | null = null,
): string {
  const members = orderMembers(order, fills, market);
  const cancelled = replaced === null ? '' : `,"replaced":${closedReply(replaced).text}`;
  return `{${members},${placementMembers(order, members, rejectReason)}${cancelled}}`;
}

/** Writes the same as a result of an order batch: its `status` is that of HTTP, and `order` has the order's own. */
export function placingResult(
  order: OrderFacts,
  fills: ShownFills,
  market: Market,
  rejectReason: RejectReason | null,
): string {
  const members = orderMembers(order, fills, market);
  const others = stillMembers(order, fills, market);
  return `{"status":200,${others},${placementMembers(order, members, rejectReason)}}`;
}

function placementMembers({ status }: OrderFacts, members: string, rejectReason: RejectReason | null) {
  const reason = quoted(rejectReason ?? '');
  const own: PlacementTexts = {
    accepted: status === 'rejected' ? 'false' : 'true',
    order: `{${members}}`,
    rejectCode: reason,
    rejectReason: reason,
  };
  const refusal =
    rejectReason === null ? '' : `,"rejectCode":${own.rejectCode},"rejectReason":${own.rejectReason}`;
  return `"accepted":${own.accepted},"order":${own.order}${refusal}`;
}

/** Writes a trade as JSON text, from the wallet's side. */
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

/** Maps the status of a cancelled order to one of the two that a cancel reply has. */
const cancelledStatus = (status: OrderStatus) =>
  status === 'partially_filled_cancelled' ? status : 'cancelled';

const closedText = (order: MemberTexts<typeof closedOrderSchema>): string =>
  `{"id":${order.id},"clientOrderId":${order.clientOrderId},"market":${order.market},"status":${order.status},` +
  `"reason":${order.reason}}`;

/** Writes an order that was cancelled. A reply may have ten thousand. */
export const closedReply = ({
  id,
  clientOrderId,
  market,
  status,
  reason,
}: ClosedOrder): WrittenText<typeof closedOrderSchema> =>
  new JsonText(
    closedText({
      id: quoted(id),
      clientOrderId: JSON.stringify(clientOrderId),
      market: quoted(market),
      status: quoted(cancelledStatus(status)),
      reason: reason === null ? 'null' : quoted(reason),
    }),
  );
