/** `GET /v1/orders`: the wallet's latest 100 orders, newest first, open and terminal. */

import { json, type WalletEndpoint } from '../endpoint.ts';
import { ordersOf } from '../order-history.ts';
import { marketsOf } from '../replies/market.ts';
import { orderReply } from '../replies/order.ts';

const LISTED_ORDERS = 100;

export const getOrders: WalletEndpoint = {
  async handle({ services, wallet }) {
    const orders = await ordersOf(services, wallet, LISTED_ORDERS);
    const marketOf = await marketsOf(services.engine, orders);
    return json({ orders: orders.map((order) => orderReply(order, marketOf(order))) });
  },
};
