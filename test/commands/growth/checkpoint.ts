/** Brings the engine to rest, measures engine and ledger, and compares the engine with the model of live state. */

import type { Redis } from 'ioredis';
import type { Cursor } from '../../../src/domain/event.ts';
import type { FilterLayout } from '../../../src/engine/filter-layout.ts';
import type { Engine } from '../../../src/engine/index.ts';
import { KEYS } from '../../../src/engine/keys.ts';
import type { Ledger } from '../../../src/ledger/index.ts';
import { query } from '../../ledger/tables.ts';
import type { Driver } from './driver.ts';
import { liveState } from './live-state.ts';
import { excessOf, type KindMeasured, kindsOf, measureMemory } from './memory.ts';
import { ordersAfter, type Shape } from './rounds.ts';
import type { Tail, TailMeasured } from './tail.ts';

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
  const most = Math.round(liveBytes(first.kinds) * MAX_GROWTH.ratio + MAX_GROWTH.bytes);
  if (bytes <= most) return [];
  return [`growth: ${bytes} bytes, more than ${most}, with the live orders of ${first.orders} orders`];
}

/**
 * Makes a Postgres that does not wait for the disk write its log, which has all that was committed, before the engine
 * forgets it.
 */
const WRITE_LOG = `begin; set local synchronous_commit = on; select pg_current_xact_id(); commit`;

const tailExcess = (tail: readonly TailMeasured[]): string[] =>
  tail
    .filter(({ entries, most }) => entries > most)
    .map(({ name, entries, most }) => `while it ran: ${entries} entries of ${name}, more than ${most}`);

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
    ...{ rounds, events: sequence, atMs: Date.now(), tail, violations, falsePositiveRatio },
    ...{ usedBytes: memory.usedBytes, datasetBytes: memory.datasetBytes, kinds },
    databaseBytes: Number(size!.bytes),
    engineFileBytes: Number(file),
  };
}
