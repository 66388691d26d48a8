/** Finds out which faults this machine can inject, and how much of its processors others take meanwhile. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fakedClock } from '../../support/faked-clock.ts';
import type { Machine } from './faults/fault.ts';
import { lossOf } from './faults/network.ts';

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

const PAUSE_MS = 250;

/** Much like the work of a server: its speed changes with that of Redis, Postgres and the service. */
const TEXT = JSON.stringify(
  Array.from({ length: 600 }, (_, index) => ({
    id: `order ${index}`,
    price: index * 7,
    fills: [index, index + 1],
    reference: 'x'.repeat(index % 20),
  })),
);

/** Processor time of this process, in milliseconds. It leaves out the waits for a processor. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Works for half a millisecond, four times a second. @returns a function that ends it and returns the mean of its times */
export function watchProcessorSpeed(): () => number {
  const work = { timesMs: 0, count: 0, isEnded: false };
  const watch = async (): Promise<void> => {
    // The first times are those of a program that Node has not compiled yet.
    for (let warm = 0; warm < 50; warm += 1) JSON.parse(TEXT);
    for (; !work.isEnded; await sleep(PAUSE_MS)) {
      const begunMs = processorMs();
      JSON.parse(TEXT);
      work.timesMs += processorMs() - begunMs;
      work.count += 1;
    }
  };
  void watch();
  return () => {
    work.isEnded = true;
    return work.timesMs / work.count;
  };
}

export async function lookAtMachine(): Promise<Machine> {
  const isRoot = process.getuid?.() === 0;
  const clock = await fakedClock();
  clock?.remove();
  return {
    isRoot,
    hasNftables: isRoot && canDropPackets(),
    hasTmpfs: isRoot && canMount(),
    hasFakedClock: clock !== undefined,
  };
}

/** In a network namespace of its own, so that nobody else's packets are touched. */
const canDropPackets = (): boolean =>
  succeeds('unshare', ['--net', 'nft', `table inet redbook { ${lossOf(1, [1])} }`]);

const canMount = (): boolean =>
  succeeds('unshare', ['--mount', 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', '/mnt']);

const succeeds = (command: string, args: readonly string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;
