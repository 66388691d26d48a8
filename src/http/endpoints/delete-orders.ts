/** `DELETE /v1/orders`: cancels all live orders of the wallet, or those in one market, also while trading is paused. */

import { cancelOrdersRequest } from '../../contract/requests.ts';
import { Refusal } from '../../domain/errors.ts';
import type { closedOrdersSchema } from '../../order/reply.ts';
import { checked } from '../checked.ts';
import type { WalletEndpoint } from '../endpoint.ts';
import { closedReply } from '../replies/order.ts';
import { json } from '../replies/reply.ts';

export const deleteOrders: WalletEndpoint = {
  request: cancelOrdersRequest,
  async handle({ services, wallet, query }) {
    const { market } = checked(cancelOrdersRequest, query);
    const { engine } = services;
    if (market !== undefined && (await engine.markets.bySymbol(market)) === undefined) {
      throw new Refusal('MARKET_NOT_FOUND');
    }
    const closed = await engine.orders.cancelAll(wallet, market ?? null);
    services.wakeSettlement();
    return json<typeof closedOrdersSchema>({ cancelled: closed.map(closedReply), count: closed.length });
  },
};
