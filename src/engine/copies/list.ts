/** The list of copies that the primary has: the servers that must have an order before it is answered. */

import type { Redis } from 'ioredis';
import { loadScript } from '../../redis/lua.ts';
import { LoadedCall } from '../../redis/script-call.ts';
import { KEYS } from '../keys.ts';
import { FIXED_KEYS, SET_COPIES } from '../scripts.ts';

export interface CopyList {
  /** Version of the row in Postgres; 0 where the server has no list. */
  readonly version: number;
  /** Mark of that version; empty without a list. */
  readonly mark: string;
  /** Names of servers, the primary included. */
  readonly names: readonly string[];
}

/** Fields of the list, in the order in which `readList` takes them. */
export const LIST_FIELDS = ['version', 'mark', 'names'] as const;

export const readList = ([version, mark, names]: readonly (string | null | undefined)[]): CopyList => ({
  version: Number(version ?? 0),
  mark: mark ?? '',
  names: names ? names.split(' ') : [],
});

/** Gives the primary a list, unless it has a later one. */
export async function giveList(redis: Redis, { version, mark, names }: CopyList): Promise<void> {
  const script = new LoadedCall(SET_COPIES, loadScript(SET_COPIES.name), FIXED_KEYS);
  await script.run(redis, { version, mark, names: names.join(' ') });
}

/** Returns the mark of the list that a server has; empty without one. */
export const markOf = async (redis: Redis): Promise<string> => (await redis.hget(KEYS.copies, 'mark')) ?? '';

/** Ranks a primary by the version of its list; undefined for a replica. */
export async function rankOfPrimary(redis: Redis): Promise<number | undefined> {
  const [[role], version] = await Promise.all([
    redis.role() as Promise<[string]>,
    redis.hget(KEYS.copies, 'version'),
  ]);
  return role === 'master' ? Number(version ?? 0) : undefined;
}
