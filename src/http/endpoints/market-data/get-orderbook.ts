/** `GET /v1/market-data/orderbook`: returns the best levels of a book. The ticker id is in the query or the path. */

import type { orderBookSchema } from '../../../contract/market-data.ts';
import { orderBookRequest } from '../../../contract/requests.ts';
import { BOOK_LEVELS } from '../../../market-data/index.ts';
import { checked } from '../../checked.ts';
import type { Endpoint } from '../../endpoint.ts';
import { orderBookReply } from '../../replies/market-data.ts';
import { publicJson, sharedReply } from '../../replies/reply.ts';
import { findMarketByTicker } from './ticker.ts';

/** Number of levels on each side: half the depth. A depth of 0 means all available levels. */
const levelsOf = (depth: number): number =>
  depth === 0 ? BOOK_LEVELS : Math.min(Math.max(Math.floor(depth / 2), 1), BOOK_LEVELS);

export const getOrderbook: Endpoint = {
  request: orderBookRequest,
  async handle({ services: { engine, marketData }, query, params }) {
    const { ticker_id, depth } = checked(orderBookRequest, { ...query, ...params });
    const levels = levelsOf(depth);
    const market = await findMarketByTicker(engine, ticker_id);
    const book = await marketData.book(market.symbol, levels);
    return sharedReply(book, `orderbook ${levels}`, () =>
      publicJson<typeof orderBookSchema>(orderBookReply(book, levels)),
    );
  },
};
