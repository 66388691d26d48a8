/**
 * `DELETE /v1/orders/{orderId}` and `DELETE /v1/orders/by-client-id/{clientOrderId}`: cancel one live order, also while
 * trading is paused.
 */

import { z } from 'zod';
import { checked } from '../../contract/checked.ts';
import { orderByClientIdRequest } from '../../contract/requests.ts';
import { Refusal } from '../../domain/errors.ts';
import { closedOrderSchema } from '../../order/reply.ts';
import { closedReply } from '../replies/order.ts';
import type { Reply, Writers } from '../replies/reply.ts';
import { codesOf, type WalletCall, walletRoute } from '../route.ts';
import { findOrderToChange } from './find-order-id.ts';

export const deleteOrder = walletRoute({
  method: 'DELETE',
  path: '/v1/orders/:orderId',
  id: 'cancelOrder',
  tag: 'Trading',
  summary: 'Cancels a live order',
  description: 'Works while trading is paused.',
  reply: closedOrderSchema,
  codes: codesOf('cancelling'),
  parameters: { orderId: z.string().describe('the `id` of an order') },
  handle: (call, write) => cancel(call, call.params.orderId!, write),
});

export const deleteOrderByClientId = walletRoute({
  method: 'DELETE',
  path: '/v1/orders/by-client-id/:clientOrderId',
  id: 'cancelOrderByClientId',
  tag: 'Trading',
  summary: 'Cancels the live order of a client order id',
  description: 'Works while trading is paused.',
  reply: closedOrderSchema,
  codes: codesOf('cancelling'),
  request: orderByClientIdRequest,
  async handle(call, write) {
    const orderId = await findOrderToChange(call, checked(orderByClientIdRequest, call.params).clientOrderId);
    if (orderId === null) throw new Refusal('ORDER_NOT_FOUND');
    return cancel(call, orderId, write);
  },
});

async function cancel(
  { services, wallet }: WalletCall,
  orderId: string,
  write: Writers<typeof closedOrderSchema>,
): Promise<Reply> {
  const closed = await services.engine.orders.cancel(wallet, orderId);
  services.wakeSettlement();
  return write.json(closedReply(closed));
}
