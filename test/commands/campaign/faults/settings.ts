/** Settings of the servers that change while the service runs. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Fault, NOTHING, type Scene } from './fault.ts';

/** Processes look at the settings every second. */
const NOTICED_MS = 2_500;

/** No api places an order while a setting could lose it. */
async function expectRefused({ driver, violation }: Scene, setting: string): Promise<void> {
  await sleep(NOTICED_MS);
  for (const port of driver.ports) {
    const order = { market: 'BTC/USDC', side: 'buy', type: 'limit', price: 1_500, size: 0.001 } as const;
    const clientOrderId = `setting ${driver.model.lastIntent}`;
    const { is } = await driver.place(driver.marker, { ...order, clientOrderId }, port);
    if (is === 'ok') violation('settings', `port ${port} placed an order with ${setting}`);
  }
}

/** Name, value of the engine, and a value that may lose orders. */
const CHANGES = [
  ['appendfsync', 'always', 'everysec'],
  ['appendonly', 'yes', 'no'],
  ['maxmemory-policy', 'noeviction', 'allkeys-lru'],
  ['no-appendfsync-on-rewrite', 'no', 'yes'],
] as const;

const changed: Fault = {
  name: 'a setting of the engine Redis changes while it runs',
  rounds: 8,
  shortRounds: 1,
  restEvery: 4,
  mayBreak: NOTHING,
  async inject(scene) {
    const { redis } = scene.cluster;
    const [name, right, wrong] = CHANGES[(scene.round - 1) % CHANGES.length]!;
    await redis.config('SET', name, wrong);
    await expectRefused(scene, `${name} ${wrong}`);
    return async () => {
      await redis.config('SET', name, right);
    };
  },
};

export const SETTINGS: readonly Fault[] = [changed];
