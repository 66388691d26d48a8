/** A clock that somebody sets back and ahead between any two readings of it. */

import type { Clock } from '../../src/client/index.ts';
import type { Random } from '../support/seed.ts';
import type { VirtualClock } from './virtual-clock.ts';

const CHANCE = 0.3;
/** Errors of the clock. Without a running time, each one that is set ahead may count as time that has passed. */
const ERRORS_MS = [0, 1_000, 4_000, 60_000, 600_000];
const GREAT_ERRORS_MS = [3_600_000, 9 * 3_600_000];

/**
 * @param clock the true time
 * @param isRunning true if the clock also has a running time that nobody can set
 */
export function setClock(clock: VirtualClock, draw: Random, isRunning: boolean): Clock {
  const errorsMs = isRunning ? [...ERRORS_MS, ...GREAT_ERRORS_MS] : ERRORS_MS;
  let errorMs = 0;
  const startMs = clock.now();
  return {
    now() {
      if (draw.chance(CHANCE)) errorMs = draw.pick(errorsMs) * draw.pick([1, -1]);
      return clock.now() + errorMs;
    },
    sleep: (ms, signal) => clock.sleep(ms, signal),
    ...(isRunning && { running: () => clock.now() - startMs }),
  };
}
