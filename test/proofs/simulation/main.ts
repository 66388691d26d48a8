/**
 * Simulated histories of settlement, rebuild, epochs, claims and orders, on a Redis and a Postgres of their own:
 *   npm run simulation -- --histories 20000 --seed 7
 *   npm run simulation -- --copies 3             an engine with copies, and the faults of their machines
 *   npm run simulation -- --broken               every build that is broken on purpose
 *   npm run simulation -- --replay FILE          a history that failed
 * Exit code 0 means that no invariant broke, or with --broken that each broken build was found.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { plantedFor } from '../../planted/planted.ts';
import { addTests, withPlanted } from '../../planted/release.ts';
import { SEGMENT_EVENTS } from '../../support/servers.ts';
import { newSeed, readOptions, wholeNumber, withServers } from '../command.ts';
import { type Failure, replay } from './simulate.ts';
import { type Task, TaskRunner, type UsedSeconds } from './tasks.ts';
import { runInWorkers } from './workers.ts';

/** A history fills several segments. */
process.env[SEGMENT_EVENTS] = '64';

const HISTORIES_OF_A_TASK = 50;
const REPORT_EVERY = 500;

const values = readOptions(
  'npm run simulation --',
  'Runs histories in one process, whose interleavings and faults a seed decides: docs/campaign.md.',
  {
    histories: ['histories', '1000'],
    seed: ['of the first history; each next one has the next seed', newSeed()],
    steps: ['decisions of a history', '200'],
    copies: ['servers of the engine: 3 for copies, keepers and the faults of their machines', '1'],
    workers: ['processes that run histories', String(availableParallelism())],
    replay: ['repeats the history of a file that a failure wrote'],
    broken: ['proves the command itself, on builds that are broken on purpose', false],
    builds: ['with --broken: those whose names contain this text', ''],
  },
);
const [histories, seed, steps, workers, copies] = [
  wholeNumber('histories', values.histories),
  wholeNumber('seed', values.seed),
  wholeNumber('steps', values.steps),
  wholeNumber('workers', values.workers, 1),
  wholeNumber('copies', values.copies, 1),
];

if (values.replay !== undefined) process.exitCode = (await replayFile(values.replay)) ? 0 : 1;
else
  process.exitCode = (await (!values.broken ? run() : copies > 1 ? findBrokenCopies() : findBroken()))
    ? 0
    : 1;

async function run(): Promise<boolean> {
  const begun = performance.now();
  const tasks: Task[] = [];
  for (let done = 0; done < histories; done += HISTORIES_OF_A_TASK)
    tasks.push({
      seed: seed + done,
      steps,
      copies,
      histories: Math.min(HISTORIES_OF_A_TASK, histories - done),
    });
  const sum = { histories: 0, decisions: 0, commands: 0, node: 0, redis: 0, postgres: 0 };
  let failure: Failure | undefined;
  await runInWorkers(tasks, workers, (result) => {
    const added = { ...result, ...result.used };
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += added[name];
    failure ??= result.failure;
    if (sum.histories % REPORT_EVERY < HISTORIES_OF_A_TASK) console.log(told(sum, performance.now() - begun));
    return failure === undefined;
  });
  console.log(told(sum, performance.now() - begun));
  if (failure === undefined) console.log(`no invariant broke in ${histories} histories from seed ${seed}`);
  else tell(failure);
  return failure === undefined;
}

/** Tasks of all histories. */
function tasksOf(given: Pick<Task, 'steps' | 'copies' | 'isRaw'>): Task[] {
  const tasks: Task[] = [];
  for (let done = 0; done < histories; done += HISTORIES_OF_A_TASK) {
    const left = Math.min(HISTORIES_OF_A_TASK, histories - done);
    tasks.push({ ...given, seed: seed + done, histories: left });
  }
  return tasks;
}

type Sum = UsedSeconds & Readonly<Record<'histories' | 'decisions' | 'commands', number>>;

function told(sum: Sum, ms: number): string {
  const each = (seconds: number): string => ((seconds / sum.histories) * 1_000).toFixed(0);
  return [
    `${sum.histories} histories, ${sum.decisions} decisions and ${sum.commands} commands in ${(ms / 1_000).toFixed(0)} s`,
    `${Math.round((sum.histories / ms) * 3_600_000)} histories an hour in ${workers} workers`,
    `${each(sum.node + sum.redis + sum.postgres)} ms of processor time each ` +
      `(Node ${each(sum.node)}, Redis ${each(sum.redis)}, Postgres ${each(sum.postgres)})`,
    `load ${loadavg()[0]!.toFixed(1)}`,
  ].join('; ');
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
    `whole:    npm run simulation -- --histories 1 --seed ${failure.seed} --steps ${failure.steps} --copies ${failure.copies}`,
  );
  console.log(`shortest: npm run simulation -- --replay ${file}`);
}

async function replayFile(file: string): Promise<boolean> {
  return withServers(async () => {
    const runner = new TaskRunner();
    try {
      const failure: Failure = JSON.parse(readFileSync(file, 'utf8'));
      const { violation } = await replay(await runner.world(failure.copies), failure);
      console.log(violation?.message ?? 'no invariant broke');
      return violation === undefined;
    } finally {
      await runner.close();
    }
  });
}

async function findBroken(): Promise<boolean> {
  const builds = plantedFor('simulation').filter(({ name }) => name.includes(values.builds));
  const tasks = builds.map(({ name }) => ({ seed, histories, steps, copies, fault: name }));
  let missed = 0;
  await runInWorkers(tasks, workers, ({ failure, histories: count, unmet }, { fault }) => {
    if (failure === undefined || unmet.length > 0) missed += 1;
    if (unmet.length > 0) console.log(`${fault}: NOT PLANTED, no statement has ${unmet.join(' and ')}`);
    else if (failure === undefined) console.log(`${fault}: NOT FOUND in ${count} histories`);
    else console.log(`${fault}: found in history ${count}, ${failure.message.slice(0, 120)}`);
    return true;
  });
  console.log(`${builds.length - missed} of ${builds.length} broken builds were found`);
  return missed === 0;
}

/** Builds whose sources are broken, one after the other. */
async function findBrokenCopies(): Promise<boolean> {
  const builds = plantedFor('simulated-copies').filter(({ name }) => name.includes(values.builds));
  let missed = 0;
  for (const build of builds) {
    const found = await withPlanted(build, (folder) => failureIn(folder));
    if (found === undefined) missed += 1;
    console.log(`${build.name}: ${found ?? `NOT FOUND in ${histories} histories`}`);
  }
  console.log(`${builds.length - missed} of ${builds.length} broken builds were found`);
  return missed === 0;
}

async function failureIn(folder: string): Promise<string | undefined> {
  addTests(folder);
  let found: Failure | undefined;
  const note = ({ failure }: { readonly failure: Failure | undefined }): boolean => {
    if (failure !== undefined && failure.seed < (found?.seed ?? Number.POSITIVE_INFINITY)) found = failure;
    return found === undefined;
  };
  await runInWorkers(tasksOf({ steps, copies, isRaw: true }), workers, note, folder);
  return found && `found in history ${found.seed - seed + 1}, ${found.message.slice(0, 120)}`;
}
