/** Tests the reasons that `/readyz` and the log give for an engine that must not be opened. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { type EngineGate, keepEngineOpen } from '../../src/roles/engine-gate.ts';
import { type Outages, openOutages } from '../../src/roles/outages.ts';
import { eventually } from '../support/eventually.ts';
import { openRedis } from '../support/redis-server.ts';
import { sharedRedis } from '../support/servers.ts';

describe('the engine gate', () => {
  let redis: Redis;
  let engine: Engine;
  let gate: EngineGate;
  let outages: Outages;
  let told: string[];
  /** Cursor of Postgres. */
  let cursor: { epoch: number; sequence: number };

  beforeEach(async () => {
    redis = openRedis(await sharedRedis());
    await redis.flushdb();
    [cursor, told] = [{ epoch: 1, sequence: 5 }, []];
    const tell = (sentence: string): void => void told.push(sentence);
    const logger = { error: tell, warn: tell, debug: () => undefined, info: () => undefined } as never;
    outages = openOutages(logger, []);
    engine = openEngine({ redis, maxMakers: 1_000, maxLiveOrders: 1_000 });
    const position = async () => ({
      ...cursor,
      begun: null,
      digest: null,
      timeMs: null,
      settledAtMs: null,
    });
    const ledger = { epochs: { position } };
    gate = keepEngineOpen({ redis, engine, ledger, logger, outages, retryRefusedMs: 10 });
  });
  afterEach(() => {
    gate.stop();
    outages.close();
    redis.disconnect();
  });

  it('reports once that the engine is behind Postgres, and opens it when it has caught up', async () => {
    await eventually('it is refused', async () => gate.state() === 'behind Postgres');
    await sleep(50);
    expect(told).to.have.length(1);
    expect(told[0]).to.include('the engine is at event 0-0, Postgres at 1-5');
    cursor = { epoch: 0, sequence: 0 };
    await eventually('it is open', async () => gate.state() === 'ok');
    expect(engine.lifecycle.isOpen()).to.equal(true);
    expect(told.slice(1)).to.deep.equal(['Redis is back']);
  });

  it('closes an open engine when Postgres is ahead of its server', async () => {
    cursor = { epoch: 0, sequence: 0 };
    await eventually('it is open', async () => gate.state() === 'ok');
    cursor = { epoch: 1, sequence: 5 };
    await eventually('it is refused', async () => gate.state() === 'behind Postgres');
    expect(told.join()).to.include('the engine is at event 1-0, Postgres at 1-5');
  });

  it('closes an open engine while a setting could lose acknowledged writes', async () => {
    const admin = openRedis(await sharedRedis());
    cursor = { epoch: 0, sequence: 0 };
    await eventually('it is open', async () => gate.state() === 'ok');
    for (const [name, right, wrong] of [
      ['appendonly', 'yes', 'no'],
      ['appendfsync', 'always', 'everysec'],
      ['no-appendfsync-on-rewrite', 'no', 'yes'],
      ['maxmemory-policy', 'noeviction', 'allkeys-lru'],
    ] as const) {
      await admin.config('SET', name, wrong);
      await eventually(`it is refused for ${name}`, async () => gate.state() === 'misconfigured');
      expect(told.at(-1)).to.include(`${name} is ${wrong}, must be ${right}`);
      await admin.config('SET', name, right);
      await eventually('it is open again', async () => gate.state() === 'ok');
    }
    admin.disconnect();
  });

  it('reports that the engine is not open while the connection is broken', async () => {
    await eventually('it is refused', async () => gate.state() === 'behind Postgres');
    redis.disconnect();
    await eventually('it is not open', async () => gate.state() === 'not open');
  });
});
