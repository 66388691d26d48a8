/**
 * The call of `place_orders.lua`, described once: the bytes of its arguments, of its replies, and of what its events
 * repeat of them. The script reads them by the formats given here.
 */

import type { OrderStatus, OrderTerms, RejectReason } from '../domain/order.ts';
import { bytesOf, layout, type RecordOf, text8, text16, u8, u16, u32, u48, u56 } from '../scripts/layout.ts';

/** Shared by the orders of one call. */
export const PLACING_CALL = layout({
  epoch: u16,
  marketNumber: u16,
  basePerStep: u56,
  quotePerLot: u56,
  feeBps: u16,
  /** Index in `SELF_TRADE_POLICIES`. */
  selfTrade: u8,
  minSteps: u56,
  /** 0: no limit. */
  maxSteps: u56,
  hasReference: u8,
  preOpen: u8,
  /** Most makers that one order meets. */
  mostMakers: u32,
  /** The call ends before the next order once it has met so many. */
  mostMakersOfCall: u32,
  /** Most live orders of a wallet. */
  mostLive: u32,
  /** Version and symbol of the rules that the orders were measured by. */
  rules: text8,
  /** Layout of the claim filters that the orders' offsets are in. */
  layout: text8,
});

/** An order's terms, as a call and its event have them. */
export const TERMS = layout({
  wallet: bytesOf(20),
  market: u16,
  /** 0 buy, 1 sell. */
  side: u8,
  /** `LIMIT`, `MARKET_FOR_SIZE` or `MARKET_FOR_BUDGET`. */
  kind: u8,
  /** Index in `TIMES_IN_FORCE`. */
  timeInForce: u8,
  postOnly: u8,
  /** 0: none. */
  leverage: u8,
  /** In ticks; 0 on a market order. */
  price: u56,
  /** '': none. */
  clientId: text16,
});

/** One order of a call. */
export const PLACING_ORDER = layout({
  ...TERMS.fields,
  /** Steps, or the quote atoms of a budget. */
  amount: u56,
  /** 1 when the caller's country is blocked. */
  restricted: u8,
  /** Time of a look into Postgres, in Unix milliseconds; 0: never. */
  checkedAt: u48,
  /** String of the filter that has the claim's block: its place among the call's filter keys, counted from 0. */
  filter: u8,
  /** The same in the filter that is being filled, counted from 1; 0: none is. */
  nextFilter: u8,
  mask: bytesOf(8),
  digest: bytesOf(14),
  /** Offsets of the block's first and last byte in its string, as text, because Redis takes it as it is. */
  first: text8,
  last: text8,
  nextFirst: text8,
  nextLast: text8,
});

/** The first item of the reply. */
export const PLACING_REPLY = layout({ epoch: u16, time: u48 });

/** What the match made of an order, as replies and events have it. */
export const MATCH = layout({
  /** Index in `STATUS_CODES`. */
  status: u8,
  /** Index in `REJECT_CODES`. */
  reason: u8,
  size: u56,
  filled: u56,
  /** Trade id of the first fill; 0 without fills. */
  firstTrade: u56,
});

/** The outcome of a placed order; its fills follow. */
export const PLACED = layout({ outcome: u8, sequence: u48, ...MATCH.fields });

export type PlacingCall = RecordOf<typeof PLACING_CALL>;
export type PlacingOrder = RecordOf<typeof PLACING_ORDER>;

/** First byte of each outcome; fills, a reference, a time or a code follow. */
export const OUTCOMES = {
  untouched: 0,
  placed: 1,
  claimed: 2,
  unchecked: 3,
  stale: 4,
  refused: 5,
  failed: 6,
};

export const KINDS = { limit: 0, marketForSize: 1, marketForBudget: 2 };
export const TIMES_IN_FORCE = ['GTC', 'IOC', 'FOK'] as const satisfies OrderTerms['timeInForce'][];
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
export const REJECT_CODES = [
  null,
  'POST_ONLY_WOULD_CROSS',
  'FOK_NOT_FILLED',
  'SETTLEMENT_FAILED',
] as const satisfies (RejectReason | null)[];
