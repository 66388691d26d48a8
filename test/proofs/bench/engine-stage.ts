/** An engine to measure: its own server, and a driver that has the engine open. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Driver, startDriver } from './drive.ts';
import { median } from './figures.ts';
import { findCounter } from './instructions.ts';
import { type MeasuredRedis, processorSeconds, startMeasuredRedis } from './redis.ts';

export const WARMING_CALLS = 16;

/** Server cost of one call. */
export interface Cost {
  readonly micros: number;
  /** Thousands of user-space instructions; undefined if they cannot be counted. */
  readonly instructions: number | undefined;
}

export interface Stage {
  readonly server: MeasuredRedis;
  readonly driver: Driver;
  /** Folder for copies of the server's data. */
  readonly folder: string;
  close(): Promise<void>;
}

/**
 * @param project the project folder of the release to drive
 * @param idLength length of a client order id in characters
 */
export async function openStage(project: string, idLength?: number): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-bench-'));
  const server = await startMeasuredRedis(folder, findCounter() === 'perf' ? 'perf' : undefined);
  const driver = await startDriver(project, idLength);
  const stage = {
    server,
    driver,
    folder,
    async close() {
      await driver.stop();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await driver.open(server.url).catch(async (error) => {
    await stage.close();
    throw error;
  });
  return stage;
}

/** Makes `calls` calls of one kind. */
export type Work = (calls: number) => Promise<void>;

export async function cost(
  server: MeasuredRedis,
  calls: number,
  work: Work,
  warmingCalls = WARMING_CALLS,
): Promise<Cost> {
  await work(warmingCalls);
  const before = await processorSeconds(server.redis);
  const instructions = await server.count(() => work(calls));
  const seconds = (await processorSeconds(server.redis)) - before;
  return {
    micros: (seconds / calls) * 1e6,
    instructions: instructions === undefined ? undefined : instructions / calls / 1_000,
  };
}

const middle = (costs: readonly Cost[]): Cost => ({
  micros: median(costs.map(({ micros }) => micros)),
  instructions: costs.some(({ instructions }) => instructions === undefined)
    ? undefined
    : median(costs.map(({ instructions }) => instructions!)),
});

/** Returns medians over rounds. Each round runs every kind of work once. */
export async function takeRounds<Kind extends string>(
  rounds: number,
  works: Readonly<Record<Kind, () => Promise<Cost>>>,
): Promise<Record<Kind, Cost>> {
  const kinds = Object.keys(works) as Kind[];
  const taken = kinds.map((): Cost[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [at, kind] of kinds.entries()) taken[at]!.push(await works[kind]());
  return Object.fromEntries(kinds.map((kind, at) => [kind, middle(taken[at]!)])) as Record<Kind, Cost>;
}

export type Pass = 'timed' | 'counted';

/**
 * Measures costs on the running servers. If only callgrind can count instructions, it also measures on copies of their
 * data under callgrind, where times mean nothing.
 * @param take receives one server for each stage, which the stage's driver has open
 */
export async function costsOf<Kind extends string>(
  stages: readonly Stage[],
  take: (servers: readonly MeasuredRedis[], pass: Pass) => Promise<Record<Kind, Cost>>,
): Promise<Record<Kind, Cost>> {
  const timed = await take(
    stages.map(({ server }) => server),
    'timed',
  );
  if (findCounter() !== 'callgrind') return timed;
  const copies: MeasuredRedis[] = [];
  try {
    for (const { folder, server, driver } of stages) {
      const copy = await server.cloneCounted(mkdtempSync(join(folder, 'counted-')));
      copies.push(copy);
      await driver.open(copy.url);
    }
    const counted = await take(copies, 'counted');
    const merged = Object.entries<Cost>(timed).map(([kind, { micros }]) => [
      kind,
      { micros, instructions: counted[kind as Kind].instructions },
    ]);
    return Object.fromEntries(merged) as Record<Kind, Cost>;
  } finally {
    for (const { driver, server } of stages) await driver.open(server.url);
    for (const copy of copies) await copy.stop();
  }
}
