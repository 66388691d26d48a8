/** `GET /v1/markets`: returns every market with its current rules. */

import { marketsSchema } from '../../contract/market.ts';
import { publishedMarket } from '../../contract/published-market.ts';
import { sharedReply } from '../replies/reply.ts';
import { openRoute } from '../route.ts';

export const getMarkets = openRoute({
  method: 'GET',
  path: '/v1/markets',
  caller: 'anyone',
  id: 'getMarkets',
  tag: 'Markets',
  summary: 'Returns every market and its rules',
  reply: marketsSchema,
  async handle({ services }, write) {
    const markets = await services.engine.markets.all();
    return sharedReply(markets, 'markets', () => write.json({ markets: markets.map(publishedMarket) }));
  },
});
