/** `GET /v1/market-data/orderbook`, with the ticker id in the query or in the path: the best levels of a book. */

import { z } from 'zod';
import { BOOK_LEVELS } from '../../../market-data/index.ts';
import { checked, type Endpoint, publicJson, sharedAnswer } from '../../endpoint.ts';
import { count } from '../../fields.ts';
import { orderBookReply } from '../../replies/market-data.ts';
import { marketOfTicker, tickerId } from './ticker.ts';

const DEFAULT_DEPTH = 100;

/** Levels of each side: half the depth; 0 stands for all there are to have. */
const levelsOf = (depth: number): number =>
  depth === 0 ? BOOK_LEVELS : Math.min(Math.max(Math.floor(depth / 2), 1), BOOK_LEVELS);

const schema = z.object({
  ticker_id: tickerId,
  depth: count.default(DEFAULT_DEPTH).transform(levelsOf).meta({
    default: DEFAULT_DEPTH,
    description: 'levels of both sides together, half of them of each; 0, and all from 500 on, is 250 a side',
  }),
});

export const getOrderbook: Endpoint = {
  request: schema,
  async handle({ services: { engine, marketData }, query, params }) {
    const { ticker_id, depth: levels } = checked(schema, { ...query, ...params });
    const market = await marketOfTicker(engine, ticker_id);
    const book = await marketData.book(market.symbol, levels);
    return sharedAnswer(book, `orderbook ${levels}`, () => publicJson(orderBookReply(book, levels)));
  },
};
