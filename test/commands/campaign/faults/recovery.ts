/** The engine or both stores are lost: failover, rebuild and restores, as docs/runbook.md describes them. */

import { spawn } from 'node:child_process';
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { program } from '../../../support/program.ts';
import { asReplica, redisOf, startRedisServer, untilInStep } from '../../../support/redis-server.ts';
import { type Cluster, engineSequence, moment } from '../cluster.ts';
import { expectClosed } from './closed-engine.ts';
import type { Fault, Scene } from './fault.ts';

const settledIn = async ({ sql }: Cluster): Promise<number> => {
  const [cursor] = await sql<{ sequence: string }>('select sequence from engine_cursor');
  return Number(cursor!.sequence);
};

const APPENDED = 'appendonlydir';

/** Starts the engine's Redis on nothing. The old disk stays aside until the fault is over. */
async function loseEngine({ engine, engineFolder }: Cluster): Promise<void> {
  await engine.kill();
  rmSync(join(engineFolder, APPENDED), { recursive: true, force: true });
  await engine.start();
}

async function rebuild({ cluster, lost, note }: Scene): Promise<void> {
  const settled = await settledIn(cluster);
  const rebuilt = (await cluster.operate('ledger', 'rebuild')) as { liveOrders: number };
  note(`rebuilt ${rebuilt.liveOrders} live orders`);
  lost(settled);
}

const LOST = 'what was acknowledged and not settled; dead-man switches';

const rebuildUnderway: Fault = {
  name: 'the engine is rebuilt while replicas run',
  rounds: 5,
  mayBreak: LOST,
  async inject(scene) {
    const { cluster, dice } = scene;
    await moment(dice, 1_000);
    await loseEngine(cluster);
    await expectClosed(scene, 'the engine is empty');
    return () => rebuild(scene);
  },
};

const LONGEST_REBUILD_MS = 900;

const rebuildKilled: Fault = {
  name: 'a rebuild is killed half way',
  rounds: 10,
  mayBreak: LOST,
  async inject(scene) {
    const { cluster, dice } = scene;
    await loseEngine(cluster);
    for (let kills = 0; kills < 2; kills += 1) {
      const { PATH, HOME } = process.env;
      const env = { PATH, HOME, ...cluster.settings, ...redisOf('operator', cluster.settings) };
      const child = spawn(process.execPath, [...(await program()), 'ledger', 'rebuild'], {
        env,
        stdio: 'ignore',
      });
      const gone = new Promise((resolve) => child.once('exit', resolve));
      await sleep(300 + dice.below(LONGEST_REBUILD_MS));
      child.kill('SIGKILL');
      await gone;
    }
    return async () => {
      // A killed rebuild may have been complete: the command refuses an engine that is there.
      const settled = await settledIn(cluster);
      if ((await engineSequence(cluster.redis)) === undefined) await rebuild(scene);
      else scene.lost(settled);
    };
  },
};

/** The replica stops to follow, the primary dies, and the replica takes its place. */
const failover: Fault = {
  name: 'failover to a lagging replica',
  rounds: 5,
  mayBreak: LOST,
  async inject(scene) {
    const { cluster, dice, note } = scene;
    const { engine, engineFolder, redis } = cluster;
    const folder = `${engineFolder}-replica`;
    rmSync(folder, { recursive: true, force: true });
    const primary = new URL(engine.url);
    const settings = [...asReplica, `replicaof ${primary.hostname} ${primary.port}`];
    const replica = await startRedisServer(folder, { settings });
    await untilInStep(replica);
    process.kill(replica.pid(), 'SIGSTOP');
    await sleep(800 + dice.below(1_000));
    await engine.kill();
    const settled = await settledIn(cluster);
    process.kill(replica.pid(), 'SIGCONT');
    await replica.kill();
    const aside = join(engineFolder, `${APPENDED}.primary`);
    rmSync(aside, { recursive: true, force: true });
    renameSync(join(engineFolder, APPENDED), aside);
    cpSync(join(folder, APPENDED), join(engineFolder, APPENDED), { recursive: true });
    await scene.quiet();
    await engine.start();
    const sequence = (await engineSequence(redis)) ?? 0;
    if (sequence >= settled) {
      scene.lost(sequence);
      return async () => undefined;
    }
    note(`Postgres is ${settled - sequence} events ahead of the replica`);
    await expectClosed(scene, `the replica is at event ${sequence}, Postgres at ${settled}`);
    return async () => {
      await loseEngine(cluster);
      await rebuild(scene);
    };
  },
};

