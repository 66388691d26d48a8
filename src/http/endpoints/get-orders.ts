/** `GET /v1/orders`: returns the wallet's orders, newest first, in pages of at most 100. */

import { ordersRequest } from '../../contract/requests.ts';
import { readCursor, writeCursor } from '../../history/list-cursor.ts';
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
    const { market, status, limit, cursor } = checked(ordersRequest, query);
    // Not among the filters unless given: cursors of before this filter stay valid.
    const scope = { list: 'orders', wallet, status, ...(market !== undefined && { market }) };
    const beforeSequence = cursor === undefined ? undefined : readCursor(scope, cursor);
    await checkMarket(services.engine, market);
    const name = `orders ${JSON.stringify([market, status, limit, cursor])}`;
    return reads.lists.read(wallet, name, async () => {
      const { items, next } = await readOrders(services, wallet, { status, market, beforeSequence }, limit);
      const marketOf = await findMarkets(
        services.engine,
        items.map(({ order }) => order),
      );
      const orders = items.map(({ order, shown }) => orderReply(order, shown, marketOf(order)));
      return jsonPage<typeof ordersSchema>('orders', orders, writeCursor(scope, next));
    });
  },
};
