/** Measures the engine's Redis key by key, and compares it with the model of live state. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Expected } from './live-state.ts';

interface KeyMeasured {
  readonly key: string;
  readonly entries: number;
  readonly bytes: number;
}

export interface KindMeasured {
  readonly keys: number;
  readonly entries: number;
  readonly bytes: number;
}

export interface Memory {
  /** `used_memory` of the server. */
  readonly usedBytes: number;
  /** The part of it that is data: without buffers of connections and of the file, and without scripts. */
  readonly datasetBytes: number;
  /** Everything but the data, without what the server needs when it is empty. */
  readonly overheadBytes: number;
  readonly keys: readonly KeyMeasured[];
}

const COUNTS: Readonly<Record<string, (redis: Redis, key: string) => Promise<number>>> = {
  zset: (redis, key) => redis.zcard(key),
  hash: (redis, key) => redis.hlen(key),
  stream: (redis, key) => redis.xlen(key),
  string: (redis, key) => redis.strlen(key),
  set: (redis, key) => redis.scard(key),
  list: (redis, key) => redis.llen(key),
};

/** Every sample of a key is counted, so that the figure does not depend on which ones are taken. */
const ALL_SAMPLES = 0;
const SCANNED_TOGETHER = 1_000;
const LAZYFREE_PATIENCE_MS = 30_000;

/** Waits until Redis has freed memory in the background. */
async function settledInfo(redis: Redis): Promise<(name: string) => number> {
  const deadlineMs = Date.now() + LAZYFREE_PATIENCE_MS;
  for (;;) {
    const info = await redis.info('memory');
    const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
    if (read('lazyfree_pending_objects') === 0 || Date.now() > deadlineMs) return read;
    await sleep(20);
  }
}

export async function measureMemory(redis: Redis): Promise<Memory> {
  const names = new Set<string>();
  for await (const page of redis.scanStream({ count: SCANNED_TOGETHER }))
    for (const key of page) names.add(key);
  const keys: KeyMeasured[] = [];
  for (const key of [...names].sort()) {
    const entries = await COUNTS[await redis.type(key)]!(redis, key);
    keys.push({ key, entries, bytes: (await redis.memory('USAGE', key, 'SAMPLES', ALL_SAMPLES)) ?? 0 });
  }
  const read = await settledInfo(redis);
  return {
    usedBytes: read('used_memory'),
    datasetBytes: read('used_memory_dataset'),
    overheadBytes: read('used_memory_overhead') - read('used_memory_startup'),
    keys,
  };
}

/** Returns the sums of all keys of each kind; keys that the model does not know are of the kind `unknown`. */
export function kindsOf(
  { keys }: Memory,
  model: ReadonlyMap<string, Expected>,
): Record<string, KindMeasured> {
  const kinds: Record<string, KindMeasured> = {};
  for (const { key, entries, bytes } of keys) {
    const kind = model.get(key)?.kind ?? 'unknown';
    const sum = kinds[kind] ?? { keys: 0, entries: 0, bytes: 0 };
    kinds[kind] = { keys: sum.keys + 1, entries: sum.entries + entries, bytes: sum.bytes + bytes };
  }
  return kinds;
}

/** Most memory outside the data: buffers of connections and of the append-only file, and the cache of scripts. */
const MAX_OVERHEAD = 32 * 1024 * 1024;
/**
 * Most data that belongs to no key. Redis' figure of a large string leaves out what its allocator adds, which is up to a
 * quarter.
 */
const MAX_UNNAMED = 2 * 1024 * 1024;
const UNNAMED_SHARE = 0.25;

/** @returns each way in which the memory goes beyond the model */
export function excessOf(memory: Memory, model: ReadonlyMap<string, Expected>): string[] {
  const found = new Map(memory.keys.map((one) => [one.key, one]));
  const violations: string[] = [];
  for (const [key, { kind, entries, maxBytes }] of model) {
    const measured = found.get(key) ?? { entries: 0, bytes: 0 };
    if ('exactly' in entries && measured.entries !== entries.exactly)
      violations.push(`${kind}: ${key} has ${measured.entries} entries, not ${entries.exactly}`);
    if ('atMost' in entries && measured.entries > entries.atMost)
      violations.push(`${kind}: ${key} has ${measured.entries} entries, more than ${entries.atMost}`);
    if (measured.bytes > maxBytes)
      violations.push(`${kind}: ${key} takes ${measured.bytes} bytes, more than ${maxBytes}`);
  }
  for (const { key, bytes } of memory.keys)
    if (!model.has(key)) violations.push(`unknown: ${key} takes ${bytes} bytes`);
  const named = memory.keys.reduce((sum, { bytes }) => sum + bytes, 0);
  const unnamed = memory.datasetBytes - named;
  if (unnamed > MAX_UNNAMED + named * UNNAMED_SHARE)
    violations.push(`data: ${unnamed} bytes belong to no key`);
  if (memory.overheadBytes > MAX_OVERHEAD)
    violations.push(`overhead: ${memory.overheadBytes} bytes beside the data, more than ${MAX_OVERHEAD}`);
  return violations;
}
