/** Processor time that the host of a virtual machine gives to others while programs of the machine want it. */

import { readFileSync } from 'node:fs';

/** Place of the stolen time in the first line of `/proc/stat`; the places after it are parts of earlier ones. */
const STOLEN_AT = 7;

interface ProcessorTimes {
  readonly stolen: number;
  readonly all: number;
}

/** Since the start of the machine; none where the system does not count them. */
function timesNow(): ProcessorTimes {
  if (process.platform !== 'linux') return { stolen: 0, all: 0 };
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const times = line
    .trim()
    .split(/\s+/)
    .slice(1, STOLEN_AT + 2)
    .map(Number);
  return { stolen: times[STOLEN_AT] ?? 0, all: times.reduce((sum, time) => sum + time, 0) };
}

/** @returns a function that returns the share that was stolen since, from 0 to 1 */
export function watchStolenTime(): () => number {
  const before = timesNow();
  return () => {
    const now = timesNow();
    return now.all === before.all ? 0 : (now.stolen - before.stolen) / (now.all - before.all);
  };
}
