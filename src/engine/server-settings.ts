/**
 * Checks the settings that the engine's Redis needs so that no answered order is lost and no script is left half done.
 */

import type { Redis } from 'ioredis';
import { KEYS } from './keys.ts';

/** Thrown when the server's settings could break what the engine's clients were promised. */
export class EngineMisconfigured extends Error {
  override readonly name = 'EngineMisconfigured';
}

const OLDEST_MAJOR = 7;
type Required = Readonly<Record<string, { readonly value: string; readonly why: string }>>;

const REQUIRED: Required = {
  appendonly: {
    value: 'yes',
    why: 'orders live only in memory and this log until they are settled; a server that was started without it must be started again with it, because CONFIG SET would replace the log by what is in memory',
  },
  appendfsync: { value: 'always', why: 'an answered order must survive a power cut' },
  'no-appendfsync-on-rewrite': { value: 'no', why: 'an order that is answered during a rewrite must, too' },
  'maxmemory-policy': { value: 'noeviction', why: 'an evicted key is a lost balance or book' },
};

/** Required of a node of a cluster. */
const OF_CLUSTER: Required = {
  'cluster-replica-no-failover': {
    value: 'yes',
    why: 'the cluster would promote a replica that lacks answered orders',
  },
};

/** Required of a server of an engine with copies. */
export const OF_COPIES: Required = {
  'replica-serve-stale-data': {
    value: 'yes',
    why: 'a copy must tell what it has when its primary is gone, or no other one could be named',
  },
  'replica-read-only': { value: 'yes', why: 'a copy must have what its primary has, and nothing else' },
  'repl-diskless-load': {
    value: 'disabled',
    why: 'a copy that empties itself before it has other data could be lost together with its primary',
  },
};
const READ = [REQUIRED, OF_CLUSTER, OF_COPIES].flatMap(Object.keys);

/**
 * @param trust.isTrusted true if a server that does not let its settings be read (a managed one) is accepted, with a
 *   warning that names them
 * @throws EngineMisconfigured naming every setting to change
 */
export async function checkServerSettings(
  redis: Redis,
  trust: { readonly isTrusted: boolean; readonly warn: (message: string) => void },
): Promise<void> {
  await checkVersion(redis);
  const wrong = await wrongSettings(redis);
  if (wrong === undefined) {
    const list = Object.entries(REQUIRED).map(([name, { value }]) => `${name} ${value}`);
    const hidden = `the engine's Redis does not show its settings, which must be ${list.join(', ')}`;
    if (!trust.isTrusted)
      throw new EngineMisconfigured(
        `${hidden}: let its user run CONFIG GET, or vouch by ENGINE_DURABILITY=trusted`,
      );
    trust.warn(hidden);
  } else if (wrong.length > 0) throw setWrongly(wrong);
}

/**
 * Checks a service that keeps each write by itself. It may hide its settings; a node of a Redis Cluster that shows them
 * must have them right.
 * @throws EngineMisconfigured naming every setting to change
 */
export async function checkService(redis: Redis): Promise<void> {
  await checkVersion(redis);
  const wrong = await wrongOfService(redis);
  if (wrong.length > 0) throw setWrongly(wrong);
}

/** Returns a sentence for each setting to change of a node of a Redis Cluster; none for a server that hides them. */
export async function wrongOfService(redis: Redis): Promise<string[]> {
  const found = await readSettings(redis);
  return found?.get('cluster-enabled') === 'yes' ? wrongOf(found) : [];
}

const setWrongly = (wrong: readonly string[]): EngineMisconfigured =>
  new EngineMisconfigured(`the engine's Redis is set wrongly: ${wrong.join('; ')}`);

/** @throws EngineMisconfigured when the server is too old */
async function checkVersion(redis: Redis): Promise<void> {
  const version = /^redis_version:(\d+)\S*/m.exec(await redis.info('server'));
  if (Number(version?.[1]) < OLDEST_MAJOR)
    throw new EngineMisconfigured(`the engine needs Redis ${OLDEST_MAJOR} or newer; this is ${version?.[0]}`);
}

/**
 * A process that did not wait for the copies of an engine would answer what they lack.
 * @throws EngineMisconfigured when the engine has copies
 */
export async function checkNoCopies(redis: Redis): Promise<void> {
  const names = (await redis.hget(KEYS.copies, 'names').catch(unlessForbidden))?.split(' ') ?? [];
  if (names.length < 2) return;
  throw new EngineMisconfigured(
    `the engine has copies (${names.join(', ')}): name them in REDIS_URL as redis+copies://, or drop them by 'copies drop'`,
  );
}

/** @returns null for the error of a user that may not read the list, because its file is of an earlier release */
function unlessForbidden(error: unknown): null {
  if (error instanceof Error && error.message.startsWith('NOPERM')) return null;
  throw error;
}

/**
 * @param more settings that are required besides those of every engine
 * @returns a sentence for each setting to change; undefined if the server does not let its settings be read
 */
export async function wrongSettings(redis: Redis, more: Required = {}): Promise<string[] | undefined> {
  const found = await readSettings(redis);
  return found && wrongOf(found, more);
}

function wrongOf(found: ReadonlyMap<string, string>, more: Required = {}): string[] {
  const ofCluster: Required = found.get('cluster-enabled') === 'yes' ? OF_CLUSTER : {};
  const required = { ...REQUIRED, ...ofCluster, ...more };
  return Object.entries(required)
    .filter(([name, { value }]) => found.get(name) !== value)
    .map(([name, { value, why }]) => `${name} is ${found.get(name)}, must be ${value} (${why})`);
}

async function readSettings(redis: Redis): Promise<Map<string, string> | undefined> {
  try {
    const list = (await redis.config('GET', 'cluster-enabled', ...READ)) as string[];
    const settings = new Map<string, string>();
    for (let at = 0; at < list.length; at += 2) settings.set(list[at]!, list[at + 1]!);
    return settings;
  } catch (error) {
    if (error instanceof Error && /unknown command|NOPERM/.test(error.message)) return undefined;
    throw error;
  }
}

/**
 * Begins a rewrite of the append-only file, unless there was one since the start of the server. Redis applies nothing
 * of a transaction whose end is missing, but leaves its beginning in the file, and would complete it at the next start
 * with whatever was appended. From now on, writes go to another part of the file, and the old part is dropped when the
 * rewrite ends. A server that dies before that cuts the transaction off at its next start, ends, and starts well the
 * time after.
 */
export async function rewriteLog(redis: Redis, warn: (message: string) => void): Promise<void> {
  const info = await redis.info('persistence');
  // A server that has rewritten its file since its start has none from before.
  if (/^aof_last_rewrite_time_sec:\d/m.test(info) && info.includes('aof_last_bgrewrite_status:ok')) return;
  try {
    await redis.bgrewriteaof();
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ReplyError') throw error;
    // A replica that opens the engine at the same time has begun it.
    if (/already in progress|scheduled/.test(error.message)) return;
    warn(`the engine's Redis does not rewrite its append-only file: ${error.message}`);
  }
}
