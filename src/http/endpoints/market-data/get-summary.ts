/** `GET /v1/market-data/summary`: returns 24-hour figures by ticker id, for each market that traded in that time. */

import type { summarySchema } from '../../../contract/market-data.ts';
import type { Endpoint } from '../../endpoint.ts';
import { summaryReply } from '../../replies/market-data.ts';
import { publicJson, sharedReply } from '../../replies/reply.ts';

export const getSummary: Endpoint = {
  async handle({ services: { marketData, settings } }) {
    const overview = await marketData.overview();
    return sharedReply(overview, 'summary', () =>
      publicJson<typeof summarySchema>(summaryReply(overview, settings)),
    );
  },
};
