/** `GET /v1/coinmarketcap/assets`: returns the assets of the visible markets, as the operator describes them. */

import { listedAssetsSchema } from '../../../contract/coinmarketcap.ts';
import { listedAssetsReply } from '../../replies/coinmarketcap.ts';
import { sharedReply } from '../../replies/reply.ts';
import { marketDataRoute } from '../../route.ts';

export const getListedAssets = marketDataRoute({
  path: '/v1/coinmarketcap/assets',
  id: 'getListedAssets',
  summary: 'Returns names, ids and fees of the assets, in the form of CoinMarketCap',
  reply: listedAssetsSchema,
  async handle({ services: { marketData } }, write) {
    const assets = await marketData.assets();
    return sharedReply(assets, 'listed assets', () => write.publicJson(listedAssetsReply(assets)));
  },
});
