/** The Redis servers end connections, hold up commands, or do not know their users any more. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { openRedis, PASSWORD } from '../../../support/redis-server.ts';
import type { Cluster } from '../cluster.ts';
import { type Fault, LIMITS, type Scene } from './fault.ts';

const onConnections = (
  name: string,
  inject: (scene: Scene) => Promise<() => Promise<void>>,
  more: Partial<Fault> = {},
): Fault => ({
  name,
  rounds: 8,
  shortRounds: 0,
  restEvery: 4,
  mayBreak: LIMITS,
  forgetsLimits: true,
  inject,
  ...more,
});

/** Ends all connections of the kind but the administrator's own. */
export const endConnections = (redis: Redis, type: 'normal' | 'pubsub'): Promise<unknown> =>
  redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');

const STORM_MS = 4_000;
const BETWEEN_ENDS_MS = 100;

const storm = onConnections('both Redis servers end connections again and again', async ({ cluster }) => {
  const servers = [openRedis(cluster.engine.url), openRedis(cluster.queue.url)];
  for (const endMs = Date.now() + STORM_MS; Date.now() < endMs; await sleep(BETWEEN_ENDS_MS))
    for (const redis of servers)
      for (const type of ['normal', 'pubsub'] as const) await endConnections(redis, type);
  for (const redis of servers) redis.disconnect();
  return async () => undefined;
});

const PAUSED_MS = 6_000;

/** Which server holds up which commands. The commands run afterwards, when their clients have given them up. */
const PAUSES = [
  ['engine', 'ALL'],
  ['engine', 'WRITE'],
  ['queue', 'ALL'],
  ['queue', 'WRITE'],
] as const;

const paused = onConnections('a Redis server holds up commands (CLIENT PAUSE)', async (scene) => {
  const { cluster, round, note } = scene;
  const [server, commands] = PAUSES[(round - 1) % PAUSES.length]!;
  note(`${server}: ${commands}`);
  const redis = server === 'engine' ? cluster.redis : cluster.queueRedis;
  await redis.call('CLIENT', 'PAUSE', String(PAUSED_MS), commands);
  await sleep(PAUSED_MS);
  return async () => undefined;
});

const ROLES = ['api', 'settlement', 'snapshot', 'stream'];
const REFUSED_MS = 2_500;

async function setPasswords({ redis, queueRedis }: Cluster, password: string): Promise<void> {
  for (const role of ROLES) {
    await redis.call('ACL', 'SETUSER', `engine-${role}`, 'resetpass', `>${password}`);
    await queueRedis.call('ACL', 'SETUSER', `queue-${role}`, 'resetpass', `>${password}`);
  }
}

const passwords = onConnections(
  'the passwords of the Redis users change',
  async ({ cluster }) => {
    const { redis, queueRedis } = cluster;
    await setPasswords(cluster, 'another');
    for (const server of [redis, queueRedis]) await endConnections(server, 'normal');
    await sleep(REFUSED_MS);
    return () => setPasswords(cluster, PASSWORD);
  },
  { rounds: 6, restEvery: 3 },
);

export const CONNECTIONS: readonly Fault[] = [storm, paused, passwords];
