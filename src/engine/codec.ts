/** Reads and writes the binary formats of `lua/include/place_in_book.lua` and related scripts. */

import type { Market } from '../domain/market.ts';
import {
  type ClosedOrder,
  isOrderId,
  type OrderStatus,
  type OrderTerms,
  type Side,
  type Trade,
} from '../domain/order.ts';
import { EXACT_LIMIT } from '../domain/placing.ts';

/** Bytes: market and side (2) | price key (7) | epoch (2) | sequence (6). */
export const REFERENCE_BYTES = 17;
const WALLET_BYTES = 20;
/** Bytes of one fill of an event or a reply: the maker's place (35) | steps (7) | fee (7). */
export const FILL_BYTES = 49;
const MAX_KEY = 2n ** 53n - 1n;

/** Returns an amount as scripts take it: 2^53 stands for any larger amount, which no order reaches. */
export const exactNumber = (amount: bigint): number => Number(amount < EXACT_LIMIT ? amount : EXACT_LIMIT);

/** Fields of the balances of an asset. A wallet's field is its 20 bytes and a letter. */
export const BALANCE_FIELDS = {
  available: 'a',
  reserved: 'r',
  owed: 'o',
  house: 'house',
  withdrawals: 'withdrawals',
  supply: 'supply',
} as const;

export const walletBytes = (wallet: string): Buffer => Buffer.from(wallet.slice(2), 'hex');
export const walletText = (bytes: Buffer): string => `0x${bytes.toString('hex')}`;

/** Parts of an order id. */
interface OrderReference {
  readonly marketNumber: number;
  readonly side: Side;
  readonly bytes: Buffer;
}

/** Reads an order id; undefined when no order can have it. */
export function readOrderId(id: string): OrderReference | undefined {
  return isOrderId(id) ? readReference(Buffer.from(id, 'hex')) : undefined;
}

function readReference(bytes: Buffer): OrderReference {
  const book = bytes.readUInt16BE(0);
  return { marketNumber: book >> 1, side: book % 2 === 1 ? 'sell' : 'buy', bytes };
}

const uint56 = (bytes: Buffer, at: number): bigint =>
  (BigInt(bytes.readUIntBE(at, 3)) << 32n) | BigInt(bytes.readUInt32BE(at + 3));

function writeUint56(bytes: Buffer, value: bigint, at: number): void {
  bytes.writeUIntBE(Number(value >> 32n), at, 3);
  bytes.writeUInt32BE(Number(value & 0xffffffffn), at + 3);
}

/** Returns a number of steps in the seven bytes that scripts pack it in. */
export function uint56Bytes(value: bigint): Buffer {
  const bytes = Buffer.alloc(7);
  writeUint56(bytes, value, 0);
  return bytes;
}

const priceOfKey = (side: Side, priceKey: bigint): bigint => (side === 'buy' ? MAX_KEY - priceKey : priceKey);

/** Returns the price in the first seven bytes of a level or a member. */
export const priceOfKeyBytes = (bytes: Buffer, side: Side): bigint => priceOfKey(side, uint56(bytes, 0));

/** Returns the first seven bytes of a price's level and of each member that rests at the price. */
export const keyBytesOfPrice = (priceTicks: bigint, side: Side): Buffer =>
  uint56Bytes(priceOfKey(side, priceTicks));

/** Returns the id of the order that an event created. A market order has price key 0. */
export function orderIdOf(order: {
  marketNumber: number;
  side: Side;
  priceTicks: bigint | null;
  epoch: number;
  sequence: number;
}): string {
  const bytes = Buffer.alloc(REFERENCE_BYTES);
  bytes.writeUInt16BE(order.marketNumber * 2 + (order.side === 'sell' ? 1 : 0), 0);
  if (order.priceTicks !== null) keyBytesOfPrice(order.priceTicks, order.side).copy(bytes, 2);
  bytes.writeUInt16BE(order.epoch, 9);
  bytes.writeUIntBE(order.sequence, 11, 6);
  return bytes.toString('hex');
}

/** Position of an order in its book: the first 35 bytes of its member. */
interface BookPosition {
  readonly id: string;
  readonly wallet: string;
  readonly side: Side;
  readonly priceTicks: bigint;
}

/** A resting order as its book holds it. */
export interface BookMember extends BookPosition {
  readonly remainingSteps: bigint;
}

/** Reads price key (7) | epoch (2) | sequence (6) | wallet (20). */
function readPosition(bytes: Buffer, marketNumber: number, side: Side): BookPosition {
  const book = Buffer.alloc(2);
  book.writeUInt16BE(marketNumber * 2 + (side === 'sell' ? 1 : 0));
  return {
    id: Buffer.concat([book, bytes.subarray(0, 15)]).toString('hex'),
    wallet: walletText(bytes.subarray(15, 35)),
    side,
    priceTicks: priceOfKeyBytes(bytes, side),
  };
}

