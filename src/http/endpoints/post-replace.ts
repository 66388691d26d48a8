/** `POST /v1/orders/replace`: cancels a live order and places another one in its market, as one change. */

import { checked } from '../../contract/checked.ts';
import { replacementSchema } from '../../order/reply.ts';
import { orderRequestSchema, replacedOrder } from '../../order/request.ts';
import { REPLACE_BODIES } from '../openapi/order-bodies.ts';
import { codesOf, type WalletCall, walletRoute } from '../route.ts';
import { findOrderToChange } from './find-order-id.ts';
import { type Asked, admitOrders, placeOrder, readOrder, refuseFullQueue } from './place-order.ts';
import { placedReply } from './post-order.ts';

export const postReplace = walletRoute({
  method: 'POST',
  path: '/v1/orders/replace',
  id: 'replaceOrder',
  tag: 'Trading',
  summary: 'Replaces a live order by another one of its market',
  description:
    'Cancels what is left of the order and places the new one, as one change: no state exists with both or with ' +
    'neither. The new order is checked and matched as if the old one had been cancelled, and has the priority of a ' +
    'new order, whatever it changes. If the old one is no longer live, the answer is `ORDER_NOT_FOUND`, and nothing ' +
    'is placed. If it has filled another amount than `filledSize`, the answer is `CONFLICT`, and nothing changes. If ' +
    'the new one is refused or rejected, the old one stays. A `clientOrderId` that was used before returns its order, ' +
    'as when placing, without `replaced`.',
  reply: replacementSchema,
  bodies: REPLACE_BODIES,
  codes: [
    ...codesOf('placing'),
    ...codesOf('cancelling'),
    ...codesOf('replacing'),
    'FORBIDDEN',
    'BAD_REQUEST',
  ],
  request: orderRequestSchema.and(replacedOrder),
  readsBody: true,
  countsOrders: true,
  admit: refuseFullQueue,
  async handle(call) {
    if (call.countOrders !== undefined) await admitOrders(call, [call.body]);
    return placedReply(call, await placeOrder(call, call.body, readReplacement));
  },
});

async function readReplacement(body: unknown, call: WalletCall): Promise<Asked> {
  const { orderId, replacesClientOrderId, filledSize } = checked(replacedOrder, body);
  const request = readOrder(body, call.wallet);
  // The engine refuses an id that no order has, after a repeated request.
  const replaces = orderId ?? (await findOrderToChange(call, replacesClientOrderId!)) ?? '';
  return { request, replaces, filledSize };
}
