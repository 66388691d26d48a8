/** Builds the Redis keys and channels of the feed. No other file builds them. */

import { TIMEFRAMES, type Timeframe } from '../domain/candle.ts';
import { TAG } from '../redis/tag.ts';

const key = (...parts: readonly string[]): string => [TAG, 'feed', ...parts].join(':');

/** Hash: the last claimed beat (`slot`, `beat`) and the time at which the newest frames were published. */
export const BEATS = key('beats');

/** Channel for frames of the general stream. */
export const GENERAL = key('general');

/** Channel on which a replica names each channel it starts to follow. */
export const WANTED = key('wanted');

/** Market and timeframe that a client of the market stream watches. */
export interface MarketView {
  readonly symbol: string;
  readonly timeframe: Timeframe;
}

const MARKETS = key('market', '');

/** Channel for frames of one market and timeframe. */
export const marketChannel = ({ symbol, timeframe }: MarketView): string =>
  `${MARKETS}${timeframe}:${symbol}`;

/** Glob that matches all market channels. Redis takes every character literally except the final `*`. */
export const ANY_MARKET = `${MARKETS}*`;

/** Returns the view of a market channel, or undefined for any other channel. */
export function viewOf(channel: string): MarketView | undefined {
  if (!channel.startsWith(MARKETS)) return undefined;
  const [, name, symbol] = /^(\w+):(.+)$/.exec(channel.slice(MARKETS.length)) ?? [];
  const timeframe = TIMEFRAMES.find((one) => one === name);
  return timeframe === undefined ? undefined : { symbol: symbol!, timeframe };
}
