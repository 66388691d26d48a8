/** `GET /v1/orders`: returns the wallet's orders in pages of at most 100. */

import { ordersRequest } from '../../contract/requests.ts';
import { forwardScope, readCursor, writeCursor } from '../../history/list-cursor.ts';
import { readOrders } from '../../history/order-history.ts';
import type { ordersSchema } from '../../order/reply.ts';
import { checked } from '../checked.ts';
import type { WalletEndpoint } from '../endpoint.ts';
import { checkMarket, findMarkets } from '../replies/market.ts';
import { orderReply } from '../replies/order.ts';
import { jsonPage } from '../replies/reply.ts';

export const getOrders: WalletEndpoint = {
  request: ordersRequest,
  async handle({ services, reads, wallet, query }) {
    const { market, status, limit, cursor, order: direction, since, until } = checked(ordersRequest, query);
    const scope = { list: 'orders', wallet, status, market, ...forwardScope({ direction, since, until }) };
    const place = cursor === undefined ? undefined : readCursor(scope, cursor);
    const span = { sinceMs: since, untilMs: until };
    const bound = direction === 'asc' ? { afterSequence: place } : { beforeSequence: place };
    await checkMarket(services.engine, market);
    const name = `orders ${JSON.stringify([market, status, limit, cursor, direction, since, until])}`;
    return reads.lists.read(wallet, name, async () => {
      const { items, next } = await readOrders(
        services,
        wallet,
        { status, market, span, direction, ...bound },
        limit,
      );
      const marketOf = await findMarkets(
        services.engine,
        items.map(({ order }) => order),
      );
      const orders = items.map(({ order, shown }) => orderReply(order, shown, marketOf(order)));
      return jsonPage<typeof ordersSchema>('orders', orders, writeCursor(scope, next));
    });
  },
};
