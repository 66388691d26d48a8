/** `GET /v1/coinmarketcap/ticker`: returns price, volumes and ids of each visible market that ever traded. */

import { listedTickersSchema } from '../../../contract/coinmarketcap.ts';
import { listedTickersReply } from '../../replies/coinmarketcap.ts';
import { marketDataRoute } from '../../route.ts';

export const getListedTicker = marketDataRoute({
  path: '/v1/coinmarketcap/ticker',
  id: 'getListedTicker',
  summary: 'Returns price and volume of every market, in the form of CoinMarketCap',
  reply: listedTickersSchema,
  async handle({ services: { marketData } }, write) {
    const [overview, assets] = await Promise.all([marketData.overview(), marketData.assets()]);
    return write.publicJson(listedTickersReply(overview, assets));
  },
});
