/** `GET /v1/market-data/pairs`: the markets that can be traded. */

import { type Endpoint, sharedAnswer } from '../../endpoint.ts';
import { pairsReply } from '../../replies/market-data.ts';

export const getPairs: Endpoint = {
  async handle({ services: { marketData, settings } }) {
    const listing = await marketData.listing();
    return sharedAnswer(listing, 'pairs', () => pairsReply(listing.markets, settings));
  },
};
