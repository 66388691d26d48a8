/** `GET /v1/coinmarketcap/summary`: returns 24-hour figures of each visible market that ever traded. */

import { listedSummarySchema } from '../../../contract/coinmarketcap.ts';
import { listedSummaryReply } from '../../replies/coinmarketcap.ts';
import { sharedReply } from '../../replies/reply.ts';
import { marketDataRoute } from '../../route.ts';

export const getListedSummary = marketDataRoute({
  path: '/v1/coinmarketcap/summary',
  id: 'getListedSummary',
  summary: 'Returns the last 24 hours of every market, in the form of CoinMarketCap',
  reply: listedSummarySchema,
  async handle({ services: { marketData } }, write) {
    const overview = await marketData.overview();
    return sharedReply(overview, 'listed summary', () => write.publicJson(listedSummaryReply(overview)));
  },
});
