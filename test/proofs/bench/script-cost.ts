/** Measures the cost of scripts by the server's own accounting, `INFO commandstats`. */

import type { Redis } from 'ioredis';
import { type ScriptArgument, scriptOf } from '../../../src/redis/lua.ts';

/** Arguments of an EVALSHA: sha, number of keys, keys, arguments. */
export type Command = [sha: string, keys: number, ...rest: ScriptArgument[]];

/** The reference: the cost of any script call. */
export const NO_OP = scriptOf('noop', '#!lua\nreturn 1');

/**
 * Returns the server-side microseconds of one of these commands. The commands are prepared first and sent the same way
 * for all kinds: a server that waits for a slow client between commands works with cold caches, which raises figures by
 * half.
 */
export async function cost(redis: Redis, commands: readonly Command[]): Promise<number> {
  await redis.config('RESETSTAT');
  await Promise.all(commands.map((command) => redis.callBuffer('EVALSHA', ...command)));
  const stats = await redis.info('commandstats');
  return Number(/cmdstat_evalsha:.*?usec_per_call=([\d.]+)/.exec(stats)?.[1]);
}
