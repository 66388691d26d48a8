/** `GET /v1/market-data/tickers`: returns 24-hour figures of the pairs, as a list. */

import { tickersSchema } from '../../../contract/market-data.ts';
import { tickersReply } from '../../replies/market-data.ts';
import { sharedReply } from '../../replies/reply.ts';
import { marketDataRoute } from '../../route.ts';

export const getTickers = marketDataRoute({
  path: '/v1/market-data/tickers',
  id: 'getTickers',
  summary: 'Returns the last 24 hours of each pair',
  description: 'A pair that has not traded for 24 hours has volumes of 0, and neither high nor low.',
  reply: tickersSchema,
  async handle({ services: { marketData, settings } }, write) {
    const overview = await marketData.overview();
    return sharedReply(overview, 'tickers', () => write.publicJson(tickersReply(overview, settings)));
  },
});
