/** Warns of a Redis for the queues that evicts keys. */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';

const POLICY = /^maxmemory_policy:(\S+)/m;

/**
 * Logs a warning after each connection to a server that may evict keys. The process goes on: this server holds only
 * keys that may be lost. The engine's own settings are checked where the engine opens.
 * @param server name of the server, with the setting that names it
 */
export function warnOfEviction(redis: Redis, server: string, logger: Pick<Logger, 'warn'>): void {
  const check = async (): Promise<void> => {
    const policy = POLICY.exec(await redis.info('memory'))?.[1];
    if (policy === undefined || policy === 'noeviction') return;
    logger.warn(
      `${server} is set wrongly: maxmemory-policy is ${policy}, must be noeviction (while its memory is full, it would forget request limits and sign-ins)`,
    );
  };
  // A connection that breaks meanwhile is reported elsewhere.
  redis.on('ready', () => void check().catch(() => undefined));
}
