/** Rebuilds that meet each other or a settlement that hangs, and a server whose data are others while it runs. */

import { setTimeout as sleep } from 'node:timers/promises';
import { openRedis, PASSWORD, untilInStep } from '../../../support/redis-server.ts';
import { type Cluster, engineSequence, moment, settledIn } from '../cluster.ts';
import type { Fault } from './fault.ts';
import {
  expectClosed,
  LAST_BATCHES_MS,
  LOST,
  noteLoss,
  rebuild,
  startRebuild,
  startReplica,
} from './recovery.ts';

/** Empties the engine's Redis, which keeps its run id and its connections. */
async function emptyEngine({ redis }: Cluster): Promise<void> {
  await redis.flushall();
}

const AT_ONCE = 3;

const together: Fault = {
  name: 'three operators rebuild an emptied engine at once',
  rounds: 5,
  shortRounds: 0,
  mayBreak: LOST,
  mayLose: true,
  async inject(scene) {
    const { cluster, dice, note, violation } = scene;
    await moment(dice, 1_000);
    await emptyEngine(cluster);
    await expectClosed(scene);
    return async () => {
      await noteLoss(scene);
      const rebuilds = await Promise.all(Array.from({ length: AT_ONCE }, () => startRebuild(cluster)));
      const codes = await Promise.all(rebuilds.map(({ gone }) => gone));
      const worked = codes.filter((code) => code === 0).length;
      note(`exit codes ${codes.join(', ')}`);
      if (worked !== 1) violation('rebuild', `${worked} of ${AT_ONCE} rebuilds at once worked`);
    };
  },
};

const MAX_TRIES = 60;

/** Settlement may hang with the cursor locked, or with a batch of the lost engine, which it tries to settle afterwards. */
const besideHanging: Fault = {
  name: 'the engine is rebuilt while settlement hangs',
  rounds: 10,
  shortRounds: 0,
  mayBreak: LOST,
  mayLose: true,
  async inject(scene) {
    const { cluster, dice, note, violation } = scene;
    const pid = cluster.processes.pidOf(cluster.of('settlement')[0]!);
    await moment(dice, 1_000);
    process.kill(pid, 'SIGSTOP');
    await moment(dice, 300);
    await emptyEngine(cluster);
    await expectClosed(scene);
    return async () => {
      await noteLoss(scene);
      const isRebuilt = async (): Promise<boolean> => (await (await startRebuild(cluster)).gone) === 0;
      let tries = 1;
      while (!(await isRebuilt()) && tries < MAX_TRIES) tries += 1;
      note(`rebuilt at try ${tries}`);
      process.kill(pid, 'SIGCONT');
      await sleep(LAST_BATCHES_MS);
      if (await cluster.hasDiverged()) violation('settlement', 'it stopped for a batch of the lost engine');
    };
  },
};

/** A replica that stopped to follow becomes the primary of its former primary, which then is a primary again. */
const olderData: Fault = {
  name: 'the engine Redis takes over older data while it runs',
  rounds: 5,
  shortRounds: 0,
  mayBreak: LOST,
  mayLose: true,
  async inject(scene) {
    const { cluster, dice, note } = scene;
    const { engine, engineFolder, redis } = cluster;
    const replica = await startReplica(cluster, `${engineFolder}-older`);
    const copy = openRedis(replica.url);
    await copy.replicaof('NO', 'ONE');
    copy.disconnect();
    await sleep(800 + dice.below(1_000));
    await scene.quiet();
    await redis.config('SET', 'masteruser', 'replica', 'masterauth', PASSWORD);
    const { hostname, port } = new URL(replica.url);
    await redis.replicaof(hostname, Number(port));
    await untilInStep(engine);
    await redis.replicaof('NO', 'ONE');
    await replica.kill();
    const sequence = (await engineSequence(redis))!;
    const settled = await settledIn(cluster);
    note(`Postgres is ${settled - sequence} events ahead`);
    await expectClosed(scene, { sequence, settled });
    return async () => {
      await emptyEngine(cluster);
      await rebuild(scene);
    };
  },
};

/** All connections see an empty database in place of the engine, and the engine again afterwards. */
const swapped: Fault = {
  name: 'the engine Redis shows an empty database (SWAPDB)',
  rounds: 5,
  shortRounds: 0,
  restEvery: 3,
  async inject(scene) {
    const { cluster, dice } = scene;
    const swap = (): Promise<unknown> => cluster.redis.call('SWAPDB', '0', '1');
    await moment(dice, 1_000);
    await swap();
    await expectClosed(scene);
    return async () => void (await swap());
  },
};

export const REBUILDS: readonly Fault[] = [together, besideHanging, olderData, swapped];
