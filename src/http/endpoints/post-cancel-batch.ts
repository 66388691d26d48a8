/** `POST /v1/orders/cancel-batch`: cancels named live orders, also while trading is paused. */

import { checked } from '../../contract/checked.ts';
import { cancelBatchRequest } from '../../contract/requests.ts';
import type { Written } from '../../contract/written.ts';
import { ERRORS } from '../../domain/errors.ts';
import type { ClosedOrder } from '../../domain/order.ts';
import { cancelBatchSchema, type cancelResultSchema } from '../../order/reply.ts';
import { closedReply } from '../replies/order.ts';
import { type WalletCall, walletRoute } from '../route.ts';
import { findOrderToChange } from './find-order-id.ts';

type CancelResult = Written<typeof cancelResultSchema>;

const NOT_FOUND = {
  status: 400,
  error: ERRORS.ORDER_NOT_FOUND.meaning,
  code: 'ORDER_NOT_FOUND',
} as const satisfies CancelResult;

export const postCancelBatch = walletRoute({
  method: 'POST',
  path: '/v1/orders/cancel-batch',
  id: 'cancelNamedOrders',
  tag: 'Trading',
  summary: 'Cancels named live orders, up to 100',
  description:
    'Works while trading is paused. Those of one market are cancelled as one change. Each id has a result of its own.',
  reply: cancelBatchSchema,
  request: cancelBatchRequest,
  readsBody: true,
  async handle(call, write) {
    const { orderIds, clientOrderIds } = checked(cancelBatchRequest, call.body);
    const ids = [...orderIds, ...(await idsOf(call, clientOrderIds))];
    const known = ids.filter((id) => id !== null);
    const closed = await call.services.engine.orders.cancelNamed(call.wallet, known);
    call.services.wakeSettlement();
    const byId = new Map(closed.map((order) => [order.id, order]));
    return write.json({ results: ids.map((id) => take(byId, id)) });
  },
});

/** One after the other, so that a request never occupies more than one connection of Postgres. */
async function idsOf(call: WalletCall, clientOrderIds: readonly string[]): Promise<(string | null)[]> {
  const ids: (string | null)[] = [];
  for (const id of clientOrderIds) ids.push(await findOrderToChange(call, id));
  return ids;
}

/** An order that is named twice was cancelled once: the second result is that of a closed order. */
function take(closed: Map<string, ClosedOrder>, id: string | null): CancelResult {
  const order = id === null ? undefined : closed.get(id);
  if (order === undefined) return NOT_FOUND;
  closed.delete(order.id);
  const { id: orderId, clientOrderId, market, reason } = order;
  return { id: orderId, clientOrderId, market, reason, status: 200, order: closedReply(order) };
}
