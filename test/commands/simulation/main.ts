/**
 * Simulated histories of settlement, rebuild, epochs, claims and batches, on a Redis and a Postgres of their own:
 *   npm run simulation -- --histories 20000 --seed 7
 *   npm run simulation -- --broken               every build that is broken on purpose
 *   npm run simulation -- --replay FILE          a history that failed
 * Exit code 0 means that no invariant broke, or with --broken that each broken build was found.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  freshDatabase,
  loneRedis,
  mochaGlobalSetup,
  mochaGlobalTeardown,
  stopServers,
} from '../../support/servers.ts';
import { BROKEN_BUILDS } from './broken.ts';
import { ProcessorTime } from './processor-time.ts';
import { type Failure, openWorld, replay, type Simulated, simulate } from './simulate.ts';
import type { World } from './world.ts';

const MOST_REPLAYS = 400;
const REPORT_EVERY = 500;

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    steps: { type: 'string', default: '200' },
    replay: { type: 'string' },
    broken: { type: 'boolean', default: false },
  },
});
const [histories, seed, steps] = [
  wholeNumber('histories', values.histories),
  wholeNumber('seed', values.seed),
  wholeNumber('steps', values.steps),
];
const now = performance.now.bind(performance);

mochaGlobalSetup();
try {
  const servers = { redisUrl: await loneRedis(), databaseUrl: await freshDatabase(), freshDatabase };
  if (values.broken) process.exitCode = (await findBroken(servers)) ? 0 : 1;
  else {
    const world = await openWorld(servers);
    process.exitCode = (await (values.replay === undefined ? run(world) : replayFile(world, values.replay)))
      ? 0
      : 1;
    await world.close();
  }
} finally {
  await stopServers();
  await mochaGlobalTeardown();
}

async function run(world: World): Promise<boolean> {
  const begun = now();
  let [done, commands] = [0, 0];
  const processors = await ProcessorTime.of(world);
  const report = async (): Promise<void> => {
    const seconds = (now() - begun) / 1_000;
    const used = await processors.seconds();
    console.log(
      `${done} histories and ${commands} commands in ${seconds.toFixed(0)} s, ${Math.round((done / seconds) * 3_600)} histories an hour; ` +
        `${((used / done) * 1_000).toFixed(0)} ms of processor time each`,
    );
  };
  const simulated = await simulate({
    ...{ world, histories, seed, steps, mostReplays: MOST_REPLAYS },
    onHistory: (result) => {
      done += 1;
      commands += result.commands;
      if (done % REPORT_EVERY === 0) void report();
    },
  });
  await report();
  if (simulated.failure === undefined) {
    console.log(`no invariant broke in ${histories} histories from seed ${seed}`);
    return true;
  }
  tell(simulated.failure);
  return false;
}

function tell(failure: Failure): void {
  const file = join(tmpdir(), `redbook-simulation-${failure.seed}.json`);
  writeFileSync(file, JSON.stringify(failure));
  console.log(`seed ${failure.seed}: ${failure.message}`);
  console.log('The shortest history that was found:');
  for (const decision of failure.decisions)
    console.log(
      `  ${decision.map((part) => (typeof part === 'object' ? JSON.stringify(part) : part)).join(', ')}`,
    );
  console.log(
    `whole:    npm run simulation -- --histories 1 --seed ${failure.seed} --steps ${failure.steps}`,
  );
  console.log(`shortest: npm run simulation -- --replay ${file}`);
}

async function replayFile(world: World, file: string): Promise<boolean> {
  const { violation } = await replay(world, JSON.parse(readFileSync(file, 'utf8')));
  console.log(violation?.message ?? 'no invariant broke');
  return violation === undefined;
}

async function findBroken(servers: Parameters<typeof openWorld>[0]): Promise<boolean> {
  let missed = 0;
  for (const build of BROKEN_BUILDS) {
    const world = await openWorld(servers, build);
    const found = await simulate({ world, histories, seed, steps, build, mostReplays: 0 });
    if (found.failure === undefined) missed += 1;
    console.log(`${build.name}: ${told(found)}`);
    await world.close();
  }
  console.log(`${BROKEN_BUILDS.length - missed} of ${BROKEN_BUILDS.length} broken builds were found`);
  return missed === 0;
}

const told = ({ failure, histories: count }: Simulated): string =>
  failure === undefined
    ? `NOT FOUND in ${count} histories`
    : `found in history ${count}, ${failure.message.slice(0, 120)}`;

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new Error(`--${name} must be a whole number, not ${text}`);
  return value;
}
