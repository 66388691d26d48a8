/** All faults, in the order in which a campaign runs them. */

import { clocksApart, SETTINGS, serverClocksStep } from './clocks.ts';
import { DESCRIPTORS } from './descriptors.ts';
import { EVENT_LOSS } from './events.ts';
import type { Fault } from './fault.ts';
import { HANGS } from './hangs.ts';
import { CUSTODY_KILLS, KILLS } from './kills.ts';
import { LOAD } from './load.ts';
import { CONNECTIONS, NETWORK } from './network.ts';
import { longOutage } from './outage.ts';
import { POSTGRES } from './postgres.ts';
import { QUEUE } from './queue.ts';
import { REBUILDS } from './rebuilds.ts';
import { RECOVERY } from './recovery.ts';
import { REFUSALS } from './refusals.ts';
import { RESTORES } from './restores.ts';
import { killAtPoint } from './settlement-points.ts';
import { STORAGE } from './storage.ts';

/** Faults that share a cluster stand together. */
const all: readonly Fault[] = [
  ...KILLS,
  ...CUSTODY_KILLS,
  ...HANGS,
  ...DESCRIPTORS,
  ...REFUSALS,
  ...SETTINGS,
  ...CONNECTIONS,
  ...POSTGRES,
  ...QUEUE,
  ...STORAGE,
  ...RECOVERY,
  ...REBUILDS,
  ...EVENT_LOSS,
  ...RESTORES,
  longOutage,
  killAtPoint,
  ...NETWORK,
  ...LOAD,
  clocksApart,
  serverClocksStep,
];

export const FAULTS: readonly Fault[] = [
  ...all.filter(({ plan }) => plan === undefined),
  ...all.filter(({ plan }) => plan !== undefined),
];
