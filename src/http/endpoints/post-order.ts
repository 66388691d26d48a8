/** `POST /v1/orders`: places an order, or returns the order that already has its client order id. */

import { rejectReasonOf } from '../../domain/order.ts';
import { placedFills } from '../../history/order-history.ts';
import { orderRequestSchema } from '../../order/request.ts';
import type { WalletCall, WalletEndpoint } from '../endpoint.ts';
import { findMarkets } from '../replies/market.ts';
import { placingReply } from '../replies/order.ts';
import { jsonForSeveral, jsonText, type Reply } from '../replies/reply.ts';
import { type Asked, type Placed, placeOrder, readOrder, replayOrder } from './place-order.ts';

export const postOrder: WalletEndpoint = {
  request: orderRequestSchema,
  readsBody: true,
  handle: async (call) => placedReply(call, await placeOrder(call, call.body, readAsked)),
};

const readAsked = (body: unknown, { wallet }: WalletCall): Asked => ({ request: readOrder(body, wallet) });

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