/** Copies the files of Postgres as a snapshot of its volume has them. */
async function copyPostgres({ postgres, postgresFolder }: Cluster, to: string): Promise<void> {
  await postgres.kill();
  rmSync(to, { recursive: true, force: true });
  cpSync(join(postgresFolder, 'postgres'), to, { recursive: true, preserveTimestamps: true });
  await ownLike(join(postgresFolder, 'postgres'), to);
  await postgres.start();
}

/** `cp -a`, because a copy by Node belongs to whoever makes it. */
async function ownLike(from: string, to: string): Promise<void> {
  rmSync(to, { recursive: true, force: true });
  const child = spawn('cp', ['-a', from, to], { stdio: 'ignore' });
  await new Promise((resolve) => child.once('exit', resolve));
}

/**
 * Both stores are restored: Postgres from a snapshot, the engine from a copy that is some seconds younger. The copy is
 * made as the guide says, with no rewrite of the file under way.
 */
const restore: Fault = {
  name: 'both stores are restored, Postgres the older one',
  rounds: 5,
  mayBreak: 'what was acknowledged after the copy of the engine',
  async inject(scene) {
    const { cluster, dice, note } = scene;
    const { engine, engineFolder, postgres, postgresFolder, redis } = cluster;
    const [postgresCopy, engineCopy] = [`${postgresFolder}-copy`, `${engineFolder}-copy`];
    await redis.config('SET', 'auto-aof-rewrite-percentage', '0');
    await copyPostgres(cluster, postgresCopy);
    await sleep(dice.below(2_000));
    await ownLike(join(engineFolder, APPENDED), engineCopy);
    await redis.config('SET', 'auto-aof-rewrite-percentage', '100');
    await sleep(dice.below(1_500));
    await Promise.all([engine.kill(), postgres.kill()]);
    await ownLike(engineCopy, join(engineFolder, APPENDED));
    await ownLike(postgresCopy, join(postgresFolder, 'postgres'));
    await scene.quiet();
    await engine.start();
    const sequence = (await engineSequence(redis)) ?? 0;
    await postgres.start();
    note(`the engine was ${sequence - (await settledIn(cluster))} events ahead`);
    scene.lost(sequence);
    // Settlement that ran through both has seen events that nobody has now: it is restarted, as the guide says.
    const settlements = cluster.of('settlement');
    return async () => {
      for (const slot of settlements) {
        await cluster.processes.end(slot, 'SIGKILL');
        await cluster.processes.start(slot);
      }
    };
  },
};

/** The engine's copy is the older one: it stays closed, until the younger one is put back. */
const restoreTooOld: Fault = {
  name: 'the engine is restored from before the cursor of Postgres',
  rounds: 5,
  mayBreak: 'nothing: it is refused, and the disk is put back',
  async inject(scene) {
    const { cluster, dice } = scene;
    const { engine, engineFolder, redis } = cluster;
    const [copy, aside] = [`${engineFolder}-copy`, `${engineFolder}-aside`];
    const folder = join(engineFolder, APPENDED);
    await redis.config('SET', 'auto-aof-rewrite-percentage', '0');
    await ownLike(folder, copy);
    const copied = await settledIn(cluster);
    // The copy lacks the events that are settled from here on.
    for (let looks = 0; looks < 600 && (await settledIn(cluster)) < copied + 30; looks += 1) await sleep(100);
    await sleep(dice.below(500));
    await engine.kill();
    if (existsSync(aside)) rmSync(aside, { recursive: true });
    renameSync(folder, aside);
    await ownLike(copy, folder);
    await engine.start();
    const sequence = (await engineSequence(redis)) ?? 0;
    const settled = await settledIn(cluster);
    if (sequence < settled) await expectClosed(scene, `the engine is at ${sequence}, Postgres at ${settled}`);
    else scene.note('the copy was not old enough');
    await engine.kill();
    rmSync(folder, { recursive: true });
    renameSync(aside, folder);
    return async () => {
      await engine.start();
      await redis.config('SET', 'auto-aof-rewrite-percentage', '100');
    };
  },
};

export const RECOVERY: readonly Fault[] = [rebuildUnderway, rebuildKilled, failover, restore, restoreTooOld];
