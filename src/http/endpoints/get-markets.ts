/** `GET /v1/markets`: returns every market with its current rules. */

import type { marketsSchema } from '../../contract/market.ts';
import { publishedMarket } from '../../contract/published-market.ts';
import type { Endpoint } from '../endpoint.ts';
import { json, sharedReply } from '../replies/reply.ts';

export const getMarkets: Endpoint = {
  async handle({ services }) {
    const markets = await services.engine.markets.all();
    return sharedReply(markets, 'markets', () =>
      json<typeof marketsSchema>({ markets: markets.map(publishedMarket) }),
    );
  },
};
