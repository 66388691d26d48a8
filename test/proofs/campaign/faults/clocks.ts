/** Clocks that step, of replicas and of the Redis servers, and settings of the engine's Redis that change. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type FakedClock, fakedClock } from '../../../support/faked-clock.ts';
import type { Slot } from '../../drill/processes.ts';
import type { Fault, Scene } from './fault.ts';

/** Processes look at the settings every second. */
const NOTICED_MS = 2_500;

/** No api places an order while a setting could lose it. */
async function expectRefused({ driver, violation }: Scene, setting: string): Promise<void> {
  await sleep(NOTICED_MS);
  for (const port of driver.ports) {
    const order = { market: 'BTC/USDC', side: 'buy', type: 'limit', price: 1_500, size: 0.001 } as const;
    const clientOrderId = `setting ${driver.model.lastIntent}`;
    const { is } = await driver.place(driver.marker, { ...order, clientOrderId }, port);
    if (is === 'ok') violation('settings', `port ${port} placed an order with ${setting}`);
  }
}

/** Name, value of the engine, and a value that may lose orders. */
const CHANGES = [
  ['appendfsync', 'always', 'everysec'],
  ['appendonly', 'yes', 'no'],
  ['maxmemory-policy', 'noeviction', 'allkeys-lru'],
  ['no-appendfsync-on-rewrite', 'no', 'yes'],
] as const;

const changed: Fault = {
  name: 'a setting of the engine Redis changes while it runs',
  rounds: 8,
  shortRounds: 1,
  restEvery: 4,
  async inject(scene) {
    const { redis } = scene.cluster;
    const [name, right, wrong] = CHANGES[(scene.round - 1) % CHANGES.length]!;
    await redis.config('SET', name, wrong);
    await expectRefused(scene, `${name} ${wrong}`);
    return async () => {
      await redis.config('SET', name, right);
    };
  },
};

export const SETTINGS: readonly Fault[] = [changed];

const HOUR_S = 3_600;
const STEP_MS = 1_500;

const clocks = new Map<string, FakedClock>();

export const clocksApart: Fault = {
  name: 'clocks of replicas are an hour apart and step back',
  rounds: 5,
  shortRounds: 1,
  // A session lasts eight hours, so a replica refuses a token that would last for more by its own clock.
  mayBreak:
    'a session at a replica whose clock is over a minute behind that of the replica that signed it (401)',
  endsSessions: true,
  lacks: ({ hasFakedClock }) => (hasFakedClock ? undefined : 'libfaketime cannot be had'),
  async plan(base) {
    clocks.clear();
    for (const [name, hours] of [
      ['api1', 1],
      ['api2', -1],
      ['settlement1', 0.5],
    ] as const) {
      const clock = (await fakedClock())!;
      clock.setAhead(hours * HOUR_S);
      clocks.set(name, clock);
    }
    const settingsOf = ({ name }: Slot): Record<string, string> => ({ ...clocks.get(name)?.environment });
    const close = async (): Promise<void> => {
      for (const clock of clocks.values()) clock.remove();
    };
    return { plan: { ...base, settingsOf }, close };
  },
  async inject({ dice }) {
    const clock = dice.pick([...clocks.values()]);
    const hours = dice.pick([1, -1, 0.5, -0.5]);
    clock.setAhead(hours * HOUR_S);
    await sleep(STEP_MS);
    clock.setAhead((hours - 1) * HOUR_S);
    await sleep(STEP_MS);
  },
};

const serverClocks: FakedClock[] = [];
/** Well below the minute for which a dead-man switch is waited for at rest. */
const STEPS_S = [-20, -7, 7, 20];
const MAX_STEP_MS = 20_000;

export const serverClocksStep: Fault = {
  name: 'clocks of both Redis servers step and come back',
  rounds: 5,
  shortRounds: 0,
  seconds: 40,
  mayBreak:
    'request limits, whose windows go by the clock of the queue Redis; figures of 24 hours, until the clock of the ' +
    'engine has passed its last event',
  forgetsLimits: true,
  stepsEngineClock: true,
  lacks: ({ hasFakedClock }) => (hasFakedClock ? undefined : 'libfaketime cannot be had'),
  async plan(base) {
    const engine = (await fakedClock())!;
    const queue = (await fakedClock())!;
    serverClocks.splice(0, serverClocks.length, engine, queue);
    const close = async (): Promise<void> => {
      for (const clock of [engine, queue]) clock.remove();
    };
    const environments = { engineEnvironment: engine.environment, queueEnvironment: queue.environment };
    return { plan: { ...base, ...environments }, close };
  },
  async inject({ dice, note }) {
    for (const clock of serverClocks) {
      const seconds = dice.pick(STEPS_S);
      note(`${seconds} s`);
      clock.setAhead(seconds);
      await sleep(STEP_MS);
      clock.setAhead(0);
      await sleep(STEP_MS);
    }
    // Times of events never go back, so those of a clock that was ahead are in the future for so long.
    return () => sleep(MAX_STEP_MS);
  },
};
