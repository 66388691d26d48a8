/** Reads lists page by page. */

import { getOrders, getTrades, type OrdersQuery, type WalletTradesQuery } from './account.ts';
import type { CallOptions } from './exchange.ts';
import type { Order, WalletTrade } from './replies.ts';
import type { Session } from './session.ts';

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/** Yields the items of all pages. */
export async function* pages<Item>(
  read: (from: { readonly cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, undefined> {
  let from: { readonly cursor?: string } = {};
  for (;;) {
    const { items, nextCursor } = await read(from);
    yield* items;
    if (nextCursor === null) return;
    from = { cursor: nextCursor };
  }
}

/**
 * Yields the wallet's orders over all pages, in the direction of `order`. `limit` is the size of a page, and `timeoutMs` bounds the
 * reading of one page.
 */
export function orders(
  session: Session,
  query: Omit<OrdersQuery, 'cursor'> = {},
  options: CallOptions = {},
): AsyncGenerator<Order, void, undefined> {
  return pages(async (from) => {
    const { orders: items, nextCursor } = await getOrders(session, { ...query, ...from }, options);
    return { items, nextCursor };
  });
}

/** Yields the wallet's trades like `orders` its orders. */
export function trades(
  session: Session,
  query: Omit<WalletTradesQuery, 'cursor'> = {},
  options: CallOptions = {},
): AsyncGenerator<WalletTrade, void, undefined> {
  return pages(async (from) => {
    const { trades: items, nextCursor } = await getTrades(session, { ...query, ...from }, options);
    return { items, nextCursor };
  });
}
