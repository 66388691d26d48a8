/** Opens the wake-ups of settlement for a process that answers requests. */

import { spansInUse } from '../process/spans.ts';
import { openWakeUps, type WakeUps } from '../queue/index.ts';
import type { Backends } from './backends.ts';
import { queueTrouble } from './outages.ts';

/** Each job names the place in a trace of the request that wakes settlement, if requests are traced. */
export const openTracedWakeUps = (backends: Backends): WakeUps =>
  openWakeUps({
    connection: backends.queueOptions,
    tell: queueTrouble(backends, 'wake-ups'),
    placeHere: spansInUse()?.placeHere,
  });
