/** Processes and servers killed under load. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Role, Slot } from '../../drill/processes.ts';
import { type ClusterPlan, moment } from '../cluster.ts';
import { type Fault, type OwnPlan, QUEUE_FORGETS, type Scene } from './fault.ts';

const MAX_MOMENT_MS = 700;

/** Each process of the role that dies leaves requests behind; its successor has its port. */
const killOf = (role: Role, rounds: number): Fault => ({
  name: `kill ${role}`,
  rounds,
  restEvery: 10,
  async inject({ cluster, dice }) {
    const slot = dice.pick(cluster.of(role));
    await moment(dice, MAX_MOMENT_MS);
    await cluster.processes.end(slot, 'SIGKILL');
    return () => cluster.processes.start(slot);
  },
});

const killAll: Fault = {
  name: 'kill all processes',
  rounds: 10,
  shortRounds: 1,
  async inject({ cluster, dice }) {
    await moment(dice, MAX_MOMENT_MS);
    await Promise.all(cluster.slots.map((slot) => cluster.processes.end(slot, 'SIGKILL')));
    return async () => {
      await Promise.all(cluster.slots.map(cluster.processes.start));
    };
  },
};

/** The servers come back in an order that the dice choose, beside the processes that wait for them. */
async function startAll({ cluster, dice }: Scene): Promise<void> {
  const { engine, queue, postgres, slots, processes } = cluster;
  const servers = [engine, queue, postgres];
  const first = dice.below(servers.length);
  const processesStarted = Promise.all(slots.map(processes.start));
  for (let turn = 0; turn < servers.length; turn += 1)
    await servers[(first + turn) % servers.length]!.start();
  await processesStarted;
}

const powerCut: Fault = {
  name: 'power cut: all processes and servers are killed',
  rounds: 20,
  shortRounds: 1,
  restEvery: 3,
  seconds: 20,
  mayBreak: QUEUE_FORGETS,
  forgetsLimits: true,
  async inject(scene) {
    const { engine, queue, postgres, slots, processes } = scene.cluster;
    await moment(scene.dice, MAX_MOMENT_MS);
    await Promise.all([
      ...slots.map((slot) => processes.end(slot, 'SIGKILL')),
      ...[engine, queue, postgres].map((server) => server.kill()),
    ]);
    return () => startAll(scene);
  },
};

/** Longest time that a process takes to stop while its servers stop. */
const MAX_GRACE_MS = 30_000;

const toldToStop: Fault = {
  name: 'all processes and servers are told to stop at once',
  rounds: 10,
  shortRounds: 0,
  restEvery: 3,
  seconds: 25,
  mayBreak: QUEUE_FORGETS,
  forgetsLimits: true,
  async inject(scene) {
    const { engine, queue, postgres, slots, processes } = scene.cluster;
    await moment(scene.dice, MAX_MOMENT_MS);
    const [exits] = await Promise.all([
      Promise.all(slots.map((slot) => processes.end(slot, 'SIGTERM'))),
      ...[engine, queue, postgres].map((server) => server.end()),
    ]);
    for (const { name, code, graceMs } of exits)
      if (code !== 0 || graceMs > MAX_GRACE_MS)
        scene.violation('stop', `${name} ended with ${code} after ${Math.round(graceMs)} ms`);
    return () => startAll(scene);
  },
};

const killServer = (
  name: string,
  server: 'engine' | 'queue' | 'postgres',
  rounds: number,
  own: Pick<Fault, 'mayBreak' | 'forgetsLimits'> = {},
): Fault => ({
  name,
  rounds,
  restEvery: 5,
  ...own,
  async inject({ cluster, dice }) {
    await moment(dice, MAX_MOMENT_MS);
    await cluster[server].kill();
    await moment(dice, MAX_MOMENT_MS);
    return () => cluster[server].start();
  },
});

const SHORT_LIVES = 6;

