/** `GET /v1/orders/{orderId}` and `GET /v1/orders/by-client-id/{clientOrderId}`: return one order of the wallet. */

import { checked } from '../../contract/checked.ts';
import { orderByClientIdRequest, orderByIdRequest } from '../../contract/requests.ts';
import { Refusal } from '../../domain/errors.ts';
import { findOrder } from '../../history/order-history.ts';
import { orderReplySchema } from '../../order/reply.ts';
import { findMarkets } from '../replies/market.ts';
import { orderReply } from '../replies/order.ts';
import { jsonForSeveral, type Reply } from '../replies/reply.ts';
import { READS_IN_TURN, type WalletCall, walletRoute } from '../route.ts';
import { findOrderId } from './find-order-id.ts';

export const getOrder = walletRoute({
  method: 'GET',
  path: '/v1/orders/:orderId',
  id: 'getOrder',
  tag: 'Trading',
  summary: 'Returns one order',
  description: `An unknown order and another wallet's order both answer \`NOT_FOUND\`. ${READS_IN_TURN}`,
  reply: orderReplySchema,
  codes: ['NOT_FOUND'],
  request: orderByIdRequest,
  async handle(call) {
    const { orderId } = checked(orderByIdRequest, call.params);
    return call.reads.orders.read(call.wallet, `order ${orderId}`, () => reply(call, orderId));
  },
});

export const getOrderByClientId = walletRoute({
  method: 'GET',
  path: '/v1/orders/by-client-id/:clientOrderId',
  id: 'getOrderByClientId',
  tag: 'Trading',
  summary: 'Returns one order by its client order id',
  description:
    `Answers \`NOT_FOUND\` when the wallet has not used the id. ${READS_IN_TURN} Most clients drop \`.\` and ` +
    '`..` from a path, also when they are encoded; look such an id up by `POST /v1/orders`.',
  reply: orderReplySchema,
  codes: ['NOT_FOUND'],
  request: orderByClientIdRequest,
  async handle(call) {
    const id = checked(orderByClientIdRequest, call.params).clientOrderId;
    return call.reads.orders.read(call.wallet, `client id ${id}`, async () => {
      const orderId = await findOrderId(call, id);
      return reply(call, orderId);
    });
  },
});

async function reply({ services, wallet }: WalletCall, orderId: string | null): Promise<Reply> {
  const found = orderId === null ? undefined : await findOrder(services, wallet, orderId);
  if (found === undefined) throw new Refusal('NOT_FOUND', 'the wallet has no such order');
  const { order, shown } = found;
  const marketOf = await findMarkets(services.engine, [order]);
  return jsonForSeveral(`{"order":${orderReply(order, shown, marketOf(order))}}`);
}
