/** Limits the orders of a wallet in any minute, over all replicas: ORDERS_PER_MINUTE. */

import { loadScript } from '../../redis/lua.ts';
import { describeScript, LoadedCall } from '../../redis/script-call.ts';
import type { LimitServices } from './index.ts';
import { orderLog } from './keys.ts';
import { watchOutages } from './outage.ts';

export interface OrderCount {
  /** Maximum orders in any 60 seconds. */
  readonly limit: number;
  /** True if there was room for all orders of the request, and they were counted. */
  readonly isCounted: boolean;
  readonly remaining: number;
  /** Unix seconds. */
  readonly resetsAtSeconds: number;
  /** 0 if counted. */
  readonly retryAfterSeconds: number;
}

/** Counts orders that a wallet asks for. Returns undefined while Redis is away: trading goes on without a limit. */
export type CountOrders = (wallet: string, orders: number) => Promise<OrderCount | undefined>;

export const COUNT_ORDERS = describeScript({
  name: 'count_orders',
  keys: ['log'],
  args: ['orders', 'limit'],
  read: (reply) => reply as readonly [counted: number, remaining: number, resets: number, wait: number],
});

const countOrders = new LoadedCall(COUNT_ORDERS, loadScript(COUNT_ORDERS.name));

/** @returns undefined without a limit */
export function openOrderLimit({
  queueRedis: redis,
  logger,
  metrics,
  settings: { ordersPerMinute: limit },
}: LimitServices): CountOrders | undefined {
  if (limit === undefined) return undefined;
  const outage = watchOutages(redis, logger);
  return async (wallet, orders) => {
    try {
      outage.failFast();
      const asked = { log: orderLog(wallet), orders, limit };
      const [counted, remaining, resetsAtSeconds, retryAfterSeconds] = await countOrders.run(redis, asked);
      outage.end();
      const isCounted = counted === 1;
      metrics.countLimited('orders', isCounted ? 'allowed' : 'limited');
      return { limit, isCounted, remaining, resetsAtSeconds, retryAfterSeconds };
    } catch (cause) {
      outage.begin(cause);
      metrics.countLimited('orders', 'failed');
      return undefined;
    }
  };
}
