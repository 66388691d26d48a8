/** What scripts cost in the server's own accounting, `INFO commandstats`. */

import type { Redis } from 'ioredis';
import { type ScriptArgument, scriptOf } from '../../../src/redis/lua.ts';

/** An EVALSHA as it is sent: sha, number of keys, keys, arguments. */
export type Command = [sha: string, keys: number, ...rest: ScriptArgument[]];

/** The yardstick: what any script costs. */
export const NO_OP = scriptOf('noop', '#!lua\nreturn 1');

/**
 * Server-side microseconds of one of these commands. They are prepared before, and sent alike for all kinds:
 * a server that waits for a slow client between commands works with cold caches, and figures grow by half.
 */
export async function cost(redis: Redis, commands: readonly Command[]): Promise<number> {
  await redis.config('RESETSTAT');
  await Promise.all(commands.map((command) => redis.callBuffer('EVALSHA', ...command)));
  const stats = await redis.info('commandstats');
  return Number(/cmdstat_evalsha:.*?usec_per_call=([\d.]+)/.exec(stats)?.[1]);
}
