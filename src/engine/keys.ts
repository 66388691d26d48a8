/**
 * Builds every key of the engine's Redis; no other file does. All keys have one hash tag, so that they lie in one slot
 * and a script can use them atomically.
 */

import type { Market } from '../domain/market.ts';
import { TAG } from '../redis/tag.ts';

const key = (...parts: readonly string[]): string => [TAG, ...parts].join(':');

export const KEYS = {
  /** Hash: format, state, switches, versions of markets, last prices, holds; `engine_state.lua` lists its fields. */
  engine: key('engine'),
  /**
   * Hash, only where the engine has copies: version and names of their list, last epoch that began. Orders of keepers
   * watch it, so no ordinary traffic writes it.
   */
  copies: key('copies'),
  /** Hash, only where the engine has copies: number of the last round; `verified`, the note that files are written. */
  rounds: key('rounds'),
  /** Hash: the future engine, until its rebuild is complete. */
  rebuilding: key('rebuilding'),
  /** Stream: the outbox. */
  events: key('events'),
  /** Hash: symbol -> record as JSON. */
  markets: key('markets'),
  /** Hash: symbol -> scale; `symbol used` -> 1 once something counts in it. */
  assets: key('assets'),
  /** ZSET: wallet | reference | client order id. */
  live: key('live'),
  /** ZSET: wallet -> time at which its dead-man switch is due. */
  cancelAfter: key('cancel-after', 'due'),
  /** ZSET: wallet whose switch was taken -> end of the lease of the process that cancels its orders. */
  cancelAfterLeases: key('cancel-after', 'leases'),
  /**
   * Hash: wallet whose switch was taken -> cut-off, which tells the orders that are cancelled; wallet and `s` -> the due
   * time of a switch that is set.
   */
  cancelAfterCutOffs: key('cancel-after', 'cut-offs'),
  /** Hashes, two generations: ids that were used. */
  claims: [key('claims', '0'), key('claims', '1')] as const,
  /** ZSETs, two generations: wallet | stamp of an event that may not be settled. */
  unsettled: [key('unsettled', '0'), key('unsettled', '1')] as const,
} as const;

/** Field of the engine hash that tells who took a withdrawal. */
export const takenField = (reference: string): string => `taken:${reference}`;

export const STREAM_KEY = KEYS.events;

/** Channel of a copy that is about to stop. Its own start script listens there until the copy may go. */
export const LEAVING_CHANNEL = key('leaving');

/** String: part of a claim filter. The name of the first part is the one that releases with a single string used. */
export const claimFilterKey = (serial: number, part: number): string =>
  serial === 0 && part === 0 ? key('claim-filter') : key('claim-filter', `${serial}`, `${part}`);

/** ZSET: one side of a market's book. */
export const bookKey = (symbol: string, side: 'bids' | 'asks'): string => key('book', symbol, side);

/** Hash: price key -> steps that rest there, of one side. */
export const levelsKey = (symbol: string, side: 'bids' | 'asks'): string => key('levels', symbol, side);

/** Hash: available, reserved and owed of every wallet in one asset, `house`, `withdrawals`, and `supply`. */
export const balancesKey = (asset: string): string => key('balances', asset);

/** Glob that matches every key of Redbook. */
export const ANY_KEY = key('*');

/** Returns every key that an engine with these markets and assets may have, other than parts of its claim filter. */
export function keysOfEngine(symbols: Iterable<string>, assets: Iterable<string>): Set<string> {
  const keys = new Set<string>(Object.values(KEYS).flat());
  for (const symbol of symbols)
    for (const side of ['bids', 'asks'] as const)
      keys.add(bookKey(symbol, side)).add(levelsKey(symbol, side));
  for (const asset of assets) keys.add(balancesKey(asset));
  return keys;
}

/** Keys of one market, by the names that scripts give them. */
export interface MarketKeys {
  readonly bids: string;
  readonly asks: string;
  readonly baseBalances: string;
  readonly quoteBalances: string;
  readonly bidLevels: string;
  readonly askLevels: string;
}

const keysOfMarkets = new WeakMap<Market, MarketKeys>();

/** Returns the keys that every order of a market needs. They are cached for each market record. */
export function marketKeys(market: Market): MarketKeys {
  const known = keysOfMarkets.get(market);
  if (known !== undefined) return known;
  const { symbol, base, quote } = market;
  const keys: MarketKeys = {
    bids: bookKey(symbol, 'bids'),
    asks: bookKey(symbol, 'asks'),
    baseBalances: balancesKey(base.symbol),
    quoteBalances: balancesKey(quote.symbol),
    bidLevels: levelsKey(symbol, 'bids'),
    askLevels: levelsKey(symbol, 'asks'),
  };
  keysOfMarkets.set(market, keys);
  return keys;
}
