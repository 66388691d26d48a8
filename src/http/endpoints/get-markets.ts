/** `GET /v1/markets`: every market and its rules, as the next order will meet them. */

import { publishedMarket } from '../../domain/published-market.ts';
import { type Endpoint, json } from '../endpoint.ts';

export const getMarkets: Endpoint = {
  async handle({ services }) {
    return json({ markets: (await services.engine.markets()).map(publishedMarket) });
  },
};
