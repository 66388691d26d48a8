/** `GET /v1/markets`: every market and its rules, as the next order will meet them. */

import { publishedMarket } from '../../domain/published-market.ts';
import { type Endpoint, json, sharedAnswer } from '../endpoint.ts';

export const getMarkets: Endpoint = {
  async handle({ services }) {
    const markets = await services.engine.markets();
    return sharedAnswer(markets, 'markets', () => json({ markets: markets.map(publishedMarket) }));
  },
};
