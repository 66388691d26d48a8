/** The list of copies that the primary has: the servers that must have an order before it is answered. */

import type { Redis } from 'ioredis';
import { loadScript } from '../../redis/lua.ts';
import { LoadedCall } from '../../redis/script-call.ts';
import { KEYS } from '../keys.ts';
import { FIXED_KEYS, SET_COPIES } from '../scripts.ts';

export interface CopyList {
  /** Version of the row in Postgres; 0 where the server has no list. */
  readonly version: number;
  /** Names of servers, the primary included. */
  readonly names: readonly string[];
}

/** Fields of the list, in the order in which `readList` takes them. */
export const LIST_FIELDS = ['version', 'names'] as const;

export const readList = (version: string | null | undefined, names: string | null | undefined): CopyList => ({
  version: Number(version ?? 0),
  names: names ? names.split(' ') : [],
});

/** Gives the primary a list, unless it has a later one. */
export async function giveList(redis: Redis, { version, names }: CopyList): Promise<void> {
  const script = new LoadedCall(SET_COPIES, loadScript(SET_COPIES.name), FIXED_KEYS);
  await script.run(redis, { version, names: names.join(' ') });
}

/** Ranks a primary by the version of its list; undefined for a replica. */
export async function rankOfPrimary(redis: Redis): Promise<number | undefined> {
  const [[role], version] = await Promise.all([
    redis.role() as Promise<[string]>,
    redis.hget(KEYS.copies, 'version'),
  ]);
  return role === 'master' ? Number(version ?? 0) : undefined;
}
