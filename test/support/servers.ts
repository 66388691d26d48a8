/**
 * One real Redis and one real Postgres for a whole run of the tests; mocha loads this file first.
 * REDIS_URL and DATABASE_URL name servers to use instead; what the tests make there is removed at the end.
 */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { type EmbeddedServers, startEmbedded } from '../../src/embedded/index.ts';
import { findRedis } from '../../src/embedded/redis-binary.mjs';
import { type RedisServer, startRedisServer } from './redis-server.ts';

interface Run {
  readonly servers: EmbeddedServers;
  readonly folder: string;
  readonly databases: string[];
  readonly redises: RedisServer[];
  /** Databases of a given Redis. */
  readonly borrowed: string[];
}

const LOGICAL_DATABASES = 16;

let run: Run | undefined;

function current(): Run {
  if (!run) throw new Error('the test servers are not running; is this file required by .mocharc.json?');
  return run;
}

export async function mochaGlobalSetup(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-test-'));
  const servers = await startEmbedded({
    dataDir: join(folder, 'data'),
    redisUrl: process.env.REDIS_URL,
    databaseUrl: process.env.DATABASE_URL,
    durable: false,
  });
  run = { servers, folder, databases: [], redises: [], borrowed: [] };
}

export async function mochaGlobalTeardown(): Promise<void> {
  if (!run) return;
  const { servers, folder, databases, redises, borrowed } = run;
  await Promise.all(redises.map((redis) => redis.stop()));
  if (process.env.DATABASE_URL) for (const name of databases) await sql(`DROP DATABASE ${name} WITH (FORCE)`);
  for (const url of borrowed) await onRedis(url, (redis) => redis.flushdb());
  await servers.stop();
  rmSync(folder, { recursive: true, force: true });
  run = undefined;
}

/** The servers of this run; `databaseUrl` names a maintenance database, which stays empty. */
export function servers(): { redisUrl: string; databaseUrl: string } {
  return current().servers;
}

/** @returns the URL of a new, empty database */
export async function freshDatabase(): Promise<string> {
  const name = `redbook_test_${randomBytes(6).toString('hex')}`;
  await sql(`CREATE DATABASE ${name}`);
  current().databases.push(name);
  const url = new URL(servers().databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/**
 * @returns the URL of an empty Redis: a server of its own with the engine's settings, so that FLUSHALL, CONFIG
 *   and the script cache are nobody else's; where no server can be run, an unused database of the given Redis
 */
export async function freshRedis(): Promise<string> {
  return process.env.REDIS_URL && !findRedis() ? await borrowDatabase() : (await freshRedisServer()).url;
}

/**
 * As freshRedis, with handles to kill it and to start it again on its own data and port.
 * @param environment variables that it has besides its own
 */
export async function freshRedisServer(
  environment: Readonly<Record<string, string>> = {},
): Promise<RedisServer> {
  const { folder, redises } = current();
  const redis = await startRedisServer(
    join(folder, `redis-${redises.length}-${randomBytes(4).toString('hex')}`),
    environment,
  );
  redises.push(redis);
  return redis;
}

async function borrowDatabase(): Promise<string> {
  const url = new URL(servers().redisUrl);
  for (let number = current().borrowed.length + 1; number < LOGICAL_DATABASES; number += 1) {
    url.pathname = `/${number}`;
    const unused = await onRedis(url.href, async (redis) => (await redis.dbsize()) === 0);
    if (current().borrowed.includes(url.href) || !unused) continue;
    current().borrowed.push(url.href);
    return url.href;
  }
  throw new Error(
    'the given Redis has no unused database left; install a redis-server for the tests to start',
  );
}

async function onRedis<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

async function sql(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: servers().databaseUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
