/** `GET /v1/coinmarketcap/orderbook/{pair}`: returns the best levels of a book. */

import { checked } from '../../../contract/checked.ts';
import { listedBookSchema } from '../../../contract/coinmarketcap.ts';
import { listedBookRequest } from '../../../contract/requests.ts';
import { levelsReply } from '../../replies/market-data.ts';
import { sharedReply } from '../../replies/reply.ts';
import { marketDataRoute } from '../../route.ts';
import { levelsOf } from '../market-data/get-orderbook.ts';
import { findMarketByTicker } from '../market-data/ticker.ts';

export const getListedOrderbook = marketDataRoute({
  path: '/v1/coinmarketcap/orderbook/:pair',
  id: 'getListedOrderBook',
  summary: 'Returns the best levels of an order book, in the form of CoinMarketCap',
  reply: listedBookSchema,
  codes: ['VALIDATION_ERROR', 'NOT_FOUND'],
  request: listedBookRequest,
  async handle({ services: { engine, marketData }, query, params }, write) {
    const { pair, depth, level } = checked(listedBookRequest, { ...query, ...params });
    const levels = level === '1' ? 1 : levelsOf(depth);
    const market = await findMarketByTicker(engine, pair);
    const book = await marketData.book(market.symbol, levels);
    return sharedReply(book, `listed ${levels}`, () => write.publicJson(levelsReply(book, levels)));
  },
});
