/** Words of the scheduler and of its plots. */

import type { Random } from '../../support/seed.ts';
import type { Clients } from './clients.ts';
import type { Decision } from './decisions.ts';
import type { Flavour } from './flavour.ts';
import type { Processes } from './processes.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { World } from './world.ts';

/** Weight of a process that runs while all others hardly do. */
export const QUICK = 30;
/** Weight of a process that hardly runs. */
export const SLOW = 0.01;

/** Weighed like processes: the beginning of requests, and minutes that pass. */
export const [REQUESTS, MINUTES] = ['requests', 'minutes'];

export type Weights = ReadonlyMap<string, number>;

/** Makes a decision possible. A weight of 0 adds nothing. */
export type Add = (weight: number, ...decision: Decision) => void;

export interface SchedulerParts {
  readonly world: World;
  readonly dice: Random;
  readonly flavour: Flavour;
  readonly time: VirtualTime;
  readonly processes: Processes;
  readonly clients: Clients;
}
