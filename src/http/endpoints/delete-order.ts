/**
 * `DELETE /v1/orders/{orderId}` and `DELETE /v1/orders/by-client-id/{clientOrderId}`: cancel one live order, also while
 * trading is paused.
 */

import { orderByClientIdRequest } from '../../contract/requests.ts';
import { Refusal } from '../../domain/errors.ts';
import type { closedOrderSchema } from '../../order/reply.ts';
import { checked } from '../checked.ts';
import type { WalletCall, WalletEndpoint } from '../endpoint.ts';
import { closedReply } from '../replies/order.ts';
import { json, type Reply } from '../replies/reply.ts';
import { findOrderId } from './find-order-id.ts';

export const deleteOrder: WalletEndpoint = {
  handle: (call) => cancel(call, call.params.orderId!),
};

export const deleteOrderByClientId: WalletEndpoint = {
  request: orderByClientIdRequest,
  async handle(call) {
    const orderId = await findOrderId(call, checked(orderByClientIdRequest, call.params).clientOrderId);
    if (orderId === null) throw new Refusal('ORDER_NOT_FOUND');
    return cancel(call, orderId);
  },
};

async function cancel({ services, wallet }: WalletCall, orderId: string): Promise<Reply> {
  const closed = await services.engine.orders.cancel(wallet, orderId);
  services.wakeSettlement();
  return json<typeof closedOrderSchema>(closedReply(closed));
}
