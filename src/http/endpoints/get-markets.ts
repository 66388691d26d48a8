/** `GET /v1/markets`: returns every market with its current rules. */

import type { marketsSchema } from '../../contract/market.ts';
import { publishedMarket } from '../../contract/published-market.ts';
import { type Endpoint, json, sharedReply } from '../endpoint.ts';

export const getMarkets: Endpoint = {
  async handle({ services }) {
    const markets = await services.engine.markets.all();
    return sharedReply(markets, 'markets', () =>
      json<typeof marketsSchema>({ markets: markets.map(publishedMarket) }),
    );
  },
};
