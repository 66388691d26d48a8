/** `GET /v1/market-data/summary`: returns 24-hour figures by ticker id, for each market that traded in that time. */

import { summarySchema } from '../../../contract/market-data.ts';
import { summaryReply } from '../../replies/market-data.ts';
import { sharedReply } from '../../replies/reply.ts';
import { marketDataRoute } from '../../route.ts';

export const getSummary = marketDataRoute({
  path: '/v1/market-data/summary',
  id: 'getSummary',
  summary: 'Returns the last 24 hours of every market that traded in them',
  reply: summarySchema,
  async handle({ services: { marketData, settings } }, write) {
    const overview = await marketData.overview();
    return sharedReply(overview, 'summary', () => write.publicJson(summaryReply(overview, settings)));
  },
});
