/** `GET /v1/trades`: the wallet's own trades as maker or taker, newest first, a page at a time. */

import { z } from 'zod';
import { Refusal } from '../../domain/errors.ts';
import { checked, jsonPage, type WalletEndpoint } from '../endpoint.ts';
import { INTEGER_JSON, marketFilter, queryText } from '../fields.ts';
import { cursorText, readCursor, writeCursor } from '../list-cursor.ts';
import { tradesOf } from '../order-history.ts';
import { marketsOf } from '../replies/market.ts';
import { walletTradeReply } from '../replies/order.ts';

const DEFAULT_LIMIT = 100;
const HIGHEST_LIMIT = 500;

const schema = z.object({
  market: marketFilter,
  orderId: queryText
    .optional()
    .describe('id of an order of the wallet: only its trades; of any other there are none'),
  limit: queryText
    .regex(/^-?\d+$/, 'must be a whole number')
    .transform((digits) => Math.min(Math.max(Number(digits), 1), HIGHEST_LIMIT))
    .default(DEFAULT_LIMIT)
    .meta({
      ...INTEGER_JSON,
      default: DEFAULT_LIMIT,
      description: 'what is out of 1 to 500 counts as its end',
    }),
  cursor: cursorText,
});

export const getTrades: WalletEndpoint = {
  request: schema,
  async handle({ services, reads, wallet, query }) {
    const { market, orderId, limit, cursor } = checked(schema, query);
    const scope = { list: 'trades', wallet, market, orderId };
    const beforeTradeId = cursor === undefined ? undefined : readCursor(scope, cursor);
    if (market !== undefined && (await services.engine.market(market)) === undefined) {
      throw new Refusal('MARKET_NOT_FOUND');
    }
    const name = `trades ${JSON.stringify([market, orderId, limit, cursor])}`;
    return reads.lists.read(wallet, name, async () => {
      const filter = { market, orderId, beforeTradeId };
      const { items, next } = await tradesOf(services, wallet, filter, limit);
      const marketOf = await marketsOf(services.engine, items);
      const trades = items.map((trade) => walletTradeReply(trade, marketOf(trade)));
      return jsonPage('trades', trades, writeCursor(scope, next));
    });
  },
};
