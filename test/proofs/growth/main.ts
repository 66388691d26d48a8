/**
 * `npm run proofs -- growth`: places orders on an
 * engine with a real settlement, and compares the engine's memory with a model of live state at each checkpoint. A run
 * that was killed goes on with the same folder and --resume. The exit code is 0 only without violations.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import writeFile from 'write-file-atomic';
import { formatCounted } from '../../../src/terminal/table.ts';
import { keepBuilds, readOptions, refuse, say, wholeNumber } from '../command.ts';
import { caughtUpText } from './backlog.ts';
import type { Checkpoint } from './checkpoint.ts';
import { BEGINNING, freeBytes, GIB, KEPT_FREE_BYTES, type Plan, planOf } from './growth.ts';
import { grownReads, growthTable, memoryTable } from './report.ts';
import { ordersAfter } from './rounds.ts';
import { type Kept, type Outcome, run } from './run.ts';
import { openServers } from './servers.ts';

const values = readOptions(
  'npm run proofs -- growth',
  "Places orders, and compares the engine's memory with a model of live state.",
  {
    orders: ['orders in all', '10000000'],
    folder: ['keeps data and progress there'],
    resume: ['continues the run that was killed in the folder', false],
    seed: ['repeats the orders of a run', '1'],
    lag: ['events at the end with which a settlement of a small heap catches up', '0'],
    json: ['prints one JSON document', false],
  },
);

const seed = wholeNumber('seed', values.seed);
const lag = wholeNumber('lag', values.lag);
const plan = planOf(wholeNumber('orders', values.orders, 10_000), seed, lag);
if (values.resume && values.folder === undefined)
  refuse('--resume needs the --folder of the run that was killed');
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'redbook-growth-'));
mkdirSync(folder, { recursive: true });
const progressFile = join(folder, 'progress.json');

function keptBefore(): Kept {
  const beginning: Kept = { orders: plan.orders, seed, progress: BEGINNING, reads: [] };
  if (!existsSync(progressFile)) return beginning;
  if (!values.resume)
    refuse(`${folder} has a run already: give --resume to go on with it, or another folder`);
  const kept: Kept = JSON.parse(readFileSync(progressFile, 'utf8'));
  if (kept.orders !== plan.orders || kept.seed !== seed)
    refuse(`the run in ${folder} is of --orders ${kept.orders} --seed ${kept.seed}`);
  return kept;
}

/** Tells what the run needs. @returns false when the disk is too small */
function announce({ orders, filterBytes, diskBytes }: Plan, from: Kept): boolean {
  const made = ordersAfter(plan.shape, from.progress.rounds) / (orders + lag);
  const needed = diskBytes * Math.max(0, 1 - made) + KEPT_FREE_BYTES;
  const free = freeBytes(folder);
  const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;
  say(`${formatCounted(orders)} orders, seed ${seed}, data in ${folder}`);
  say(`claim filter: ${(filterBytes / 2 ** 20).toFixed(0)} MiB`);
  say(`disk: ${gib(needed)} needed from here, of which ${gib(KEPT_FREE_BYTES)} stay free; ${gib(free)} free`);
  return free >= needed;
}

function tell(checkpoint: Checkpoint): void {
  const { orders, usedBytes, violations } = checkpoint;
  say(`${formatCounted(orders)} orders: ${(usedBytes / 2 ** 20).toFixed(1)} MiB used`);
  for (const violation of violations) say(`  ${violation}`);
}

const from = keptBefore();
if (!announce(plan, from)) refuse('the disk is too small: give another --folder or fewer --orders');
keepBuilds('growth');

async function keep(kept: Kept): Promise<void> {
  await writeFile(progressFile, JSON.stringify(kept));
  if (freeBytes(folder) < KEPT_FREE_BYTES)
    throw new Error(`the disk is almost full: make room and go on with --folder ${folder} --resume`);
}

function print(outcome: Outcome): void {
  const { progress, reads, caughtUp } = outcome;
  if (values.json) {
    console.log(JSON.stringify({ ...outcome, grownReads: grownReads(reads) }, null, 2));
    return;
  }
  console.log(`\n${memoryTable(progress.checkpoints)}\n${growthTable(reads)}`);
  if (caughtUp !== null) console.log(caughtUpText(caughtUp));
  console.log(`reads that grew beyond 1.5x: ${grownReads(reads).join('; ') || 'none'}`);
}

const servers = await openServers(folder);
try {
  const outcome = await run({ plan, servers, from, lag, keep, say, onCheckpoint: tell });
  print(outcome);
  const found = [
    ...outcome.violations,
    ...outcome.progress.checkpoints.flatMap(({ violations }) => violations),
  ];
  for (const violation of outcome.violations) console.error(violation);
  say(found.length === 0 ? 'no violations' : `${found.length} violations`);
  process.exitCode = found.length === 0 ? 0 : 1;
} finally {
  await servers.close();
}
if (values.folder === undefined && process.exitCode === 0) rmSync(folder, { recursive: true, force: true });
process.exit();
