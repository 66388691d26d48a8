/** An engine that has lost what Postgres knows stays closed: no api places an order on it. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Scene } from './fault.ts';

/** Time in which replicas have noticed the new server. */
const NOTICED_MS = 2_500;

export async function expectClosed({ driver, violation, note }: Scene, why: string): Promise<void> {
  await sleep(NOTICED_MS);
  const order = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 1_000, size: 0.001 } as const;
  for (const port of driver.ports) {
    const clientOrderId = `closed ${driver.model.lastIntent}`;
    const outcome = await driver.place(driver.deadMan, { ...order, clientOrderId }, port);
    if (outcome.is === 'ok') violation('fencing', `port ${port} placed an order, although ${why}`);
  }
  note('fenced');
}
