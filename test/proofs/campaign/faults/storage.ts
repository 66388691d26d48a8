/** Disks: files that end too early, rewrites of files that are killed, and disks that are full. */

import { spawnSync } from 'node:child_process';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '../../../support/proc.ts';
import { openRedis, startRedisServer } from '../../../support/redis-server.ts';
import { APPENDED, type Cluster, engineSequence, moment, settledIn } from '../cluster.ts';
import type { Fault, Scene } from './fault.ts';
import { signal } from './hangs.ts';
import { expectClosed } from './recovery.ts';
import { pauseSettlement } from './settlement-points.ts';

const MAX_CUT_BYTES = 6_000;

/** The part of the append-only file that is written now. */
function appendedFile(engineFolder: string): string {
  const folder = join(engineFolder, APPENDED);
  const parts = readdirSync(folder).filter((file) => file.endsWith('.incr.aof'));
  const numberOf = (file: string): number => Number(/(\d+)\.incr\.aof$/.exec(file)?.[1]);
  return join(folder, parts.sort((one, other) => numberOf(one) - numberOf(other)).at(-1)!);
}

/**
 * The end of the file is cut off. The engine opens when it has all that Postgres has; then the orders after the cut are
 * honestly lost. Otherwise it stays closed until the file is as it was.
 */
const cutFile: Fault = {
  name: 'the append-only file is cut at random bytes',
  rounds: 200,
  mayLose: true,
  mayBreak: 'what was acknowledged and not settled, when the engine opens',
  async inject(scene) {
    const { cluster, dice } = scene;
    const { engine, engineFolder } = cluster;
    // Settlement stands still in half of the rounds: the cut is behind its cursor or before it.
    let pause = dice.chance(0.5) ? await pauseSettlement(cluster) : undefined;
    await moment(dice, 1_000);
    await engine.kill();
    pause ??= await pauseSettlement(cluster);
    const file = appendedFile(engineFolder);
    const whole = `${file}.whole`;
    cpSync(file, whole);
    truncateSync(file, Math.max(0, statSync(file).size - 1 - dice.below(MAX_CUT_BYTES)));
    await scene.quiet();
    const sequence = await sequenceOnDisk(cluster);
    if (sequence >= pause.settled) scene.lost(sequence);
    await engine.start();
    if (sequence < pause.settled) {
      await expectClosed(scene, { sequence, settled: pause.settled });
      await engine.kill();
      cpSync(whole, file);
      await engine.start();
    }
    rmSync(whole);
    return pause.end;
  },
};

/**
 * The sequence of the last event in the engine's files, while its server is down. A server reads a copy of them at
 * another port, so that no process opens the engine and adds events.
 */
async function sequenceOnDisk({ engineFolder }: Cluster): Promise<number> {
  const copy = `${engineFolder}-cut`;
  rmSync(copy, { recursive: true, force: true });
  cpSync(join(engineFolder, APPENDED), join(copy, APPENDED), { recursive: true });
  const server = await startRedisServer(copy);
  const redis = openRedis(server.url);
  try {
    return (await engineSequence(redis)) ?? 0;
  } finally {
    redis.disconnect();
    await server.kill();
  }
}

const REWRITES = 6;
const MAX_REWRITE_MS = 200;

/** A child process rewrites the file. Its server is killed during the last rewrite, and again as soon as it is back. */
const rewritesKilled: Fault = {
  name: 'rewrites of the append-only file are killed',
  rounds: 10,
  shortRounds: 0,
  restEvery: 3,
  async inject({ cluster: { engine, redis }, dice, note, violation }) {
    let kills = 0;
    for (let rewrites = 0; rewrites < REWRITES; rewrites += 1) {
      // Refused while an earlier child is not yet gone, and for a while after several have failed.
      await redis.bgrewriteaof().catch(() => undefined);
      await moment(dice, MAX_REWRITE_MS / 10);
      const children = childrenOf(engine.pid());
      signal(children, 'SIGKILL');
      kills += children.length;
      await moment(dice, MAX_REWRITE_MS);
    }
    note(`${kills} killed`);
    if (kills === 0) violation('campaign', 'no rewrite was killed');
    await redis.bgrewriteaof().catch(() => undefined);
    for (let turns = 0; turns < 2; turns += 1) {
      await engine.kill();
      await engine.start();
    }
  },
};

