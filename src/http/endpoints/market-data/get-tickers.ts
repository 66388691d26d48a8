/** `GET /v1/market-data/tickers`: returns 24-hour figures of the pairs, as a list. */

import type { tickersSchema } from '../../../contract/market-data.ts';
import type { Endpoint } from '../../endpoint.ts';
import { tickersReply } from '../../replies/market-data.ts';
import { publicJson, sharedReply } from '../../replies/reply.ts';

export const getTickers: Endpoint = {
  async handle({ services: { marketData, settings } }) {
    const overview = await marketData.overview();
    return sharedReply(overview, 'tickers', () =>
      publicJson<typeof tickersSchema>(tickersReply(overview, settings)),
    );
  },
};
