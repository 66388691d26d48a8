/** The market record: docs/api.md 2.3. The API and the streams publish the same. */

import { type Json, JsonText } from './json.ts';
import type { Market } from './market.ts';

/** Published rules are plain decimals; null: not enforced. */
const rule = (decimal: string | null): JsonText | null => (decimal === null ? null : new JsonText(decimal));

export const publishedMarket = (market: Market): Json => ({
  symbol: market.symbol,
  type: 'spot',
  status: market.status,
  tradingEnabled: market.tradingEnabled,
  feeBps: market.feeBps,
  takerFeeBps: market.feeBps,
  makerFeeBps: 0,
  tickSize: rule(market.tickSize),
  sizeStep: rule(market.sizeStep),
  minOrderSize: rule(market.minOrderSize),
  maxOrderSize: rule(market.maxOrderSize),
  sellEnabled: market.sellEnabled,
  baseToken: market.base.symbol,
  quoteToken: market.quote.symbol,
  baseScale: market.base.scale,
  quoteScale: market.quote.scale,
  networkId: market.networkId,
});
