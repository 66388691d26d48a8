/** Reads entries of the event stream; the fields are those that the scripts of `lua/` append. */

import { createHash } from 'node:crypto';
import type {
  AccountMoved,
  Cursor,
  EngineEvent,
  EventBody,
  OrderPlaced,
  OrdersClosed,
} from '../domain/event.ts';
import type { Market } from '../domain/market.ts';
import { readMarketRecord } from '../domain/market-record.ts';
import type {
  Lot,
  OrderStatus,
  OrderTerms,
  OrderType,
  RejectReason,
  Side,
  TimeInForce,
} from '../domain/order.ts';
import { orderIdOf, readClosed, readFills } from './codec.ts';

/** The terms of an order as a replica writes them into a placement, and the event carries them. */
export interface TermsRecord {
  readonly wallet: string;
  /** The market's number: what else there is to know of it never changes, and stands in its record. */
  readonly market: number;
  readonly side: Side;
  readonly type: OrderType;
  readonly timeInForce: TimeInForce;
  readonly postOnly: boolean;
  readonly leverage: number | null;
  readonly price: string | null;
  readonly clientOrderId: string | null;
}

/** By market record, which a change replaces: every order of a market shares one lot. */
const lots = new WeakMap<Market, Lot>();

/** The market facts that an order's amounts are made of. */
function lotOf(market: Market): Lot {
  const known = lots.get(market);
  if (known !== undefined) return known;
  const { base, quote, baseAtomsPerStep, quoteAtomsPerLot } = market;
  const lot = { base: base.symbol, quote: quote.symbol, baseAtomsPerStep, quoteAtomsPerLot };
  lots.set(market, lot);
  return lot;
}

/** The terms of the order that the event at `cursor` created. */
export function termsOf(
  record: TermsRecord,
  market: Market,
  sizeSteps: bigint,
  { epoch, sequence }: Cursor,
  createdAtMs: number,
): OrderTerms {
  const priceTicks = record.price === null ? null : BigInt(record.price);
  const { wallet, side, type, timeInForce, postOnly, leverage, clientOrderId } = record;
  return {
    id: orderIdOf({ marketNumber: market.number, side, priceTicks, epoch, sequence }),
    wallet,
    market: market.symbol,
    side,
    type,
    timeInForce,
    postOnly,
    leverage,
    priceTicks,
    sizeSteps,
    clientOrderId,
    createdAtMs,
    sequence,
    lot: lotOf(market),
  };
}

/** One entry as Redis replies it: id, and field, value, … */
export type StreamEntry = readonly [id: Buffer, fields: readonly Buffer[]];

/** Throws UnknownMarket when its record has not been read yet. */
export type MarketOf = (marketNumber: number) => Market;

export function readEvent([id, list]: StreamEntry, marketOf: MarketOf): EngineEvent {
  const [epoch = 0, sequence = 0] = id.toString().split('-').map(Number);
  const fields = new Map<string, Buffer>();
  for (let at = 0; at < list.length; at += 2) fields.set(list[at]!.toString(), list[at + 1]!);
  const timeMs = Number(fields.get('time'));
  const cursor = { epoch, sequence };
  return { ...cursor, timeMs, digest: digestOf(id, list), ...readBody(fields, cursor, timeMs, marketOf) };
}

function digestOf(id: Buffer, fields: readonly Buffer[]): string {
  const hash = createHash('sha256').update(id);
  for (const field of fields) hash.update(`\n${field.length} `).update(field);
  return hash.digest('hex');
}

type Fields = ReadonlyMap<string, Buffer>;

const textOf = (fields: Fields, name: string): string => fields.get(name)!.toString();

function readBody(fields: Fields, cursor: Cursor, timeMs: number, marketOf: MarketOf): EventBody {
  const kind = textOf(fields, 'kind') as EventBody['kind'];
  switch (kind) {
    case 'order_placed':
      return readPlaced(fields, cursor, timeMs, marketOf);
    case 'orders_closed': {
      const cause = textOf(fields, 'cause') as OrdersClosed['cause'];
      return { kind, cause, orders: readClosed(fields.get('orders')!, marketOf, cause) };
    }
    case 'credited':
    case 'debited':
      return readMovement(kind, textOf(fields, 'movement'));
    case 'market_changed':
      return { kind, market: readMarketRecord(textOf(fields, 'market')) };
    case 'asset_changed':
      return { kind, asset: { symbol: textOf(fields, 'symbol'), scale: Number(textOf(fields, 'scale')) } };
    default:
      // The details of switches are written by `switches.ts` in the shape the event has.
      return { kind, ...JSON.parse(textOf(fields, 'detail')) };
  }
}

function readPlaced(fields: Fields, cursor: Cursor, timeMs: number, marketOf: MarketOf): OrderPlaced {
  const record = JSON.parse(textOf(fields, 'order')) as TermsRecord;
  const [status, size, filled, firstTrade, reason] = textOf(fields, 'outcome').split(' ');
  const market = marketOf(record.market);
  const order = termsOf(record, market, BigInt(size!), cursor, timeMs);
  return {
    kind: 'order_placed',
    order,
    status: status as OrderStatus,
    filledSteps: BigInt(filled!),
    rejectReason: reason === '' ? null : (reason as RejectReason),
    trades: readFills(fields.get('fills')!, {
      market: order.market,
      marketNumber: market.number,
      takerSide: order.side,
      takerOrderId: order.id,
      takerWallet: order.wallet,
      timeMs,
      sequence: cursor.sequence,
      lot: order.lot,
      firstTradeId: Number(firstTrade),
    }),
    expired: readClosed(fields.get('expired')!, marketOf, 'cancel'),
  };
}

/** A movement as claims and events keep it. */
export function readMovement(kind: AccountMoved['kind'], text: string): AccountMoved {
  const { wallet, asset, amount, reference } = JSON.parse(text) as Record<string, string>;
  return { kind, wallet: wallet!, asset: asset!, amountAtoms: BigInt(amount!), reference: reference! };
}
