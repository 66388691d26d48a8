/** More work than one process is meant for, and changes of the release. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { engineSequence, moment } from '../cluster.ts';
import { nextRelease } from '../release.ts';
import { type Fault, NOTHING } from './fault.ts';

/** Three settlements read the same events, and one of them dies. */
const deliveredTwice: Fault = {
  name: 'the stream is delivered to three settlements',
  rounds: 10,
  mayBreak: NOTHING,
  shares: 'crowded',
  plan: async (base) => ({ plan: { ...base, replicas: { ...base.replicas, settlement: 3 } } }),
  async inject({ cluster, dice }) {
    const slot = dice.pick(cluster.of('settlement'));
    await moment(dice, 1_500);
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
  mayBreak: NOTHING,
  shares: 'small',
  plan: async (base) => ({
    plan: {
      ...base,
      settingsOf: ({ role }) =>
        role === 'settlement' ? { NODE_OPTIONS: '--max-old-space-size=256' } : ({} as Record<string, string>),
    },
  }),
  async inject({ cluster, isShort, note }) {
    const settlement = cluster.of('settlement')[0]!;
    await cluster.processes.end(settlement, 'SIGKILL');
    await sleep(isShort ? SHORT_AWAY_MS : AWAY_MS);
    return async () => {
      const [cursor] = await cluster.sql<{ sequence: string }>('select sequence from engine_cursor');
      const events = (await engineSequence(cluster.redis))! - Number(cursor!.sequence);
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
  mayBreak: NOTHING,
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
    return async () => undefined;
  },
};

const tooLarge = (name: string, reason: string): Fault => ({
  name,
  rounds: 1,
  mayBreak: NOTHING,
  lacks: () => reason,
  inject: async () => async () => undefined,
});

export const LOAD: readonly Fault[] = [
  deliveredTwice,
  lag,
  rollingChange,
  tooLarge('a million events of lag', 'the clients of a campaign take hours to make them'),
  tooLarge('a rebuild of a million live orders', 'the clients of a campaign take hours to place them'),
];
