/** What is told of a server that goes away: that it is away, once, and that it is back. */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';

/** A connection fails anew at each attempt to make it: that is one outage. */
export function tellOutages(redis: Redis, name: string, tell: (message: string) => void): void {
  let isAway = false;
  redis.on('error', (error: Error) => {
    if (!isAway) tell(`${name} is away: ${error.message || error.name}`);
    isAway = true;
  });
  redis.on('ready', () => {
    if (isAway) tell(`${name} is back`);
    isAway = false;
  });
}

/** BullMQ's connections fail as often as ours to the same server, which has told of it by then. */
export const queueTrouble =
  ({ logger, queueRedis }: { readonly logger: Logger; readonly queueRedis: Redis }, what = 'queue') =>
  (error: Error): void => {
    if (queueRedis.status === 'ready') logger.warn({ err: error }, what);
  };
