/**
 * Limits the fills in a reply. An order can have any number of fills, so without this its part of a reply is unbounded.
 */

import type { Fill, FillLimits, ListedOrder } from '../domain/order.ts';

/** The number of an order's fills, and the fills that its reply shows, in order of execution. */
export interface ShownFills {
  readonly fillCount: number;
  readonly fills: readonly Fill[];
}

/** An order as a reply shows it. */
export interface OrderWithFills {
  readonly order: ListedOrder;
  readonly shown: ShownFills;
}

/** Returns the number of fills that a reply shows of an order, the newest, alone or in a list. */
export const shownFillsOf = (
  { fillCount }: { readonly fillCount: number },
  { maxFillsPerOrder, maxFillsPerReply }: FillLimits,
): number => Math.min(fillCount, maxFillsPerOrder, maxFillsPerReply);

/**
 * Returns the first items of a list, up to the one whose fills the reply has no room for. The first always fits. An
 * order without fills beside a `filledSize` would pass for one that nobody traded with.
 * @param others returns the number of fills that the reply shows of an item besides those of its order
 */
export function fitting<Item extends { readonly order: { readonly fillCount: number } }>(
  items: readonly Item[],
  limits: FillLimits,
  others: (item: Item) => number = () => 0,
): readonly Item[] {
  let left = limits.maxFillsPerReply;
  const end = items.findIndex((item) => {
    left -= shownFillsOf(item.order, limits) + others(item);
    return left < 0;
  });
  return end === -1 ? items : items.slice(0, Math.max(end, 1));
}

/** Returns the last `count` items of a list in order of execution. */
export const newest = <Item>(items: readonly Item[], count: number): readonly Item[] =>
  items.length <= count ? items : items.slice(items.length - count);
