/** `GET /v1/markets`: returns every market with its current rules. */

import type { marketsSchema } from '../../contract/market.ts';
import { publishedMarket } from '../../contract/published-market.ts';
import { type Endpoint, json, sharedAnswer } from '../endpoint.ts';

export const getMarkets: Endpoint = {
  async handle({ services }) {
    const markets = await services.engine.markets.all();
    return sharedAnswer(markets, 'markets', () =>
      json<typeof marketsSchema>({ markets: markets.map(publishedMarket) }),
    );
  },
};
