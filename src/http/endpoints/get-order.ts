/** `GET /v1/orders/{orderId}` and `GET /v1/orders/by-client-id/{clientOrderId}`: return one order of the wallet. */

import { orderByClientIdRequest, orderByIdRequest } from '../../contract/requests.ts';
import { Refusal } from '../../domain/errors.ts';
import { findOrder } from '../../history/order-history.ts';
import { checked } from '../checked.ts';
import type { WalletCall, WalletEndpoint } from '../endpoint.ts';
import { findMarkets } from '../replies/market.ts';
import { orderReply } from '../replies/order.ts';
import { jsonForSeveral, type Reply } from '../replies/reply.ts';
import { findOrderId } from './find-order-id.ts';

export const getOrder: WalletEndpoint = {
  request: orderByIdRequest,
  async handle(call) {
    const { orderId } = checked(orderByIdRequest, call.params);
    return call.reads.orders.read(call.wallet, `order ${orderId}`, () => reply(call, orderId));
  },
};

export const getOrderByClientId: WalletEndpoint = {
  request: orderByClientIdRequest,
  async handle(call) {
    const id = checked(orderByClientIdRequest, call.params).clientOrderId;
    return call.reads.orders.read(call.wallet, `client id ${id}`, async () => {
      const orderId = await findOrderId(call, id);
      return reply(call, orderId);
    });
  },
};

async function reply({ services, wallet }: WalletCall, orderId: string | null): Promise<Reply> {
  const found = orderId === null ? undefined : await findOrder(services, wallet, orderId);
  if (found === undefined) throw new Refusal('NOT_FOUND', 'the wallet has no such order');
  const { order, shown } = found;
  const marketOf = await findMarkets(services.engine, [order]);
  return jsonForSeveral(`{"order":${orderReply(order, shown, marketOf(order))}}`);
}
