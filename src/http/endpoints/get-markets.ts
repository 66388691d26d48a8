/** `GET /v1/markets`: every market and its rules, as the next order will meet them. */

import { type Endpoint, json } from '../endpoint.ts';
import { marketReply } from '../replies/market.ts';

export const getMarkets: Endpoint = {
  async handle({ services }) {
    return json({ markets: (await services.engine.markets()).map(marketReply) });
  },
};
