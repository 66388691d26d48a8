/** The market record: contract 2.3. */

import type { Market } from '../../domain/market.ts';
import type { Engine } from '../../engine/index.ts';
import { type Json, JsonText } from '../json.ts';

/** Published rules are plain decimals; null: not enforced. */
const rule = (decimal: string | null): JsonText | null => (decimal === null ? null : new JsonText(decimal));

export const marketReply = (market: Market): Json => ({
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
  networkId: market.networkId,
});

/** Looks up the markets of a list's items: their grids turn its integers into decimals. */
export async function marketsOf(
  engine: Engine,
  items: readonly { readonly market: string }[],
): Promise<(item: { readonly market: string }) => Market> {
  const markets = new Map<string, Market>();
  for (const symbol of new Set(items.map(({ market }) => market))) {
    const market = await engine.market(symbol);
    if (market === undefined) throw new Error(`the engine does not know the market ${symbol}`);
    markets.set(symbol, market);
  }
  return ({ market }) => markets.get(market)!;
}
