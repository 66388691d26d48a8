/** `GET /v1/market-data/pairs`: returns the markets that can be traded. */

import { pairsSchema } from '../../../contract/market-data.ts';
import { pairsReply } from '../../replies/market-data.ts';
import { sharedReply } from '../../replies/reply.ts';
import { marketDataRoute } from '../../route.ts';

export const getPairs = marketDataRoute({
  path: '/v1/market-data/pairs',
  id: 'getPairs',
  summary: 'Returns the markets that can be traded',
  reply: pairsSchema,
  async handle({ services: { marketData, settings } }, write) {
    const markets = await marketData.markets();
    return sharedReply(markets, 'pairs', () => write.publicJson(pairsReply(markets, settings)));
  },
});
