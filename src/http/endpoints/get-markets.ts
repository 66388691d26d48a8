/** `GET /v1/markets`: returns every market with its present rules. */

import { publishedMarket } from '../../domain/published-market.ts';
import { type Endpoint, json, sharedAnswer } from '../endpoint.ts';

export const getMarkets: Endpoint = {
  async handle({ services }) {
    const markets = await services.engine.markets.all();
    return sharedAnswer(markets, 'markets', () => json({ markets: markets.map(publishedMarket) }));
  },
};
