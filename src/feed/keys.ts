/** Keys and channels of the frames' way from the snapshot worker to the stream replicas, built here alone. */

import { TIMEFRAMES, type Timeframe } from '../domain/candle.ts';
import { TAG } from '../redis/tag.ts';

const key = (...parts: readonly string[]): string => [TAG, 'feed', ...parts].join(':');

/** Hash: the last tick that was claimed (`slot`, `tick`) and when the newest frames were published. */
export const TICKS = key('ticks');

/** Frames of the general stream. */
export const GENERAL = key('general');

/** A replica names a channel here when it begins to follow it. */
export const WANTED = key('wanted');

/** Market and timeframe that a client of the market stream watches. */
export interface MarketView {
  readonly symbol: string;
  readonly timeframe: Timeframe;
}

const MARKETS = key('market', '');

/** Frames of one market and timeframe. */
export const marketChannel = ({ symbol, timeframe }: MarketView): string =>
  `${MARKETS}${timeframe}:${symbol}`;

/** A glob that all market channels match; neither its braces nor what follows mean anything else to Redis. */
export const ANY_MARKET = `${MARKETS}*`;

/** The view that a channel carries; undefined for any other channel. */
export function viewOf(channel: string): MarketView | undefined {
  if (!channel.startsWith(MARKETS)) return undefined;
  const [, name, symbol] = /^(\w+):(.+)$/.exec(channel.slice(MARKETS.length)) ?? [];
  const timeframe = TIMEFRAMES.find((one) => one === name);
  return timeframe === undefined ? undefined : { symbol: symbol!, timeframe };
}
