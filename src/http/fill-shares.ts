/**
 * Limits the fills in a reply. An order can have any number of fills, so without this its part of a reply is unbounded.
 */

import type { FillLimits } from '../domain/order.ts';

/** Returns the number of fills that each order shows. Orders earlier in the reply get their share first. */
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

/** Returns the last `count` items of a list in order of execution. */
export const newest = <Item>(items: readonly Item[], count: number): readonly Item[] =>
  items.length <= count ? items : items.slice(items.length - count);
