/** `GET /v1/market-data/pairs`: returns the markets that can be traded. */

import type { pairsSchema } from '../../../contract/market-data.ts';
import type { Endpoint } from '../../endpoint.ts';
import { pairsReply } from '../../replies/market-data.ts';
import { publicJson, sharedReply } from '../../replies/reply.ts';

export const getPairs: Endpoint = {
  async handle({ services: { marketData, settings } }) {
    const markets = await marketData.markets();
    return sharedReply(markets, 'pairs', () => publicJson<typeof pairsSchema>(pairsReply(markets, settings)));
  },
};
