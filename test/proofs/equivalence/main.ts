/**
 * Runs the equivalence for any number of operations, on its own Redis:
 *   npm run proofs -- equivalence --operations 1000000 --seed 7
 * Each run has a hundred thousand operations, the next seed and the next limits. Commands that are sent together, in
 * turns of 1 to 64, are not counted as operations.
 */

import { openRedis, startRedisServer } from '../../support/redis-server.ts';
import { newSeed, readOptions, temporaryFolder, wholeNumber } from '../command.ts';
import { runEquivalence } from './equivalence.ts';
import { Outcomes } from './outcomes.ts';
import type { ReferenceLimits } from './reference-book.ts';

const OPERATIONS_A_RUN = 100_000;
const REPORT_EVERY = 10_000;
/** Trims settled events as settlement would, so that memory depends only on live state. */
const TRIM_EVERY = 500;
const LIMITS: readonly ReferenceLimits[] = [
  { maxMakers: 10, maxLiveOrders: 10 },
  { maxMakers: 3, maxLiveOrders: 8 },
  { maxMakers: 1_000, maxLiveOrders: 200 },
];

const values = readOptions('npm run proofs -- equivalence', 'Compares the scripts with a naive exchange.', {
  operations: ['operations in all', '100000'],
  seed: ['repeats the operations of a run', newSeed()],
});
const operations = wholeNumber('operations', values.operations);
const firstSeed = wholeNumber('seed', values.seed);

const server = await startRedisServer(temporaryFolder('equivalence'));
const redis = openRedis(server.url);
const outcomes = new Outcomes();
const begun = performance.now();
let done = 0;
let together = 0;
try {
  for (let run = 0; done < operations; run += 1) await runOnce(firstSeed + run, LIMITS[run % LIMITS.length]!);
  console.log(
    `${done} operations and ${together} commands in turns: the engine did what the reference did.\n${outcomes.table()}`,
  );
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  redis.disconnect();
  await server.stop();
}

async function runOnce(seed: number, limits: ReferenceLimits): Promise<void> {
  const { maxMakers, maxLiveOrders } = limits;
  console.log(`seed ${seed}, at most ${maxMakers} makers and ${maxLiveOrders} live orders`);
  const met = await runEquivalence({
    redis,
    seed,
    operations: Math.min(OPERATIONS_A_RUN, operations - done),
    limits,
    trimEvery: TRIM_EVERY,
    onOperation: () => {
      done += 1;
      if (done % REPORT_EVERY === 0) report();
    },
    onTurn: (commands) => {
      together += commands;
    },
  });
  for (const [outcome, count] of met.counts) outcomes.add(outcome, count);
}

function report(): void {
  const seconds = (performance.now() - begun) / 1000;
  console.log(
    `${done} operations and ${together} commands in turns in ${seconds.toFixed(0)} s, ${(done / seconds).toFixed(0)} a second`,
  );
}
