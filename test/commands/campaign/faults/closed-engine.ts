/** An engine that has lost what Postgres knows stays closed: no api places an order on it. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Scene } from './fault.ts';

/** Time in which replicas have noticed the new server. */
const NOTICED_MS = 2_500;

/** Positions of the two stores. */
interface Places {
  readonly sequence: number;
  readonly settled: number;
}

/** @param places the log of a process must name both */
export async function expectClosed(
  { cluster, driver, violation, note }: Scene,
  places?: Places,
): Promise<void> {
  await sleep(NOTICED_MS);
  // IOC, so that nothing rests when it is repeated on the engine that is open again.
  const order = {
    market: 'ETH/USDC',
    side: 'buy',
    type: 'limit',
    price: 1_000,
    size: 0.001,
    timeInForce: 'IOC',
  } as const;
  for (const port of driver.ports) {
    const clientOrderId = `closed ${driver.model.lastIntent}`;
    const outcome = await driver.place(driver.deadMan, { ...order, clientOrderId }, port);
    if (outcome.is === 'ok')
      violation('fencing', `port ${port} placed an order on an engine that lost events`);
  }
  if (places !== undefined) {
    const { sequence, settled } = places;
    const report = new RegExp(`the engine is at event \\d+-${sequence}, Postgres at \\d+-${settled}\\b`);
    if (!report.test(cluster.processes.output()))
      violation('fencing', `no process reports the engine at event ${sequence} and Postgres at ${settled}`);
  }
  note('fenced');
}
