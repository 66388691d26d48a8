/** The engine is lost: rebuild and failover, as docs/runbook.md describes them. Until then it stays closed. */

import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { program } from '../../../support/program.ts';
import {
  asReplica,
  type RedisServer,
  redisOf,
  startRedisServer,
  untilInStep,
  untilSaid,
} from '../../../support/redis-server.ts';
import { APPENDED, type Cluster, engineSequence, moment, settledIn } from '../cluster.ts';
import type { Fault, Scene } from './fault.ts';

/** Time in which replicas have noticed the new server. */
const NOTICED_MS = 2_500;

/** Positions of the two stores. */
interface Places {
  readonly sequence: number;
  readonly settled: number;
}

/** @param places the log of a process must name both */
export async function expectClosed(
  { cluster, driver, violation, note }: Scene,
  places?: Places,
): Promise<void> {
  await sleep(NOTICED_MS);
  // IOC, so that nothing rests when it is repeated on the engine that is open again.
  const order = {
    market: 'ETH/USDC',
    side: 'buy',
    type: 'limit',
    price: 1_000,
    size: 0.001,
    timeInForce: 'IOC',
  } as const;
  for (const port of driver.ports) {
    const clientOrderId = `closed ${driver.model.lastIntent}`;
    const outcome = await driver.place(driver.deadMan, { ...order, clientOrderId }, port);
    if (outcome.is === 'ok')
      violation('fencing', `port ${port} placed an order on an engine that lost events`);
  }
  if (places !== undefined) {
    const { sequence, settled } = places;
    const report = new RegExp(`the engine is at event \\d+-${sequence}, Postgres at \\d+-${settled}\\b`);
    if (!report.test(cluster.processes.output()))
      violation('fencing', `no process reports the engine at event ${sequence} and Postgres at ${settled}`);
  }
  note('fenced');
}

/** Starts the engine's Redis on nothing. */
export async function loseEngine({ engine, engineFolder }: Cluster): Promise<void> {
  await engine.kill();
  rmSync(join(engineFolder, APPENDED), { recursive: true, force: true });
  await engine.start();
}

/** Batches that settlement had read before the engine was lost are written within this time. */
export const LAST_BATCHES_MS = 1_000;

/**
 * Notes the loss while no engine is open, so that everything placed afterwards is held against its replies.
 * @returns the last event that is left
 */
export async function noteLoss({ cluster, lost }: Scene): Promise<number> {
  await sleep(LAST_BATCHES_MS);
  const settled = await settledIn(cluster);
  lost(settled);
  return settled;
}

export async function rebuild(scene: Scene): Promise<void> {
  const { cluster, note, violation } = scene;
  const settled = await noteLoss(scene);
  const rebuilt = (await cluster.operate('ledger', 'rebuild')) as { liveOrders: number; sequence: number };
  note(`rebuilt ${rebuilt.liveOrders} live orders`);
  if (rebuilt.sequence !== settled)
    violation('rebuild', `the engine goes on after event ${rebuilt.sequence}, Postgres had ${settled}`);
}

interface RunningRebuild {
  readonly child: ChildProcess;
  /** Resolves to the exit code. */
  readonly gone: Promise<number | null>;
}

/** Starts `ledger rebuild`, which may be refused or killed. */
export async function startRebuild({ settings }: Cluster): Promise<RunningRebuild> {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, ...settings, ...redisOf('operator', settings) };
  const child = spawn(process.execPath, [...(await program()), 'ledger', 'rebuild'], {
    env,
    stdio: 'ignore',
  });
  return { child, gone: new Promise((resolve) => child.once('exit', resolve)) };
}

/** Starts a replica of the engine's Redis on an empty folder, and waits until it is in step. */
export async function startReplica({ engine }: Cluster, folder: string): Promise<RedisServer> {
  rmSync(folder, { recursive: true, force: true });
  const primary = new URL(engine.url);
  const settings = [...asReplica, `replicaof ${primary.hostname} ${primary.port}`];
  const replica = await startRedisServer(folder, { settings });
  await untilInStep(replica);
  return replica;
}

export const LOST = 'what was acknowledged and not settled; dead-man switches';

const rebuildUnderway: Fault = {
  name: 'the engine is rebuilt while replicas run',
  rounds: 5,
  shortRounds: 1,
  mayBreak: LOST,
  mayLose: true,
  async inject(scene) {
    const { cluster, dice } = scene;
    await moment(dice, 1_000);
    await loseEngine(cluster);
    await expectClosed(scene);
    return () => rebuild(scene);
  },
};

const MAX_REBUILD_MS = 900;

const rebuildKilled: Fault = {
  name: 'a rebuild is killed half way',
  rounds: 10,
  shortRounds: 1,
  mayBreak: LOST,
  mayLose: true,
  async inject(scene) {
    const { cluster, dice } = scene;
    await loseEngine(cluster);
    // A rebuild that is killed may have been complete, and the engine be open: the loss is noted before the first one.
    await noteLoss(scene);
    let kills = 0;
    for (let tries = 0; tries < 2; tries += 1) {
      const { child, gone } = await startRebuild(cluster);
      await sleep(300 + dice.below(MAX_REBUILD_MS));
      const wasComplete = (await engineSequence(cluster.redis)) !== undefined;
      child.kill('SIGKILL');
      await gone;
      if (!wasComplete) kills += 1;
    }
    scene.note(`${kills} killed half way`);
    return async () => {
      // The command refuses an engine that is there.
      if ((await engineSequence(cluster.redis)) === undefined) await rebuild(scene);
    };
  },
};

/** The replica stops to follow, the primary dies, and the replica takes its place. */
const failover: Fault = {
  name: 'failover to a lagging replica',
  rounds: 5,
  shortRounds: 1,
  mayBreak: LOST,
  mayLose: true,
  async inject(scene) {
    const { cluster, dice, note } = scene;
    const { engine, engineFolder, redis } = cluster;
    const folder = `${engineFolder}-replica`;
    const replica = await startReplica(cluster, folder);
    // A replica begins a file of its own once it is in step.
    await untilSaid(replica.url, async (connection) => {
      const said = await connection.info('persistence');
      return ['aof_rewrite_in_progress:0', 'aof_rewrite_scheduled:0'].every((fact) => said.includes(fact));
    });
    process.kill(replica.pid(), 'SIGSTOP');
    await sleep(800 + dice.below(1_000));
    await engine.kill();
    await sleep(LAST_BATCHES_MS);
    const settled = await settledIn(cluster);
    // SIGKILL ends a stopped process too. Let on, the replica would read what its socket still holds.
    await replica.kill();
    const aside = join(engineFolder, `${APPENDED}.primary`);
    rmSync(aside, { recursive: true, force: true });
    renameSync(join(engineFolder, APPENDED), aside);
    cpSync(join(folder, APPENDED), join(engineFolder, APPENDED), { recursive: true });
    await scene.quiet();
    await engine.start();
    const sequence = (await engineSequence(redis)) ?? 0;
    if (sequence >= settled) {
      note('the replica had everything that was settled');
      scene.lost(sequence);
    }
    note(`Postgres is ${settled - sequence} events ahead of the replica`);
    await expectClosed(scene, { sequence, settled });
    return async () => {
      await loseEngine(cluster);
      await rebuild(scene);
    };
  },
};

export const RECOVERY: readonly Fault[] = [rebuildUnderway, rebuildKilled, failover];
