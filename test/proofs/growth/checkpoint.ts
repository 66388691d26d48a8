/** Brings the engine to rest, measures engine and ledger, and compares the engine with the model of live state. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Cursor } from '../../../src/domain/event.ts';
import type { FilterLayout } from '../../../src/engine/filter-layout.ts';
import type { Engine } from '../../../src/engine/index.ts';
import { KEYS } from '../../../src/engine/keys.ts';
import type { Ledger } from '../../../src/ledger/index.ts';
import { query } from '../../ledger/tables.ts';
import type { Driver } from './driver.ts';
import { type Expected, liveState } from './live-state.ts';
import { ordersAfter, type Shape } from './rounds.ts';
import type { Tail, TailMeasured } from './tail.ts';

interface KeyMeasured {
  readonly key: string;
  readonly entries: number;
  readonly bytes: number;
}

interface KindMeasured {
  readonly keys: number;
  readonly entries: number;
  readonly bytes: number;
}

interface Memory {
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

async function measureMemory(redis: Redis): Promise<Memory> {
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
function kindsOf({ keys }: Memory, model: ReadonlyMap<string, Expected>): Record<string, KindMeasured> {
  const kinds: Record<string, KindMeasured> = {};
  for (const { key, entries, bytes } of keys) {
    const kind = model.get(key)?.kind ?? 'unknown';
    const sum = kinds[kind] ?? { keys: 0, entries: 0, bytes: 0 };
    kinds[kind] = { keys: sum.keys + 1, entries: sum.entries + entries, bytes: sum.bytes + bytes };
  }
  return kinds;
}

/** Maximum memory outside the data: buffers of connections and of the append-only file, and the cache of scripts. */
const MAX_OVERHEAD = 32 * 1024 * 1024;
/**
 * Maximum data that belongs to no key. Redis' figure of a large string leaves out what its allocator adds, which is up
 * to a quarter.
 */
const MAX_UNNAMED = 2 * 1024 * 1024;
const UNNAMED_SHARE = 0.25;

/** @returns each way in which the memory goes beyond the model */
function excessOf(memory: Memory, model: ReadonlyMap<string, Expected>): string[] {
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

export interface Grown {
  readonly engine: Engine;
  readonly ledger: Ledger;
  /** A connection to the engine's server that may run every command. */
  readonly redis: Redis;
  readonly databaseUrl: string;
  readonly shape: Shape;
  readonly filter: FilterLayout;
  readonly driver: Driver;
  readonly tail: Tail;
}

export interface Checkpoint {
  readonly orders: number;
  readonly rounds: number;
  /** Sequence of the last event. */
  readonly events: number;
  readonly atMs: number;
  /** The unsettled tail before the rest. */
  readonly tail: readonly TailMeasured[];
  readonly usedBytes: number;
  readonly datasetBytes: number;
  readonly kinds: Readonly<Record<string, KindMeasured>>;
  /** Share of new ids for which Postgres must be asked. */
  readonly falsePositiveRatio: number;
  readonly databaseBytes: number;
  /** Bytes of the engine's append-only file. */
  readonly engineFileBytes: number;
  readonly violations: readonly string[];
}

/** Two turns drop both generations; a settlement process may trim at the same time and take a turn. */
const MAX_TURNS = 12;
const MARKS = ['mark:at', 'unsettled:ready_at', 'claims:ready_at'];

/**
 * Trims as if the margins had passed: sets the times of the marks back, and lets the engine's own script drop what is
 * old enough.
 */
async function dropMargins({ engine, redis }: Grown, cursor: Cursor): Promise<void> {
  const generations = [...KEYS.unsettled, ...KEYS.claims];
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    for (const mark of MARKS)
      if ((await redis.hexists(KEYS.engine, mark)) === 1) await redis.hset(KEYS.engine, mark, '0');
    await engine.outbox.trim(cursor);
    if (turn >= 2 && (await redis.exists(...generations)) === 0) return;
  }
}

/** Keys may be larger than at the first checkpoint with as many live orders by this much. */
const MAX_GROWTH = { ratio: 1.02, bytes: 256 * 1024 };
/** A filter of the right size asks Postgres for at most two new ids in a hundred. */
const MAX_FALSE_POSITIVES = 0.02;

type Kinds = Checkpoint['kinds'];

/** Bytes of all keys but the claim filter, whose strings are allocated anew when the server starts. */
const liveBytes = (kinds: Kinds): number =>
  Object.entries(kinds).reduce((sum, [kind, { bytes }]) => (kind === 'claim filter' ? sum : sum + bytes), 0);

function growthOf({ shape }: Grown, kinds: Kinds, before: readonly Checkpoint[]): string[] {
  const first = before.find(({ rounds }) => rounds > shape.depth);
  if (first === undefined) return [];
  const bytes = liveBytes(kinds);
  const max = Math.round(liveBytes(first.kinds) * MAX_GROWTH.ratio + MAX_GROWTH.bytes);
  if (bytes <= max) return [];
  return [`growth: ${bytes} bytes, more than ${max}, with the live orders of ${first.orders} orders`];
}

/**
 * Makes a Postgres that does not wait for the disk write its log, which has all that was committed, before the engine
 * forgets it.
 */
const WRITE_LOG = `begin; set local synchronous_commit = on; select pg_current_xact_id(); commit`;

const tailExcess = (tail: readonly TailMeasured[]): string[] =>
  tail
    .filter(({ entries, max }) => entries > max)
    .map(({ name, entries, max }) => `while it ran: ${entries} entries of ${name}, more than ${max}`);

/**
 * @param rounds number of rounds that were made
 * @param before earlier checkpoints of the run
 */
export async function takeCheckpoint(
  grown: Grown,
  rounds: number,
  before: readonly Checkpoint[],
): Promise<Checkpoint> {
  const { engine, ledger, redis, databaseUrl, shape, filter, driver } = grown;
  await driver.note(rounds);
  const tail = await grown.tail.measure(redis);
  await driver.untilLag(0, rounds);
  const { epoch, sequence } = await ledger.settlement.cursor();
  await query(databaseUrl, WRITE_LOG);
  await dropMargins(grown, { epoch, sequence });
  const memory = await measureMemory(redis);
  const model = liveState(shape, rounds, filter);
  const kinds = kindsOf(memory, model);
  const { falsePositiveRatio } = await engine.claimFilter.load();
  const [size] = await query<{ bytes: string }>(
    databaseUrl,
    'select pg_database_size(current_database()) as bytes',
  );
  const file = /^aof_current_size:(\d+)/m.exec(await redis.info('persistence'))?.[1];
  const violations = [
    ...tailExcess(tail),
    ...excessOf(memory, model),
    ...growthOf(grown, kinds, before),
    ...(falsePositiveRatio > MAX_FALSE_POSITIVES
      ? [`claim filter: ${falsePositiveRatio} of new ids must be looked up`]
      : []),
  ];
  return {
    orders: ordersAfter(shape, rounds),
    rounds,
    events: sequence,
    atMs: Date.now(),
    tail,
    violations,
    falsePositiveRatio,
    usedBytes: memory.usedBytes,
    datasetBytes: memory.datasetBytes,
    kinds,
    databaseBytes: Number(size!.bytes),
    engineFileBytes: Number(file),
  };
}
