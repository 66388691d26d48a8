/** Finds what happened to a wallet between two reads of its lists. */

import type { Order, WalletTrade } from '../../client/index.ts';

/** The lists of a wallet, as far as they were loaded. */
export interface AccountState {
  readonly openOrders: readonly Order[];
  /** Newest first. */
  readonly fills: readonly WalletTrade[];
}

export interface AccountNews {
  /** New fills by order, the oldest first. */
  readonly fills: ReadonlyMap<string, readonly WalletTrade[]>;
  /** Orders that are no longer listed as open; a list that was cut may have lost them. */
  readonly gone: readonly Order[];
}

export function newsBetween(before: AccountState, after: AccountState): AccountNews {
  const known = new Set(before.fills.map(({ id }) => id));
  const fills = new Map<string, WalletTrade[]>();
  for (const fill of after.fills.toReversed()) {
    // Further pages of older fills are no news.
    if (known.has(fill.id) || isOlder(fill, before.fills[0])) continue;
    fills.set(fill.orderId, [...(fills.get(fill.orderId) ?? []), fill]);
  }
  const open = new Set(after.openOrders.map(({ id }) => id));
  return { fills, gone: before.openOrders.filter(({ id }) => !open.has(id)) };
}

const isOlder = (fill: WalletTrade, newest: WalletTrade | undefined): boolean =>
  newest !== undefined && BigInt(fill.id) < BigInt(newest.id);
