/** A copy of a Redis database, which can be put back later: the server then holds older data under the same run id. */

import type { Redis } from 'ioredis';

export type RedisCopy = readonly { readonly key: string; readonly dump: Buffer }[];

export const copyOf = async (redis: Redis): Promise<RedisCopy> =>
  Promise.all((await redis.keys('*')).map(async (key) => ({ key, dump: (await redis.dumpBuffer(key))! })));

export async function putBack(redis: Redis, copy: RedisCopy): Promise<void> {
  await redis.flushdb();
  for (const { key, dump } of copy) await redis.restore(key, 0, dump);
}
