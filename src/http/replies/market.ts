/** Finds the markets that a reply needs, or that a filter names. */

import { Refusal } from '../../domain/errors.ts';
import type { Market } from '../../domain/market.ts';
import type { Engine } from '../../engine/index.ts';

/** Looks up the markets of a list's items. Their grids convert the integers into decimals. */
export async function findMarkets(
  engine: Engine,
  items: readonly { readonly market: string }[],
): Promise<(item: { readonly market: string }) => Market> {
  const markets = new Map<string, Market>();
  for (const symbol of new Set(items.map(({ market }) => market))) {
    const market = await engine.markets.bySymbol(symbol);
    // The ledger knows the market, so this is not the engine that the ledger follows.
    if (market === undefined)
      throw new Refusal('SERVICE_UNAVAILABLE', `the engine does not know the market ${symbol}`);
    markets.set(symbol, market);
  }
  return ({ market }) => markets.get(market)!;
}

/** @throws Refusal MARKET_NOT_FOUND if a filter names no market */
export async function checkMarket(engine: Engine, symbol: string | undefined): Promise<void> {
  if (symbol !== undefined && (await engine.markets.bySymbol(symbol)) === undefined)
    throw new Refusal('MARKET_NOT_FOUND');
}
