/** Looks up the market that a public route names in its path or its query. */

import { Refusal } from '../../../domain/errors.ts';
import type { Market } from '../../../domain/market.ts';
import type { Engine } from '../../../engine/index.ts';
import type { OpenRoute } from '../../route.ts';

const TICKER_ID = /^([A-Z0-9]{1,16})_([A-Z0-9]{1,16})$/;

/** @throws Refusal NOT_FOUND */
export async function findMarketByTicker(engine: Engine, id: string): Promise<Market> {
  const [, base, quote] = TICKER_ID.exec(id) ?? [];
  const market = base === undefined ? undefined : await engine.markets.bySymbol(`${base}/${quote}`);
  if (market === undefined) throw new Refusal('NOT_FOUND', 'no market has this ticker_id');
  return market;
}

/** Returns the same route with the ticker id in its path. */
export const withTickerInPath = (route: OpenRoute): OpenRoute => ({
  ...route,
  path: `${route.path}/:ticker_id`,
  id: `${route.id}Of`,
});
