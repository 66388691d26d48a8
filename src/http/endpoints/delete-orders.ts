/** `DELETE /v1/orders`: cancels all live orders of the wallet, or those in one market, also while trading is paused. */

import { checked } from '../../contract/checked.ts';
import { cancelOrdersRequest } from '../../contract/requests.ts';
import { Refusal } from '../../domain/errors.ts';
import { closedOrdersSchema } from '../../order/reply.ts';
import { closedReply } from '../replies/order.ts';
import { walletRoute } from '../route.ts';

export const deleteOrders = walletRoute({
  method: 'DELETE',
  path: '/v1/orders',
  id: 'cancelOrders',
  tag: 'Trading',
  summary: 'Cancels all live orders, or those of one market',
  description:
    'Works while trading is paused. Orders that are placed after the request began are not included.',
  reply: closedOrdersSchema,
  codes: ['MARKET_NOT_FOUND'],
  request: cancelOrdersRequest,
  async handle({ services, wallet, query }, write) {
    const { market } = checked(cancelOrdersRequest, query);
    const { engine } = services;
    if (market !== undefined && (await engine.markets.bySymbol(market)) === undefined) {
      throw new Refusal('MARKET_NOT_FOUND');
    }
    const closed = await engine.orders.cancelAll(wallet, market ?? null);
    services.wakeSettlement();
    return write.shared(closed, () => ({ cancelled: closed.map(closedReply), count: closed.length }));
  },
});
