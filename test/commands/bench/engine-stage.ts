/** An engine that is measured: a server of its own, and a driver that has it open. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Driver, startDriver } from './drive.ts';
import { median } from './figures.ts';
import { findCounter } from './instructions.ts';
import { type MeasuredRedis, processorSeconds, startMeasuredRedis } from './redis.ts';

export const WARMING_CALLS = 16;

/** Cost of one call for the server. */
export interface Cost {
  readonly micros: number;
  /** Thousands, in user space; undefined where they cannot be counted. */
  readonly instructions: number | undefined;
}

export interface Stage {
  readonly server: MeasuredRedis;
  readonly driver: Driver;
  /** For copies of the server's data. */
  readonly folder: string;
  close(): Promise<void>;
}

/** @param project the project folder of the release that is driven @param idLength characters of a client order id */
export async function openStage(project: string, idLength?: number): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-bench-'));
  const server = await startMeasuredRedis(folder, findCounter() === 'perf' ? 'perf' : undefined);
  const driver = await startDriver(project, idLength);
  const stage = {
    ...{ server, driver, folder },
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

/** Makes so many calls of one kind. */
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

/** Medians of rounds, in each of which every kind of work has its turn. */
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
 * Takes costs on the servers as they are; where only callgrind counts, also on copies of their data under callgrind,
 * whose times mean nothing.
 * @param take is given one server for each stage, which the stage's driver has open
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