const REDIS_MB = 48;
const POSTGRES_MB = 320;
const FULL_MS = 1_500;

interface Disk {
  readonly folder: string;
  readonly close: () => Promise<void>;
}

/** A file system in memory, small enough to fill. */
function smallDisk(folder: string, megabytes: number): Disk {
  mkdirSync(folder, { recursive: true });
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', folder]);
  if (mounted.status !== 0) throw new Error(`no file system at ${folder}: ${mounted.stderr}`);
  return {
    folder,
    close: async () => {
      spawnSync('umount', ['-l', folder]);
    },
  };
}

/** Takes all that is left of a disk. @returns gives it back */
function fill(folder: string): () => void {
  const file = join(folder, 'filler');
  const descriptor = openSync(file, 'w');
  const piece = Buffer.alloc(64 * 1024, 1);
  try {
    for (;;) writeSync(descriptor, piece);
  } catch {
    // The disk is full.
  } finally {
    closeSync(descriptor);
  }
  return () => rmSync(file);
}

/** A server that cannot write what it is to answer for ends by itself. */
function expectEnded({ engine }: Cluster, violation: Scene['violation']): void {
  if (existsSync(`/proc/${engine.pid()}`)) violation('campaign', 'the engine goes on: the disk was not full');
}

const needsDisk: Fault['lacks'] = ({ hasTmpfs }) =>
  hasTmpfs ? undefined : 'needs root, to mount a file system of its own';

const fullEngine: Fault = {
  name: 'the disk of the engine Redis is full',
  rounds: 5,
  lacks: needsDisk,
  async plan(base) {
    const { folder, close } = smallDisk(join(base.folder, 'disk'), REDIS_MB);
    return { plan: { ...base, engineFolder: join(folder, 'engine') }, close };
  },
  async inject({ cluster, violation }: Scene) {
    const free = fill(join(cluster.engineFolder, '..'));
    await sleep(FULL_MS);
    expectEnded(cluster, violation);
    return async () => {
      free();
      await cluster.engine.kill();
      await cluster.engine.start();
    };
  },
};

const fullPostgres: Fault = {
  name: 'the disk of Postgres is full',
  rounds: 5,
  lacks: needsDisk,
  async plan(base) {
    const { folder, close } = smallDisk(join(base.folder, 'disk'), POSTGRES_MB);
    return { plan: { ...base, postgresFolder: join(folder, 'postgres') }, close };
  },
  async inject({ cluster, note, violation }: Scene) {
    const free = fill(join(cluster.postgresFolder, '..'));
    const before = await settledIn(cluster);
    await sleep(FULL_MS * 2);
    const settled = await settledIn(cluster).catch(() => before);
    const waiting = (await engineSequence(cluster.redis))! - settled;
    // A few events may find room in pages that Postgres has already.
    if (waiting <= settled - before) violation('campaign', 'settlement goes on: the disk was not full');
    return async () => {
      note(`${waiting} events waited`);
      free();
      await cluster.postgres.kill();
      await cluster.postgres.start();
    };
  },
};

/** Without root: the server may make no file longer than it is now. */
const limitedEngine: Fault = {
  name: 'the engine Redis may write no more (RLIMIT_FSIZE)',
  rounds: 5,
  async inject({ cluster, violation }) {
    const { size } = statSync(appendedFile(cluster.engineFolder));
    const limited = spawnSync('prlimit', ['--pid', String(cluster.engine.pid()), `--fsize=${size + 200}`]);
    if (limited.status !== 0) throw new Error(`prlimit: ${limited.stderr}`);
    await sleep(FULL_MS);
    expectEnded(cluster, violation);
    return async () => {
      await cluster.engine.kill();
      await cluster.engine.start();
    };
  },
};

export const STORAGE: readonly Fault[] = [cutFile, rewritesKilled, limitedEngine, fullEngine, fullPostgres];
