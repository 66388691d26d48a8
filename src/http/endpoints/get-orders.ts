/** `GET /v1/orders`: the wallet's orders, newest first, a page at a time; the latest 100 unless asked otherwise. */

import { z } from 'zod';
import { checked, jsonPage, type WalletEndpoint } from '../endpoint.ts';
import { INTEGER_JSON, queryText } from '../fields.ts';
import { cursorText, readCursor, writeCursor } from '../list-cursor.ts';
import { ordersOf } from '../order-history.ts';
import { marketsOf } from '../replies/market.ts';
import { orderReply } from '../replies/order.ts';

const HIGHEST_LIMIT = 100;

const schema = z.object({
  status: queryText
    .pipe(z.enum(['live', 'closed'], 'must be live or closed'))
    .optional()
    .describe(
      '`live`: orders that can be filled or cancelled; `closed`: all others. Both are listed unless it is given.',
    ),
  limit: queryText
    .regex(/^0*([1-9]\d?|100)$/, `must be a whole number from 1 to ${HIGHEST_LIMIT}`)
    .transform(Number)
    .default(HIGHEST_LIMIT)
    .meta({ ...INTEGER_JSON, minimum: 1, maximum: HIGHEST_LIMIT, default: HIGHEST_LIMIT }),
  cursor: cursorText,
});

export const getOrders: WalletEndpoint = {
  request: schema,
  async handle({ services, reads, wallet, query }) {
    const { status, limit, cursor } = checked(schema, query);
    const scope = { list: 'orders', wallet, status };
    const beforeSequence = cursor === undefined ? undefined : readCursor(scope, cursor);
    return reads.lists.read(wallet, `orders ${status} ${limit} ${cursor}`, async () => {
      const { items, next } = await ordersOf(services, wallet, { status, beforeSequence }, limit);
      const marketOf = await marketsOf(
        services.engine,
        items.map(({ order }) => order),
      );
      const orders = items.map(({ order, shown }) => orderReply(order, shown, marketOf(order)));
      return jsonPage('orders', orders, writeCursor(scope, next));
    });
  },
};
