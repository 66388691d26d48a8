/** `DELETE /v1/orders/{orderId}`: cancels one live order, also while trading is paused. */

import type { closedOrderSchema } from '../../order/reply.ts';
import type { WalletEndpoint } from '../endpoint.ts';
import { closedReply } from '../replies/order.ts';
import { json } from '../replies/reply.ts';

export const deleteOrder: WalletEndpoint = {
  async handle({ services, wallet, params }) {
    const closed = await services.engine.orders.cancel(wallet, params.orderId!);
    services.wakeSettlement();
    return json<typeof closedOrderSchema>(closedReply(closed));
  },
};
