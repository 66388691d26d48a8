/** `GET /v1/market-data/orderbook`: returns the best levels of a book. The ticker id is in the query or the path. */

import { checked } from '../../../contract/checked.ts';
import { orderBookSchema } from '../../../contract/market-data.ts';
import { orderBookRequest } from '../../../contract/requests.ts';
import { BOOK_LEVELS } from '../../../market-data/index.ts';
import { orderBookReply } from '../../replies/market-data.ts';
import { sharedReply } from '../../replies/reply.ts';
import { marketDataRoute } from '../../route.ts';
import { findMarketByTicker, withTickerInPath } from './ticker.ts';

/** Number of levels on each side: half the depth. A depth of 0 means all available levels. */
export const levelsOf = (depth: number): number =>
  depth === 0 ? BOOK_LEVELS : Math.min(Math.max(Math.floor(depth / 2), 1), BOOK_LEVELS);

export const getOrderbook = marketDataRoute({
  path: '/v1/market-data/orderbook',
  id: 'getOrderBook',
  summary: 'Returns the best levels of an order book',
  reply: orderBookSchema,
  codes: ['VALIDATION_ERROR', 'NOT_FOUND'],
  request: orderBookRequest,
  async handle({ services: { engine, marketData }, query, params }, write) {
    const { ticker_id, depth } = checked(orderBookRequest, { ...query, ...params });
    const levels = levelsOf(depth);
    const market = await findMarketByTicker(engine, ticker_id);
    const book = await marketData.book(market.symbol, levels);
    return sharedReply(book, `orderbook ${levels}`, () => write.publicJson(orderBookReply(book, levels)));
  },
});

export const getOrderbookOf = withTickerInPath(getOrderbook);
