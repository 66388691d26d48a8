/** Servers that answer, and refuse. */

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../support/eventually.ts';
import type { Outcome } from '../journal.ts';
import type { Fault, Scene } from './fault.ts';

const REFUSING_MS = 1_500;
const FLUSHES = 10;

/** Places an order of a wallet that cancels nothing on its own. */
const placeOne = ({ driver }: Pick<Scene, 'driver'>, name: string): Promise<Outcome> =>
  driver.place(driver.marker, {
    market: 'BTC/USDC',
    side: 'buy',
    type: 'limit',
    price: 1_500,
    size: 0.001,
    clientOrderId: `${name} ${driver.model.lastIntent}`,
  });

/** A fault that refuses nothing proves nothing. */
async function expectRefusal(scene: Scene, name: string): Promise<void> {
  const outcome = await placeOne(scene, name);
  if (outcome.is === 'ok') scene.violation('campaign', `an order was accepted: ${name} had no effect`);
}

const noScript: Fault = {
  name: 'NOSCRIPT: the scripts are flushed',
  rounds: 5,
  async inject(scene) {
    for (let flushes = 0; flushes < FLUSHES; flushes += 1) {
      await scene.cluster.redis.script('FLUSH');
      const outcome = await placeOne(scene, `flush ${flushes}`);
      if (outcome.is !== 'ok')
        scene.violation('NOSCRIPT', `an order was answered ${JSON.stringify(outcome)} after a flush`);
      await sleep(REFUSING_MS / FLUSHES);
    }
  },
};

const MAX_KILLS = 100;

/** A script that only reads may be killed, and nothing that it held up is lost. */
const busy: Fault = {
  name: 'BUSY: a script does not end',
  rounds: 5,
  async inject(scene) {
    const { redis } = scene.cluster;
    await redis.config('SET', 'busy-reply-threshold', '100');
    const killer = redis.duplicate();
    const endless = redis.duplicate();
    // A connection that is made while the script runs is answered BUSY, and would never be ready.
    await Promise.all([killer.ping(), endless.ping()]);
    let hasEnded = false;
    const ended = endless
      .eval('while true do end', 0)
      .catch(() => undefined)
      .then(() => {
        hasEnded = true;
      });
    const isBusy = (): Promise<boolean> =>
      killer.ping().then(
        () => false,
        ({ message }: Error) => message.startsWith('BUSY'),
      );
    await eventually('the script runs', isBusy);
    await expectRefusal(scene, 'BUSY');
    await sleep(REFUSING_MS);
    return async () => {
      for (let tries = 0; !hasEnded && tries < MAX_KILLS; tries += 1) {
        await killer.script('KILL').catch(() => undefined);
        await sleep(50);
      }
      await ended;
      await killer.config('SET', 'busy-reply-threshold', '5000');
      for (const connection of [killer, endless]) connection.disconnect();
    };
  },
};

const readOnly: Fault = {
  name: 'READONLY: the server becomes a replica for a moment',
  rounds: 5,
  async inject(scene) {
    const { cluster } = scene;
    // A primary that nobody can reach, so the replica keeps its data.
    await cluster.redis.replicaof('127.0.0.1', 9);
    await expectRefusal(scene, 'READONLY');
    await sleep(REFUSING_MS);
    return async () => {
      await cluster.redis.replicaof('NO', 'ONE');
    };
  },
};

/** A snapshot that cannot be written makes the server refuse writes. */
const misconf: Fault = {
  name: 'MISCONF: the server cannot save',
  rounds: 5,
  async inject(scene) {
    const { redis, engineFolder } = scene.cluster;
    const snapshot = join(engineFolder, 'dump.rdb');
    // The snapshot of an earlier round; the append-only file has the data.
    rmSync(snapshot, { recursive: true, force: true });
    mkdirSync(join(snapshot, 'in the way'), { recursive: true });
    await redis.config('SET', 'save', '3600 1');
    await redis.bgsave();
    await untilSaved(redis);
    await expectRefusal(scene, 'MISCONF');
    await sleep(REFUSING_MS);
    return async () => {
      rmSync(snapshot, { recursive: true });
      await redis.bgsave();
      await untilSaved(redis);
      await redis.config('SET', 'save', '');
    };
  },
};

async function untilSaved(redis: Scene['cluster']['redis']): Promise<void> {
  for (let looks = 0; looks < 200; looks += 1) {
    if ((await redis.info('persistence')).includes('rdb_bgsave_in_progress:0')) return;
    await sleep(25);
  }
  throw new Error('the server does not end its snapshot');
}

/** Orders are refused, cancels work, and nothing is half done. */
const outOfMemory: Fault = {
  name: 'the engine Redis is out of memory',
  rounds: 10,
  async inject(scene) {
    const { driver, violation } = scene;
    const { redis } = scene.cluster;
    const before = await placeOne(scene, 'before');
    await redis.config('SET', 'maxmemory', '1mb');
    await expectRefusal(scene, 'out of memory');
    if (before.is === 'ok') {
      const cancel = await driver.cancel(driver.marker, before.shown[0]!.id);
      if (cancel.is !== 'ok') violation('out of memory', `a cancel was answered ${JSON.stringify(cancel)}`);
    }
    await sleep(REFUSING_MS);
    return async () => {
      await redis.config('SET', 'maxmemory', '0');
    };
  },
};

export const REFUSALS: readonly Fault[] = [noScript, busy, readOnly, misconf, outOfMemory];
