/** Servers that answer, and refuse. */

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome } from '../journal.ts';
import { type Fault, NOTHING, type Scene } from './fault.ts';

const REFUSING_MS = 1_500;
const FLUSHES = 10;

const noScript: Fault = {
  name: 'NOSCRIPT: the scripts are flushed',
  rounds: 5,
  mayBreak: NOTHING,
  async inject({ cluster }) {
    for (let flushes = 0; flushes < FLUSHES; flushes += 1) {
      await cluster.redis.script('FLUSH');
      await sleep(REFUSING_MS / FLUSHES);
    }
    return async () => undefined;
  },
};

/** A script that only reads may be killed, and nothing that it held up is lost. */
const busy: Fault = {
  name: 'BUSY: a script does not end',
  rounds: 5,
  mayBreak: NOTHING,
  async inject({ cluster }) {
    const killer = cluster.redis.duplicate();
    await cluster.redis.config('SET', 'busy-reply-threshold', '100');
    const endless = cluster.redis.duplicate();
    const ended = endless.eval('while true do end', 0).catch(() => undefined);
    await sleep(REFUSING_MS);
    return async () => {
      await killer.script('KILL').catch(() => undefined);
      await ended;
      await killer.config('SET', 'busy-reply-threshold', '5000');
      for (const connection of [killer, endless]) connection.disconnect();
    };
  },
};

const readOnly: Fault = {
  name: 'READONLY: the server becomes a replica for a moment',
  rounds: 5,
  mayBreak: NOTHING,
  async inject({ cluster }) {
    // A primary that nobody can reach, so the replica keeps its data.
    await cluster.redis.replicaof('127.0.0.1', 9);
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
  mayBreak: NOTHING,
  async inject({ cluster: { redis, engineFolder } }) {
    const inTheWay = join(engineFolder, 'dump.rdb', 'in the way');
    mkdirSync(inTheWay, { recursive: true });
    await redis.config('SET', 'save', '3600 1');
    await redis.bgsave();
    await untilSaved(redis);
    await sleep(REFUSING_MS);
    return async () => {
      rmSync(join(engineFolder, 'dump.rdb'), { recursive: true });
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
  mayBreak: NOTHING,
  async inject({ cluster: { redis }, driver, violation }) {
    const wallet = driver.wallets[0]!;
    const order = { market: 'BTC/USDC', side: 'buy', type: 'limit', price: 1_500, size: 0.001 } as const;
    const place = (name: string): Promise<Outcome> =>
      driver.place(wallet, { ...order, clientOrderId: `memory ${driver.model.lastIntent} ${name}` });
    const before = await place('before');
    await redis.config('SET', 'maxmemory', '1mb');
    const during = await place('during');
    if (during.is === 'ok') violation('out of memory', 'an order was accepted');
    if (before.is === 'ok') {
      const cancel = await driver.cancel(wallet, before.shown[0]!.id);
      if (cancel.is !== 'ok') violation('out of memory', `a cancel was answered ${JSON.stringify(cancel)}`);
    }
    await sleep(REFUSING_MS);
    return async () => {
      await redis.config('SET', 'maxmemory', '0');
    };
  },
};

export const REFUSALS: readonly Fault[] = [noScript, busy, readOnly, misconf, outOfMemory];
