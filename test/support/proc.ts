/** Reads processor time, memory and parents of processes from Linux' /proc. */

import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks per second in /proc, on every Linux that Node supports. */
const HERTZ = 100;
const PARENT = 0;
const OWN_TIMES = [10, 11] as const;
const TIMES_OF_ENDED_CHILDREN = [12, 13] as const;

/** Fields of /proc/PID/stat after the name, which may hold spaces. */
const fieldsOf = (pid: number | 'self'): string[] =>
  readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ');

/** Fields after the state. */
const statOf = (pid: number | 'self'): number[] => fieldsOf(pid).slice(1).map(Number);

/** True once a process that got a SIGSTOP runs no more. */
export const isStopped = (pid: number): boolean => fieldsOf(pid)[0] === 'T';

const secondsIn = (pid: number | 'self', times: readonly number[]): number => {
  const stat = statOf(pid);
  return times.reduce((sum, time) => sum + stat[time]!, 0) / HERTZ;
};

/** The parent of a process. */
export const parentOf = (pid: number): number => statOf(pid)[PARENT]!;

export function childrenOf(parent: number): number[] {
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

/** The process and all its descendants. */
export function familyOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(familyOf)];
}

export const ownSeconds = (pid: number): number => secondsIn(pid, OWN_TIMES);

const NANOS = 1e9;

/** Seconds that the main thread of a process ran, and that it was ready and waited for a processor. */
export function mainThreadSeconds(pid: number): { readonly ran: number; readonly waited: number } {
  const [ran, waited] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ').map(Number);
  return { ran: ran! / NANOS, waited: waited! / NANOS };
}

export const endedChildrenSeconds = (pid: number | 'self'): number => secondsIn(pid, TIMES_OF_ENDED_CHILDREN);

/** Seconds of processor time of a process and of all its children, which run or have ended. */
export function familySeconds(pid: number): number {
  const children = childrenOf(pid).map((child) => {
    try {
      return ownSeconds(child);
    } catch {
      return 0; // ended meanwhile; its parent has its time
    }
  });
  return children.reduce((sum, seconds) => sum + seconds, ownSeconds(pid) + endedChildrenSeconds(pid));
}

/** Maximum resident memory of a process so far. */
export const peakBytesOf = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
