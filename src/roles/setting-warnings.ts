/** Warns of settings of Redis with which the service works, and which cost something. */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';

const POLICY = /^maxmemory_policy:(\S+)/m;
const LISTPACKS = 'hash-max-listpack-entries';

/** Asks a server after each connection to it, and logs what is wrong. */
function warnAfterConnecting(
  redis: Redis,
  server: string,
  logger: Pick<Logger, 'warn'>,
  ask: () => Promise<string | undefined>,
): void {
  const check = async (): Promise<void> => {
    const wrong = await ask();
    if (wrong !== undefined) logger.warn(`${server} is set wrongly: ${wrong}`);
  };
  // A connection that breaks meanwhile is reported elsewhere. A user who may not read the setting is told nothing.
  redis.on('ready', () => void check().catch(() => undefined));
}

/** Returns what is wrong with a Redis for the queues that may evict keys; undefined where it may not. */
export async function evictionOf(redis: Redis): Promise<string | undefined> {
  const policy = POLICY.exec(await redis.info('memory'))?.[1];
  if (policy === undefined || policy === 'noeviction') return undefined;
  return `maxmemory-policy is ${policy}, must be noeviction (while its memory is full, it would forget request limits and sign-ins)`;
}

/** Returns what is wrong with an engine whose Redis keeps small hashes as lists; undefined where it does not. */
export async function listpacksOf(redis: Redis): Promise<string | undefined> {
  const [, entries] = (await redis.config('GET', LISTPACKS)) as string[];
  if (entries === undefined || entries === '0') return undefined;
  return `${LISTPACKS} is ${entries}, should be 0 (an order takes a third more of the engine's processor: docs/configuration.md, "Where Redis is")`;
}

/**
 * Warns of a Redis for the queues that may evict keys. The process goes on: this server holds only keys that may be
 * lost. The engine's own settings are checked where the engine opens.
 * @param server name of the server, with the setting that names it
 */
export const warnOfEviction = (redis: Redis, server: string, logger: Pick<Logger, 'warn'>): void =>
  warnAfterConnecting(redis, server, logger, () => evictionOf(redis));

/**
 * Warns once of an engine whose Redis keeps small hashes as lists: an order then takes 38 % more instructions.
 * @param server name of the server, with the setting that names it
 */
export function warnOfListpacks(redis: Redis, server: string, logger: Pick<Logger, 'warn'>): void {
  let isTold = false;
  warnAfterConnecting(redis, server, logger, async () => {
    const wrong = isTold ? undefined : await listpacksOf(redis);
    isTold ||= wrong !== undefined;
    return wrong;
  });
}
