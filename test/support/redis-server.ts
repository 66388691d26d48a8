/** A Redis for a single test, which may kill and damage it. */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Program } from '../../src/embedded/obtain/program.mjs';
import { obtainRedis } from '../../src/embedded/obtain/redis-binary.mjs';
import { redisProgram, redisUrl } from '../../src/embedded/run/redis.ts';
import { type ServerOptions, serverOptions } from '../../src/redis/connections.ts';
import { type Killable, startKillable } from './killable.ts';
import { freePort } from './ports.ts';

export const PASSWORD = 'test';
/** The user that prepares tests and accesses Redis directly: a reconcile names users that the release does not make. */
export const ADMIN = 'default';

/** Contents of the users file: the operators' users, all with one password, and the default user in force. */
function usersFile(): string {
  const shipped = readFileSync(new URL('../../k8s/shared/users.acl', import.meta.url), 'utf8');
  const digest = createHash('sha256').update(PASSWORD).digest('hex');
  return shipped
    .replaceAll('SHA256', digest)
    .replace(/^user default .*$/m, `user ${ADMIN} on #${digest} ~* &* +@all`);
}

/**
 * Returns the URL of the same server for another user. An external server has none of these users, so its URL stays
 * unchanged.
 */
export const asUser = (user: string, url: string): string => url.replaceAll(`//${ADMIN}:`, `//${user}:`);

/** Opens a connection as one of the users. Commands wait until it is established. */
export const openRedis = (url: string, user = ADMIN, options: ServerOptions = {}): Redis =>
  new Redis({ ...serverOptions(asUser(user, url)), ...options });

/** URLs of the Redis in `settings` for a process of a role, each with its own user. */
export function redisOf(role: string, settings: { readonly [name: string]: string }): Record<string, string> {
  const { REDIS_URL, QUEUE_REDIS_URL = REDIS_URL } = settings;
  if (REDIS_URL === undefined) return {};
  return {
    REDIS_URL: asUser(`engine-${role}`, REDIS_URL),
    QUEUE_REDIS_URL: asUser(`queue-${role}`, QUEUE_REDIS_URL!),
  };
}

/** Settings of a server that is a replica now or after a failover. */
export const asReplica = ['masteruser replica', `masterauth ${PASSWORD}`, 'repl-diskless-sync-delay 0'];

/** Waits until a replica has all data of its primary. */
export const untilInStep = ({ url }: RedisServer): Promise<void> =>
  untilSaid(url, async (redis) => (await redis.info('replication')).includes('master_link_status:up'));

export async function untilSaid(url: string, holds: (redis: Redis) => Promise<boolean>): Promise<void> {
  const redis = new Redis(url, { enableReadyCheck: false });
  redis.on('error', () => undefined); // it may still be starting
  try {
    while (!(await holds(redis))) await sleep(20);
  } finally {
    redis.disconnect();
  }
}

export interface RedisServer extends Killable {
  /** The administrator's URL. */
  readonly url: string;
}

export interface ServerStart {
  /** Additional environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly port?: number;
  /** The server of all tests unless given. */
  readonly binary?: Program;
  /** Additional lines of its configuration. */
  readonly settings?: readonly string[];
}

/** @param path a folder for its data, created if missing */
export async function startRedisServer(path: string, asked: ServerStart = {}): Promise<RedisServer> {
  const port = asked.port ?? (await freePort());
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'users.acl'), usersFile());
  const plain = redisProgram(asked.binary ?? (await obtainRedis()), {
    path,
    port,
    user: ADMIN,
    password: PASSWORD,
    logFile: join(path, 'redis.log'),
    settings: ['aclfile users.acl', ...(asked.settings ?? [])],
  });
  const program = { ...plain, env: { ...plain.env, ...asked.environment } };
  const server = await startKillable(program);
  return { ...server, url: redisUrl(port, PASSWORD).replace('//', `//${ADMIN}`) };
}
