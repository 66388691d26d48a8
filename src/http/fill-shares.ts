/** Bounds the fills that a reply shows: nothing else bounds the part of a reply that one order takes. */

import type { FillLimits } from '../domain/order.ts';

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

/** The last `count` of a list in the order of execution. */
export const newest = <Item>(items: readonly Item[], count: number): readonly Item[] =>
  items.length <= count ? items : items.slice(items.length - count);