/** Reads a member of a book: its place (35) | remaining steps (7). */
export const readBookMember = (member: Buffer, marketNumber: number, side: Side): BookMember => ({
  ...readPosition(member, marketNumber, side),
  remainingSteps: uint56(member, 35),
});

export const BOOK_MEMBER_BYTES = 42;

/** Writes the book member of the order with this id, in the format that `readBookMember` reads. */
export const writeBookMember = (id: string, wallet: string, remainingSteps: bigint): Buffer =>
  Buffer.concat([Buffer.from(id, 'hex').subarray(2), walletBytes(wallet), uint56Bytes(remainingSteps)]);

/** Field of a price in the levels of a side: the bytes that the member of each of its orders begins with. */
export const levelOfMember = (member: Buffer): Buffer => member.subarray(0, 7);

/** Least bytes of a member of the live orders; its client order id follows them. */
export const LIVE_MEMBER_BYTES = 44;

/** A live order as the list of live orders holds it. */
export interface LiveMember {
  readonly id: string;
  readonly wallet: string;
  readonly sizeSteps: bigint;
  /** As the engine keeps it. */
  readonly clientOrderId: string | null;
}

/** Member of the live orders: wallet (20) | reference (17) | size in steps (7) | client order id. */
export const writeLiveMember = ({ id, wallet, sizeSteps, clientOrderId }: LiveMember): Buffer =>
  Buffer.concat([
    walletBytes(wallet),
    Buffer.from(id, 'hex'),
    uint56Bytes(sizeSteps),
    Buffer.from(clientOrderId ?? ''),
  ]);

/** Reads a member of the live orders. */
export const readLiveMember = (member: Buffer): LiveMember => ({
  id: member.toString('hex', WALLET_BYTES, WALLET_BYTES + REFERENCE_BYTES),
  wallet: walletText(member.subarray(0, WALLET_BYTES)),
  sizeSteps: uint56(member, WALLET_BYTES + REFERENCE_BYTES),
  clientOrderId: member.toString('utf8', WALLET_BYTES + REFERENCE_BYTES + 7) || null,
});

/** Reads the fills of the order that an event placed, in the order of execution. */
export function readFills(fills: Buffer, order: OrderTerms, market: Market, firstTradeId: number): Trade[] {
  if (fills.length === 0) return [];
  const { id, wallet, side, createdAtMs, sequence, units } = order;
  const makerSide = side === 'buy' ? 'sell' : 'buy';
  const trades: Trade[] = [];
  for (let at = 0; at < fills.length; at += FILL_BYTES) {
    const maker = readPosition(fills.subarray(at), market.number, makerSide);
    trades.push({
      tradeId: firstTradeId + trades.length,
      market: market.symbol,
      takerSide: side,
      priceTicks: maker.priceTicks,
      sizeSteps: uint56(fills, at + 35),
      feeAtoms: uint56(fills, at + 42),
      takerOrderId: id,
      makerOrderId: maker.id,
      takerWallet: wallet,
      makerWallet: maker.wallet,
      timeMs: createdAtMs,
      sequence,
      units,
    });
  }
  return trades;
}

/** Reads closed records: wallet (20) | reference (17) | had fills (1) | length (2) | client order id. */
export function readClosed(
  records: Buffer,
  marketOf: (marketNumber: number) => { readonly symbol: string },
  reason: ClosedOrder['reason'],
): ClosedOrder[] {
  const orders: ClosedOrder[] = [];
  for (let at = 0; at < records.length; ) {
    const reference = readReference(records.subarray(at + WALLET_BYTES, at + WALLET_BYTES + REFERENCE_BYTES));
    const idBytes = records.readUInt16BE(at + 38);
    const clientOrderId = records.toString('utf8', at + 40, at + 40 + idBytes);
    orders.push({
      id: reference.bytes.toString('hex'),
      wallet: walletText(records.subarray(at, at + WALLET_BYTES)),
      market: marketOf(reference.marketNumber).symbol,
      clientOrderId: clientOrderId === '' ? null : clientOrderId,
      status: closedStatus(reason, records[at + 37] === 1),
      reason,
    });
    at += 40 + idBytes;
  }
  return orders;
}

function closedStatus(reason: ClosedOrder['reason'], hadFills: boolean): OrderStatus {
  if (reason === 'operator_voided') return 'failed';
  return hadFills ? 'partially_filled_cancelled' : 'cancelled';
}
