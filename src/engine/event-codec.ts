/** Reads entries of the event stream; `lua/include/emit.lua` says how their bytes begin. */

import { createHash } from 'node:crypto';
import { type Act, checkAct, type RecordedAct } from '../domain/act.ts';
import type {
  AccountMoved,
  Cursor,
  EngineEvent,
  EntryDigest,
  EventBody,
  MovementKind,
  OrderPlacedEvent,
} from '../domain/event.ts';
import type { Market } from '../domain/market.ts';
import { readMarketRecord } from '../domain/market-record.ts';
import type { MarketUnits, OrderTerms } from '../domain/order.ts';
import { FORMS, SENT_NAMES } from '../order/bytes.ts';
import { type Members, maker, membersOf } from '../order/maker.ts';
import { layout, type RecordOf, u8, u16, u48 } from '../redis/layout.ts';
import { CAUSES } from './cancelling-call.ts';
import { FILL_BYTES, orderIdOf, readClosed, readFills } from './codec.ts';
import { MATCH, TERMS } from './placing-call.ts';

/** The kinds by the first byte of an event; `lua/include/order_formats.lua` has the same codes. */
export const EVENT_KINDS = [
  null,
  'order_placed',
  'orders_closed',
  'credited',
  'debited',
  'account_held',
  'account_released',
  'terms_accepted',
  'terms_required',
  'trading_paused',
  'trading_resumed',
  'market_changed',
  'asset_changed',
  'operator_acted',
  'requested',
  'confirmed',
  'returned',
  'withdrawal_taken',
  'withdrawal_released',
  'announced',
  'dropped',
] as const satisfies (EventBody['kind'] | null)[];

/** Every event begins with it. */
const HEAD = layout({ kind: u8, time: u48 }, 'HEAD');
const BODY_AT = 7;
/** An order's match and terms, then its fills and the closed records of its wallet's own orders. */
const ORDER_PLACED = layout({ ...MATCH.fields, fills: u16, ...TERMS.fields }, 'ORDER_PLACED');

/** By market record. A change replaces the record, so every order of a market shares one object. */
const unitsByMarket = new WeakMap<Market, MarketUnits>();

/** The market facts that an order's amounts are made of. */
function marketUnits(market: Market): MarketUnits {
  const known = unitsByMarket.get(market);
  if (known !== undefined) return known;
  const { base, quote, baseAtomsPerStep, quoteAtomsPerLot } = market;
  const units = { base: base.symbol, quote: quote.symbol, baseAtomsPerStep, quoteAtomsPerLot };
  unitsByMarket.set(market, units);
  return units;
}

/** One entry as Redis replies it: its id, and its only field with its value. */
export type StreamEntry = readonly [id: Buffer, fields: readonly Buffer[]];

/** Returns the id of an event in the stream. */
export const eventIdOf = ({ epoch, sequence }: Cursor): string => `${epoch}-${sequence}`;

/** Returns a market by number. Throws UnknownMarket when its record has not been read yet. */
type MarketOf = (marketNumber: number) => Market;

export function placeOfEntry([id]: StreamEntry): Cursor {
  const text = id.toString('latin1');
  const dash = text.indexOf('-');
  return { epoch: Number(text.slice(0, dash)), sequence: Number(text.slice(dash + 1)) };
}

class StoredEntryDigest implements EntryDigest {
  readonly id: Buffer;
  readonly bytes: Buffer;

  constructor(id: Buffer, bytes: Buffer) {
    this.id = id;
    this.bytes = bytes;
  }

  get hex(): string {
    return createHash('sha256').update(this.id).update('\n').update(this.bytes).digest('hex');
  }
}

/** @throws Error when the entry has no form that this release writes */
export function readEvent(entry: StreamEntry, marketOf: MarketOf): EngineEvent {
  const [id, fields] = entry;
  const { epoch, sequence } = placeOfEntry(entry);
  const bytes = fields[1];
  if (bytes === undefined || bytes.length < BODY_AT) throw new Error(`event ${id} is not readable`);
  const { kind, time } = HEAD.unpack(bytes);
  const body = readBody(EVENT_KINDS[kind] ?? null, bytes, { epoch, sequence }, time, marketOf);
  return Object.assign(body, { epoch, sequence, timeMs: time, digest: new StoredEntryDigest(id, bytes) });
}

function readBody(
  kind: EventBody['kind'] | null,
  bytes: Buffer,
  cursor: Cursor,
  timeMs: number,
  marketOf: MarketOf,
): EventBody {
  switch (kind) {
    case 'order_placed':
      return readPlaced(bytes, cursor, timeMs, marketOf);
    case 'orders_closed': {
      const cause = CAUSES[bytes[BODY_AT]!] ?? null;
      return { kind, orders: readClosed(bytes.subarray(BODY_AT + 1), marketOf, cause) };
    }
    case null:
      throw new Error(
        `event ${cursor.epoch}-${cursor.sequence} is of a kind that this release does not know`,
      );
    default:
      return readWritten(kind, bytes.toString('utf8', BODY_AT));
  }
}

