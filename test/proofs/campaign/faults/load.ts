/** More work than one process is meant for, and changes of the release. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nextRelease } from '../../../planted/release.ts';
import { type CaughtUp, catchUp, caughtUpText, heapOf } from '../../growth/backlog.ts';
import { bulkInBook, placeBulk } from '../bulk.ts';
import { type Cluster, engineSequence, moment, PATIENCE_MS, settledIn } from '../cluster.ts';
import type { Fault } from './fault.ts';
import { expectClosed, LOST, loseEngine, rebuild } from './recovery.ts';

const MAX_HANG_MS = 2_000;

/** Three settlements read the same events. One dies, and another one hangs and goes on with events that are settled. */
const deliveredTwice: Fault = {
  name: 'the stream is delivered to three settlements',
  rounds: 10,
  shares: 'crowded',
  plan: async (base) => ({ plan: { ...base, replicas: { ...base.replicas, settlement: 3 } } }),
  async inject({ cluster, dice }) {
    const slot = dice.pick(cluster.of('settlement'));
    const others = cluster.of('settlement').filter((other) => other !== slot);
    for (const other of others) {
      const pid = cluster.processes.pidOf(other);
      process.kill(pid, 'SIGSTOP');
      await moment(dice, MAX_HANG_MS);
      process.kill(pid, 'SIGCONT');
    }
    await cluster.processes.end(slot, 'SIGKILL');
    await moment(dice, 1_500);
    return () => cluster.processes.start(slot);
  },
};

const AWAY_MS = 20_000;
const SHORT_AWAY_MS = 4_000;

/** Settlement is away for a while, and catches up with little memory. */
const lag: Fault = {
  name: 'settlement catches up in 256 MB',
  rounds: 3,
  shares: 'small',
  plan: (base) => settlesInLittleMemory(base),
  async inject({ cluster, isShort, note }) {
    const settlement = cluster.of('settlement')[0]!;
    await cluster.processes.end(settlement, 'SIGKILL');
    await sleep(isShort ? SHORT_AWAY_MS : AWAY_MS);
    return async () => {
      const events = (await engineSequence(cluster.redis))! - (await settledIn(cluster));
      await cluster.processes.start(settlement);
      await cluster.untilSettled();
      note(`${events} events of lag`);
    };
  },
};

/** Processes of two releases serve side by side; each is replaced in order while another one is killed. */
const rollingChange: Fault = {
  name: 'a rolling change between two releases, under kills',
  rounds: 5,
  shortRounds: 1,
  async plan(base) {
    const folder = join(base.folder, 'next-release');
    nextRelease(folder);
    let processes = 0;
    const releaseOf = (): string | undefined => {
      processes += 1;
      return processes % 2 === 0 ? folder : base.release;
    };
    return {
      plan: { ...base, releaseOf },
      close: async () => rmSync(folder, { recursive: true, force: true }),
    };
  },
  async inject({ cluster, dice }) {
    for (const slot of cluster.slots) {
      const others = cluster.of(slot.role).filter((other) => other !== slot);
      const victim = others.length > 0 && dice.chance(0.5) ? dice.pick(others) : undefined;
      await Promise.all([
        cluster.processes.roll(slot),
        victim === undefined
          ? undefined
          : cluster.processes.end(victim, 'SIGKILL').then(() => cluster.processes.start(victim)),
      ]);
    }
  },
};

/** Waits until everything is settled that the engine has now. */
async function untilCaughtUp(cluster: Cluster): Promise<CaughtUp> {
  const last = (await engineSequence(cluster.redis)) ?? 0;
  const pid = cluster.processes.pidOf(cluster.of('settlement')[0]!);
  return catchUp(pid, async () => last - (await settledIn(cluster)), PATIENCE_MS);
}

const settlesInLittleMemory: NonNullable<Fault['plan']> = async (base) => ({
  plan: {
    ...base,
    settingsOf: ({ role }) => (role === 'settlement' ? heapOf(256) : {}),
  },
});

/** As many events as `--bulk` says wait for settlement. */
const largeLag: Fault = {
  name: 'a large lag (--bulk) in 256 MB',
  rounds: 1,
  seconds: 60,
  shares: 'small',
  plan: settlesInLittleMemory,
  async inject({ cluster, bulk, note }) {
    const settlement = cluster.of('settlement')[0]!;
    await cluster.processes.end(settlement, 'SIGKILL');
    await placeBulk(cluster, bulk);
    return async () => {
      await cluster.processes.start(settlement);
      note(caughtUpText(await untilCaughtUp(cluster)));
    };
  },
};

/** The engine is lost and rebuilt with as many live orders as `--bulk` says: each is equal afterwards. */
const largeRebuild: Fault = {
  name: 'a large rebuild (--bulk) while replicas run',
  rounds: 1,
  seconds: 90,
  mayBreak: LOST,
  mayLose: true,
  shares: 'small',
  plan: settlesInLittleMemory,
  async inject(scene) {
    const { cluster, bulk, note, violation } = scene;
    const missing = bulk - (await bulkInBook(cluster)).orders;
    if (missing > 0) await placeBulk(cluster, Math.ceil((missing * 10) / 8));
    await untilCaughtUp(cluster);
    const before = await bulkInBook(cluster);
    await loseEngine(cluster);
    await expectClosed(scene);
    return async () => {
      const begunMs = Date.now();
      await rebuild(scene);
      note(`in ${((Date.now() - begunMs) / 1_000).toFixed(0)} s`);
      const after = await bulkInBook(cluster);
      if (after.digest !== before.digest)
        violation('rebuild', `${before.orders} orders rested before, ${after.orders} others rest now`);
    };
  },
};

export const LOAD: readonly Fault[] = [deliveredTwice, lag, largeLag, largeRebuild, rollingChange];
