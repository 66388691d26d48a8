/** Bounds the fills that a reply shows: nothing else bounds the part of a reply that one order takes. */

import type { Trade } from '../domain/order.ts';

export interface FillLimits {
  /** Most fills that a reply shows of one order. */
  readonly maxFillsPerOrder: number;
  /** Most fills that a reply shows of all its orders together. */
  readonly maxFillsPerReply: number;
}

/** The number of fills that each order shows; the first orders of a reply get theirs first. */
export function fillShares(
  orders: readonly { readonly fillCount: number }[],
  { maxFillsPerOrder, maxFillsPerReply }: FillLimits,
): number[] {
  let left = maxFillsPerReply;
  return orders.map(({ fillCount }) => {
    const share = Math.min(fillCount, maxFillsPerOrder, left);
    left -= share;
    return share;
  });
}

/** The last `count` trades of a list in the order of execution. */
export const newest = (trades: readonly Trade[], count: number): readonly Trade[] =>
  trades.length <= count ? trades : trades.slice(trades.length - count);
