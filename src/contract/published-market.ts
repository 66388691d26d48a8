/** Writes the market record, which is the same in the API and the streams: docs/api.md 2.3. */

import { JsonText } from '../domain/json.ts';
import type { Market } from '../domain/market.ts';
import type { marketSchema } from './market.ts';
import type { Amount } from './values.ts';
import type { Written } from './written.ts';

/** Writes a rule as a plain decimal, or null if it is not enforced. */
const rule = (decimal: string | null): JsonText<Amount> | null =>
  decimal === null ? null : new JsonText(decimal);

export const publishedMarket = (market: Market): Written<typeof marketSchema> => ({
  symbol: market.symbol,
  type: 'spot',
  status: market.status,
  tradingEnabled: market.tradingEnabled,
  feeBps: market.feeBps,
  takerFeeBps: market.feeBps,
  makerFeeBps: 0,
  tickSize: rule(market.tickSize),
  sizeStep: rule(market.sizeStep),
  priceIncrement: new JsonText(market.tick),
  sizeIncrement: new JsonText(market.step),
  minOrderSize: rule(market.minOrderSize),
  maxOrderSize: rule(market.maxOrderSize),
  minNotional: rule(market.minNotional),
  sellEnabled: market.sellEnabled,
  baseToken: market.base.symbol,
  quoteToken: market.quote.symbol,
  baseScale: market.base.scale,
  quoteScale: market.quote.scale,
  networkId: market.networkId,
});
