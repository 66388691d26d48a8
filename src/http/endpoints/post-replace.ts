/** `POST /v1/orders/replace`: cancels a live order and places another one in its market, as one change. */

import { orderRequestSchema, replacedOrder } from '../../order/request.ts';
import { checked } from '../checked.ts';
import type { WalletCall, WalletEndpoint } from '../endpoint.ts';
import { findOrderId } from './find-order-id.ts';
import { type Asked, placeOrder, readOrder } from './place-order.ts';
import { placedReply } from './post-order.ts';

export const postReplace: WalletEndpoint = {
  request: orderRequestSchema.and(replacedOrder),
  readsBody: true,
  handle: async (call) => placedReply(call, await placeOrder(call, call.body, readReplacement)),
};

async function readReplacement(body: unknown, call: WalletCall): Promise<Asked> {
  const { orderId, replacesClientOrderId, filledSize } = checked(replacedOrder, body);
  const request = readOrder(body, call.wallet);
  // The engine refuses an id that no order has, after a repeated request.
  const replaces = orderId ?? (await findOrderId(call, replacesClientOrderId!)) ?? '';
  return { request, replaces, filledSize };
}
