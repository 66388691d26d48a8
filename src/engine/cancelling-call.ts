/** The call of `cancel_orders.lua`, described once: the bytes of its arguments and of its replies. */

import type { EndReason } from '../domain/order.ts';
import { bytes16, bytesOf, layout, text8, u8, u16, u48, u56 } from '../redis/layout.ts';

/** Values shared by the requests of one call. */
export const CANCELLING_CALL = layout(
  {
    epoch: u16,
    /** Sequence of the last event that the replica knows. The script does nothing on a server with older data. */
    minSequence: u48,
    marketNumber: u16,
    basePerStep: u56,
    quotePerLot: u56,
    /** Number of named orders after which the call begins no further request. */
    maxOrders: u16,
    /** Version and symbol of the rules that the replica knows. */
    rules: text8,
  },
  'CANCELLING_CALL',
);

/** One request of a call. */
export const CANCELLING_REQUEST = layout(
  {
    /** 1: the orders may belong to any wallet, and `owner` is ignored. */
    any: u8,
    owner: bytesOf(20),
    /** Index in `CAUSES`. */
    cause: u8,
    /** References of the orders that the request names, 17 bytes each. */
    references: bytes16,
  },
  'CANCELLING_REQUEST',
);

/** First byte of each outcome. The sequence (6) and the closed records follow `closed`; a word follows `stale` and `failed`. */
export const CLOSE_OUTCOMES = { untouched: 0, closed: 1, stale: 2, corrupt: 3, failed: 4 };

/** Reasons of a close, by the code that events carry. */
export const CAUSES = [
  null,
  'operator_voided',
  'market_cleared',
  'custody_hold',
  'user_cancelled',
  'cancel_after',
  'replaced',
] as const satisfies (EndReason | null)[];

export type Cause = NonNullable<(typeof CAUSES)[number]>;
