/** Tests the warnings of settings of Redis with which the service works, and which cost something. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { warnOfEviction, warnOfListpacks } from '../../src/roles/setting-warnings.ts';
import { eventually } from '../support/eventually.ts';
import { openRedis, type RedisServer, startRedisServer } from '../support/redis-server.ts';

describe('warnings of settings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-settings-'));
  let server: RedisServer;
  const open: Redis[] = [];
  const told: string[] = [];
  const logger = { warn: (message: string) => void told.push(message) } as never;

  before(async () => {
    server = await startRedisServer(folder);
  });
  afterEach(() => {
    for (const redis of open.splice(0)) redis.disconnect();
    told.length = 0;
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const connected = (user?: string): Redis => {
    const redis = openRedis(server.url, user);
    open.push(redis);
    return redis;
  };
  /** Sets what both warnings look at, connects again as often as asked, and waits until a later command is answered. */
  async function toldAfter(connections: number, settings: Record<string, string>): Promise<string[]> {
    const admin = connected();
    for (const [name, value] of Object.entries(settings)) await admin.config('SET', name, value);
    const redis = connected();
    warnOfListpacks(redis, 'the engine', logger);
    warnOfEviction(redis, 'the queue', logger);
    for (let count = 1; count <= connections; count += 1) {
      await redis.ping();
      // Replies come in order, so the checks of this connection have theirs.
      await redis.ping();
      if (count === connections) break;
      redis.disconnect(true);
      await eventually('it is connected again', () => redis.status === 'ready');
    }
    return told;
  }

  it('tell nothing of settings that are right', async () => {
    expect(
      await toldAfter(2, { 'hash-max-listpack-entries': '0', 'maxmemory-policy': 'noeviction' }),
    ).to.deep.equal([]);
  });

  it('tell of small hashes as lists once, and of evictions after each connection', async () => {
    await toldAfter(2, { 'hash-max-listpack-entries': '128', 'maxmemory-policy': 'allkeys-lru' });
    const starts = told.map((message) => message.split(',')[0]).sort();
    expect(starts).to.deep.equal([
      'the engine is set wrongly: hash-max-listpack-entries is 128',
      'the queue is set wrongly: maxmemory-policy is allkeys-lru',
      'the queue is set wrongly: maxmemory-policy is allkeys-lru',
    ]);
  });
});