/** It is killed while replicas open the engine, and while they ask in vain. */
const killEngineAgain: Fault = {
  name: 'the engine Redis is killed again and again',
  rounds: 10,
  shortRounds: 0,
  restEvery: 3,
  async inject({ cluster, dice }) {
    for (let lives = 0; lives < SHORT_LIVES; lives += 1) {
      await cluster.engine.kill();
      await moment(dice, MAX_MOMENT_MS / 2);
      await cluster.engine.start();
      await moment(dice, MAX_MOMENT_MS);
    }
  },
};

const killEngineAndApi: Fault = {
  name: 'kill the engine Redis and an api',
  rounds: 20,
  restEvery: 5,
  async inject({ cluster, dice }) {
    const slot = dice.pick(cluster.of('api'));
    await moment(dice, MAX_MOMENT_MS);
    await Promise.all([cluster.engine.kill(), cluster.processes.end(slot, 'SIGKILL')]);
    return async () => {
      await cluster.engine.start();
      await cluster.processes.start(slot);
    };
  },
};

/** SIGSTOP: it hangs, keeps its connections and locks, and goes on later where it was. */
const hang = (what: string, role: Role, minMs: number): Fault => ({
  name: `${what} hangs`,
  rounds: 10,
  async inject({ cluster, dice }) {
    const pid = cluster.processes.pidOf(dice.pick(cluster.of(role)));
    process.kill(pid, 'SIGSTOP');
    await sleep(minMs + dice.below(HANG_MS));
    return async () => {
      process.kill(pid, 'SIGCONT');
    };
  },
});

const HANG_MS = 3_500;

export const KILLS: readonly Fault[] = [
  killOf('api', 200),
  killOf('settlement', 40),
  killOf('snapshot', 20),
  killOf('stream', 20),
  killAll,
  powerCut,
  toldToStop,
  killServer('kill the engine Redis', 'engine', 50),
  killEngineAgain,
  killEngineAndApi,
  killServer('kill the queue Redis', 'queue', 20, { mayBreak: QUEUE_FORGETS, forgetsLimits: true }),
  killServer('kill Postgres', 'postgres', 45),
  hang('settlement', 'settlement', 0),
  hang('an api', 'api', 1_000),
];

/** A custody system books at two replicas of operator-api, of which a cluster has none otherwise. */
const withCustody = async (base: ClusterPlan): Promise<OwnPlan> => ({
  plan: { ...base, replicas: { stream: 1, ...base.replicas, 'operator-api': 2 } },
});

const killOperatorApis: Fault = {
  name: 'kill both operator-apis',
  rounds: 10,
  restEvery: 5,
  async inject({ cluster, dice }) {
    const slots = cluster.of('operator-api');
    const end = async (slot: Slot): Promise<void> => {
      await moment(dice, MAX_MOMENT_MS);
      await cluster.processes.end(slot, 'SIGKILL');
    };
    await Promise.all(slots.map(end));
    return async () => {
      await Promise.all(slots.map(cluster.processes.start));
    };
  },
};

/** A process or server dies while one of the replicas is away. */
const killOperatorApiAnd = (name: string, other: Fault): Fault => ({
  name: `kill an operator-api and ${name}`,
  rounds: 10,
  restEvery: 5,
  async inject(scene) {
    const heals = await Promise.all([killOf('operator-api', 1), other].map(({ inject }) => inject(scene)));
    return async () => {
      await Promise.all(heals.map((heal) => heal?.()));
    };
  },
});

export const CUSTODY_KILLS: readonly Fault[] = [
  killOf('operator-api', 40),
  killOperatorApis,
  killOperatorApiAnd('settlement', killOf('settlement', 1)),
  killOperatorApiAnd('the engine Redis', killServer('', 'engine', 1)),
  killOperatorApiAnd('Postgres', killServer('', 'postgres', 1)),
].map((fault) => ({ ...fault, name: `custody: ${fault.name}`, plan: withCustody, shares: 'custody' }));
