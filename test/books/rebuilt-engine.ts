/** Reads the contents of an engine's Redis that a rebuild must restore. */

import type { Redis } from 'ioredis';

const hex = (bytes: readonly Buffer[]): string[] => bytes.map((member) => member.toString('hex'));

async function hashOf(
  redis: Redis,
  key: string,
  encoding: BufferEncoding = 'utf8',
): Promise<Record<string, string>> {
  const found = (await redis.callBuffer('HGETALL', key)) as Buffer[];
  const pairs = Array.from({ length: found.length / 2 }, (_, at) => [
    found[at * 2]!.toString('latin1'),
    found[at * 2 + 1]!.toString(encoding),
  ]);
  return Object.fromEntries(pairs.sort());
}

/** Strips trailing zero bytes, because a bit string may be longer than its last set bit. */
const withoutEnd = (bytes: Buffer): Buffer =>
  bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);

/** True for fields that scripts treat like missing fields. */
const isNothing = ([field, value]: [string, string]): boolean => field.endsWith('r') && value === '0';

/**
 * Returns the contents that must survive a rebuild, without the server's own marks.
 * @param own fields of the engine's own hash to compare
 */
export async function contentOf(redis: Redis, own: RegExp): Promise<Record<string, unknown>> {
  const content: Record<string, unknown> = {};
  for (const key of (await redis.keys('{redbook}:*')).sort()) {
    const [, name = ''] = key.split(':');
    if (name === 'book' || name === 'live') content[key] = hex(await redis.zrangeBuffer(key, '0', '-1'));
    else if (name === 'markets')
      content[key] = Object.values(await hashOf(redis, key)).map((record) => JSON.parse(record));
    else if (name === 'claim-filter')
      content[key] = withoutEnd((await redis.getBuffer(key))!).toString('hex');
    else if (name === 'engine')
      content[key] = Object.entries(await hashOf(redis, key)).filter(([field]) => own.test(field));
    else if (name === 'balances')
      content[key] = Object.entries(await hashOf(redis, key)).filter((entry) => !isNothing(entry));
    else if (key.endsWith(':cut-offs')) content[key] = await hashOf(redis, key, 'hex');
    else if (name === 'cancel-after')
      content[key] = hex(await redis.zrangeBuffer(key, '0', '-1', 'WITHSCORES'));
    else if (name === 'assets' || name === 'levels') content[key] = await hashOf(redis, key);
    else if (!['events', 'claims', 'unsettled'].includes(name)) throw new Error(`what is ${key}?`);
  }
  return content;
}
