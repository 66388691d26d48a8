/** Replicas whose clocks are an hour apart, and step back. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type FakedClock, fakedClock } from '../../../support/faked-clock.ts';
import type { Slot } from '../../drill/processes.ts';
import type { Fault } from './fault.ts';

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
    return async () => undefined;
  },
};
