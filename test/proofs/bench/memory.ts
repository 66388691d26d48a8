/**
 * Measures the memory of a resting order in the engine's Redis, and the bytes that an order adds to the append-only
 * file.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { openStage, type Stage } from './engine-stage.ts';
import { type Table, tableOf } from './figures.ts';
import { PRESENT } from './older-release.ts';
import { logBytes } from './redis.ts';

const ID_LENGTH = 20;
const RESTING = 100_000;
/** After this many ids the filter, a single string, has almost its full length. */
const SPREAD_OF_FILTER = 500;
const ORDERS_ALONE = 1_600;
const ORDERS_IN_CALLS = 6_400;

/** Waits until Redis has freed memory in the background, then returns the used memory. */
async function usedMemory(redis: Redis): Promise<number> {
  for (;;) {
    const memory = await redis.info('memory');
    if (/^lazyfree_pending_objects:0/m.test(memory)) return Number(/^used_memory:(\d+)/m.exec(memory)?.[1]);
    await sleep(50);
  }
}

/**
 * Bytes of a settled resting order with all its records, without the filter and the tables that a first order creates.
 */
async function weigh({ server: { redis }, driver }: Stage): Promise<number> {
  await driver.place('far', SPREAD_OF_FILTER, { inFlight: 64 });
  await driver.settle();
  const before = await usedMemory(redis);
  await driver.place('far', RESTING, { inFlight: 512 });
  await driver.settle();
  return ((await usedMemory(redis)) - before) / RESTING;
}

async function logBytesOf(
  { server: { redis }, driver }: Stage,
  orders: number,
  together: number,
): Promise<number> {
  const before = await logBytes(redis);
  await driver.place('mixed', orders, { together });
  return ((await logBytes(redis)) - before) / orders;
}

export async function benchMemory(): Promise<Table> {
  const stage = await openStage(PRESENT, ID_LENGTH);
  try {
    await stage.driver.create();
    const [alone, together] = [
      await logBytesOf(stage, ORDERS_ALONE, 1),
      await logBytesOf(stage, ORDERS_IN_CALLS, 16),
    ];
    const resting = await weigh(stage);
    return tableOf('memory', `client order ids of ${ID_LENGTH} characters`, [
      {
        name: `engine, a resting order of ${RESTING.toLocaleString('en-US')}, settled`,
        unit: 'bytes',
        figure: resting,
        target: { relation: '<=', bound: 350 },
      },
      {
        name: 'append-only file, an order, half rest, half fill, 16 in a call',
        unit: 'bytes',
        figure: together,
        target: { relation: '<=', bound: 800 },
      },
      { name: 'the same, alone', unit: 'bytes', figure: alone },
    ]);
  } finally {
    await stage.close();
  }
}
