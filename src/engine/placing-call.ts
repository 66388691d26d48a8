/**
 * Byte formats of the call of `place_orders.lua`: its arguments, its replies, and the parts that its events repeat.
 * `lua/include/order_formats.lua` has them for the script.
 */

import type { EndReason, OrderStatus } from '../domain/order.ts';
import { SENT } from '../order/bytes.ts';
import {
  bytes8,
  bytesOf,
  codeOf,
  layout,
  mapped,
  type RecordOf,
  text8,
  u8,
  u16,
  u32,
  u48,
  u56,
} from '../redis/layout.ts';

export const STATUS_CODES = [
  null,
  'resting',
  'partially_filled',
  'filled',
  'cancelled',
  'partially_filled_cancelled',
  'rejected',
  'expired',
] as const satisfies (OrderStatus | null)[];
/** Reasons for which an order ends in the call that places it. */
export const END_CODES = [
  null,
  'POST_ONLY_WOULD_CROSS',
  'FOK_NOT_FILLED',
  'SETTLEMENT_FAILED',
  'self_trade_prevented',
  'ioc_remainder',
  'max_makers',
] as const satisfies (EndReason | null)[];

/** Values shared by the orders of one call. */
export const PLACING_CALL = layout(
  {
    epoch: u16,
    /** Sequence of the last event that the replica knows. The script does nothing on a server with older data. */
    minSequence: u48,
    marketNumber: u16,
    basePerStep: u56,
    quotePerLot: u56,
    feeBps: u16,
    /** Index in `SELF_TRADE_POLICIES`. */
    selfTrade: u8,
    minSteps: u56,
    /** 2^53, which no order reaches, where the market has no limit. 0 is a limit below one step. */
    maxSteps: u56,
    hasReference: u8,
    preOpen: u8,
    /** Maximum makers that one order may meet. */
    maxMakers: u32,
    /** Number of makers after which the call begins no further order. */
    maxMakersOfCall: u32,
    /** Maximum live orders of a wallet. */
    maxLive: u32,
    /** Version and symbol of the rules that the orders were measured by. */
    rules: text8,
    /** Layout of the claim filters; the filter offsets of the orders refer to it. */
    layout: text8,
  },
  'PLACING_CALL',
);

/** Terms of an order, as a call and its event carry them. */
export const TERMS = layout(SENT, 'TERMS');

/** One order of a call. */
export const PLACING_ORDER = layout(
  {
    ...TERMS.fields,
    /** Steps, or the quote atoms of a budget. */
    amount: u56,
    /** 1 when the caller's country is blocked. */
    restricted: u8,
    /** Unix milliseconds after which the order is not begun; 0: none. */
    expiresAfter: u48,
    /** Unix milliseconds of the last lookup of the client id in Postgres; 0: none. */
    checkedAt: u48,
    /** Index of the filter string that has the claim's block, among the filter keys of the call, counted from 0. */
    filter: u8,
    mask: bytesOf(8),
    digest: bytesOf(14),
    /** Offsets of the block's first and last byte in its string. They are text because Redis takes text as it is. */
    first: text8,
    last: text8,
    /**
     * Reference of the live order that this one replaces, 17 bytes, and the steps that the caller believes it has filled, 7
     * bytes, if it says so; empty: it replaces none.
     */
    replaces: bytes8,
  },
  'PLACING_ORDER',
);

/** The first item of the reply. A `SKIPPED_MAKERS` follows for each order that met makers and filled nothing. */
export const PLACING_REPLY = layout({ epoch: u16, time: u48 }, 'PLACING_REPLY');

export const SKIPPED_MAKERS = layout(
  {
    /** Place of the order in the call, counted from 0. */
    order: u8,
    makers: u16,
  },
  'SKIPPED_MAKERS',
);

const steps = mapped(u56, Number, BigInt);

/** Result of matching an order, as replies and events carry it. */
export const MATCH = layout(
  {
    status: codeOf(STATUS_CODES),
    reason: codeOf(END_CODES),
    size: steps,
    filled: steps,
    /** Trade id of the first fill; 0 without fills. */
    firstTrade: u56,
  },
  'MATCH',
);

/** The outcome of a placed order; its fills follow. */
export const PLACED = layout({ outcome: u8, sequence: u48, ...MATCH.fields }, 'PLACED');

export type PlacingCall = RecordOf<typeof PLACING_CALL>;

/** First byte of each outcome; fills, a reference, a time or a code follow. */
export const OUTCOMES = {
  untouched: 0,
  placed: 1,
  claimed: 2,
  unchecked: 3,
  stale: 4,
  refused: 5,
  failed: 6,
  /** Like `placed`, with the closed record of the replaced order, after its length, before the fills. */
  replaced: 7,
};
