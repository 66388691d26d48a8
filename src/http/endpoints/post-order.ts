/** `POST /v1/orders`: places an order, or returns the order that already has its client order id. */

import { rejectReasonOf } from '../../domain/order.ts';
import { placedFills } from '../../history/order-history.ts';
import { placementSchema } from '../../order/reply.ts';
import { orderRequestSchema } from '../../order/request.ts';
import { ORDER_BODIES } from '../openapi/order-bodies.ts';
import { findMarkets } from '../replies/market.ts';
import { placingReply } from '../replies/order.ts';
import { jsonForSeveral, jsonText, type Reply } from '../replies/reply.ts';
import { codesOf, type WalletCall, walletRoute } from '../route.ts';
import { admitOrders, type Placed, placeOrder, refuseFullQueue, replayOrder } from './place-order.ts';

export const postOrder = walletRoute({
  method: 'POST',
  path: '/v1/orders',
  id: 'placeOrder',
  tag: 'Trading',
  summary: 'Places an order',
  description:
    'A `clientOrderId` that was used before returns its order in its present state, whatever else the request says. ' +
    'So repeat a request whose reply was lost. A body with a `clientOrderId` alone is a look-up: it returns the ' +
    'order of that id and never places one. An id that was never used answers `VALIDATION_ERROR`. Post-only orders ' +
    'that would cross and fill-or-kill orders that cannot be filled are answered with 200, `accepted: false` and ' +
    'the status `rejected`. A request that is refused with a code places nothing and leaves its `clientOrderId` ' +
    'free, except for `SETTLEMENT_FAILED`. `BAD_REQUEST` says that the order came after `expiresAfter`, or that the ' +
    'wallet has too many live orders.',
  reply: placementSchema,
  bodies: ORDER_BODIES,
  codes: [...codesOf('placing'), 'FORBIDDEN', 'BAD_REQUEST'],
  request: orderRequestSchema,
  readsBody: true,
  countsOrders: true,
  admit: refuseFullQueue,
  async handle(call) {
    if (call.countOrders !== undefined) await admitOrders(call, [call.body]);
    return placedReply(call, await placeOrder(call, call.body));
  },
});

export function placedReply(call: WalletCall, placed: Placed): Reply | Promise<Reply> {
  const { services } = call;
  if (placed.outcome === 'placed') {
    const { order, trades, market, replaced } = placed;
    const fills = placedFills(order.id, trades, services.settings);
    return jsonText(placingReply(order, fills, market, rejectReasonOf(order), replaced));
  }
  return replayOrder(call, placed.orderId, 'reply', async ({ order, shown }) => {
    const marketOf = await findMarkets(services.engine, [order]);
    return jsonForSeveral(placingReply(order, shown, marketOf(order), null));
  });
}
