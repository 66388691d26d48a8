/** Servers that hang: they keep their connections, answer nothing, and later run what clients have given up. */

import { setTimeout as sleep } from 'node:timers/promises';
import { familyOf } from '../../../support/proc.ts';
import type { Cluster } from '../cluster.ts';
import type { Fault, Scene } from './fault.ts';

const MIN_MS = 4_000;
const MAX_MS = 12_000;

/** Sends a signal to processes, some of which may have ended by themselves. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // A connection's process of Postgres has ended, or a child of Redis.
    }
  }
}

const hang = (what: string, pidsOf: (cluster: Cluster) => number[], more: Partial<Fault> = {}): Fault => ({
  name: `${what} hangs`,
  rounds: 5,
  shortRounds: 0,
  restEvery: 3,
  seconds: 20,
  ...more,
  async inject({ cluster, dice, isShort }: Scene) {
    const pids = pidsOf(cluster).flatMap(familyOf);
    signal(pids, 'SIGSTOP');
    await sleep(isShort ? MIN_MS : MIN_MS + dice.below(MAX_MS - MIN_MS));
    return async () => signal(pids, 'SIGCONT');
  },
});

const FORGETS = {
  mayBreak: 'request limits and sign-ins of whoever waits for the queue Redis',
  forgetsLimits: true,
} as const;

export const HANGS: readonly Fault[] = [
  hang('the engine Redis', ({ engine }) => [engine.pid()]),
  hang('the queue Redis', ({ queue }) => [queue.pid()], FORGETS),
  hang('Postgres', ({ postgres }) => [postgres.pid()]),
  hang(
    'the whole machine',
    ({ engine, queue, postgres, slots, processes }) => [
      ...[engine, queue, postgres].map((server) => server.pid()),
      ...slots.map(processes.pidOf),
    ],
    FORGETS,
  ),
];