type WrittenKind = Exclude<EventBody['kind'], 'order_placed' | 'orders_closed'>;

/**
 * Reads an event whose body is JSON. `lua/include/act.lua` writes the act of an operator behind it: a line of JSON, and
 * then what the engine had before.
 */
function readWritten(kind: WrittenKind, text: string): EventBody & { act?: RecordedAct } {
  const end = text.indexOf('\n');
  if (end === -1) return readDetail(kind, text);
  const actEnd = text.indexOf('\n', end + 1);
  const act: RecordedAct = {
    ...JSON.parse(text.slice(end + 1, actEnd)),
    before: text.slice(actEnd + 1) || null,
  };
  return { ...readDetail(kind, text.slice(0, end)), act };
}

function readDetail(kind: WrittenKind, text: string): EventBody {
  switch (kind) {
    case 'credited':
    case 'debited':
    case 'requested':
    case 'confirmed':
    case 'returned':
    case 'announced':
    case 'dropped':
      return readMovement(kind, text);
    case 'market_changed':
      return { kind, market: readMarketRecord(text) };
    case 'asset_changed':
      return { kind, asset: JSON.parse(text) };
    default:
      // `switches.ts` and `acts.ts` write the details in the shape that the event has.
      return { kind, ...JSON.parse(text) };
  }
}

/** Writes an act as `lua/include/act.lua` takes it; nothing without one. */
export const actText = (act: Act | undefined): string =>
  act === undefined ? '' : JSON.stringify(checkAct(act));

/** Terms of an order as its call and its event carry them. */
export type SentTerms = RecordOf<typeof TERMS>;

/** Fields that an event adds to the terms that a call sent. */
export interface PlacedTerms extends Cursor {
  readonly market: Market;
  readonly timeMs: number;
  readonly sizeSteps: bigint;
}

/** Makes the terms of an order from what its call sent: most of them are as they were sent. */
export const TERMS_MEMBERS: Members<[sent: SentTerms, placed: PlacedTerms], OrderTerms> = {
  ...membersOf(SENT_NAMES, (name) => name),
  id: ({ side, priceTicks }, { market, epoch, sequence }) =>
    orderIdOf({ marketNumber: market.number, side, priceTicks, epoch, sequence }),
  market: (_sent, { market }) => market.symbol,
  type: ({ type }) => (type === FORMS.limit ? 'limit' : 'market'),
  sizeSteps: (_sent, { sizeSteps }) => sizeSteps,
  createdAtMs: (_sent, { timeMs }) => timeMs,
  sequence: (_sent, { sequence }) => sequence,
  units: (_sent, { market }) => marketUnits(market),
};

const placedTerms = maker<[sent: SentTerms, placed: PlacedTerms], OrderTerms>('placedTerms', TERMS_MEMBERS);

function readPlaced(bytes: Buffer, cursor: Cursor, timeMs: number, marketOf: MarketOf): OrderPlacedEvent {
  const sent = ORDER_PLACED.unpack(bytes, BODY_AT);
  const market = marketOf(sent.market);
  const { epoch, sequence } = cursor;
  const order = placedTerms(sent, { market, epoch, sequence, timeMs, sizeSteps: sent.size });
  const fillsAt = BODY_AT + ORDER_PLACED.sizeAt(bytes, BODY_AT);
  const expiredAt = fillsAt + sent.fills * FILL_BYTES;
  return {
    kind: 'order_placed',
    order,
    status: sent.status!,
    filledSteps: sent.filled,
    reason: sent.reason,
    trades: readFills(bytes.subarray(fillsAt, expiredAt), order, market, sent.firstTrade),
    expired: readClosed(bytes.subarray(expiredAt), marketOf, 'self_trade_prevented'),
  };
}

/**
 * Reads a movement as claims and events store it.
 * @param otherwise kind of a movement whose text names none: a deposit, or a withdrawal that left at once
 */
export function readMovement(otherwise: MovementKind, text: string): AccountMoved {
  const { wallet, asset, amount, reference, reverses, kind, txid, owed } = JSON.parse(text) as Record<
    string,
    string
  >;
  const movement = {
    kind: (kind as MovementKind | undefined) ?? otherwise,
    wallet: wallet!,
    asset: asset!,
    amountAtoms: BigInt(amount!),
    reference: reference!,
  };
  return {
    ...movement,
    ...(reverses !== undefined && { reverses }),
    ...(txid !== undefined && { txid }),
    ...(owed !== undefined && { owedAtoms: BigInt(owed) }),
  };
}
