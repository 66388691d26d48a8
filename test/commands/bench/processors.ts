/** Reads the processor time of processes from Linux' /proc, and counts their instructions if perf can. */

import { readdirSync, readFileSync } from 'node:fs';
import { countWithPerf, findCounter } from './instructions.ts';

/** Clock ticks per second in /proc, on every Linux that Node supports. */
const HERTZ = 100;
const PARENT = 0;
const OWN_TIMES = [10, 11] as const;
/** Includes the times of children that have ended. */
const ALL_TIMES = [10, 11, 12, 13] as const;

/** Fields of /proc/PID/stat after the state; the name before it may hold spaces. */
const statOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ').slice(1).map(Number);

const ticksOf = (pid: number, times: readonly number[]): number => {
  const stat = statOf(pid);
  return times.reduce((sum, time) => sum + stat[time]!, 0);
};

/** The parent of a process. */
export const parentOf = (pid: number): number => statOf(pid)[PARENT]!;

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return parentOf(pid) === parent;
      } catch {
        return false; // it ended meanwhile
      }
    });
}

/** A process, optionally measured together with its children. */
export interface Watched {
  readonly pid: number;
  readonly withChildren?: boolean;
}

function secondsOf({ pid, withChildren }: Watched): number {
  if (!withChildren) return ticksOf(pid, OWN_TIMES) / HERTZ;
  const children = childrenOf(pid).map((child) => {
    try {
      return ticksOf(child, OWN_TIMES);
    } catch {
      return 0; // ended meanwhile; its parent has its time
    }
  });
  return (ticksOf(pid, ALL_TIMES) + children.reduce((sum, ticks) => sum + ticks, 0)) / HERTZ;
}

export interface Spent {
  readonly seconds: number;
  /** User-space instructions; undefined if perf cannot count. */
  readonly instructions: number | undefined;
}

/** Measures the processor time and instructions of each process while `work` runs. */
export async function measureProcessors<Name extends string, Result>(
  watched: Readonly<Record<Name, Watched>>,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly spent: Readonly<Record<Name, Spent>> }> {
  const processes = Object.entries(watched) as [Name, Watched][];
  const before = processes.map(([, one]) => secondsOf(one));
  let result: Result | undefined;
  let run = async (): Promise<void> => {
    result = await work();
  };
  const instructions = new Map<Name, number>();
  if (findCounter() === 'perf') {
    for (const [name, { pid, withChildren }] of processes) {
      const inner = run;
      const pids = withChildren ? [pid, ...childrenOf(pid)] : [pid];
      run = async () => void instructions.set(name, await countWithPerf(pids, inner));
    }
  }
  await run();
  const spent = processes.map(([name, one], index) => [
    name,
    { seconds: secondsOf(one) - before[index]!, instructions: instructions.get(name) },
  ]);
  return { result: result!, spent: Object.fromEntries(spent) as Record<Name, Spent> };
}
