/** `GET /v1/orders`: returns the wallet's orders in pages of at most 100. */

import { checked } from '../../contract/checked.ts';
import { forwardScope, readCursor, writeCursor } from '../../contract/list-cursor.ts';
import { ordersRequest } from '../../contract/requests.ts';
import { readOrders } from '../../history/order-history.ts';
import { ordersSchema } from '../../order/reply.ts';
import { checkMarket, findMarkets } from '../replies/market.ts';
import { orderReply } from '../replies/order.ts';
import { READS_IN_TURN, walletRoute } from '../route.ts';

export const getOrders = walletRoute({
  method: 'GET',
  path: '/v1/orders',
  id: 'getOrders',
  tag: 'Trading',
  summary: 'Returns orders of the wallet, newest first',
  description:
    'Returns pages of live and terminal orders by the time of placing, 100 orders a page unless `limit` is smaller. ' +
    'No order is on two pages. Every order that keeps the requested status meanwhile is on one. ' +
    READS_IN_TURN,
  reply: ordersSchema,
  codes: ['MARKET_NOT_FOUND'],
  request: ordersRequest,
  async handle({ services, reads, wallet, query }, write) {
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
      return write.page('orders', orders, writeCursor(scope, next));
    });
  },
});
