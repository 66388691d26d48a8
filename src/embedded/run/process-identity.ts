/** Distinguishes a process from a later one with the same number, which is common in containers. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { serverEnvironment } from '../obtain/server-environment.mjs';

export interface ProcessIdentity {
  readonly pid: number;
  /** Time of birth in the system's own format; only compared, never interpreted. */
  readonly born: string;
}

/** @returns undefined when there is no such process, or only a zombie */
export function identify(pid: number): ProcessIdentity | undefined {
  const born = process.platform === 'linux' ? bornOnLinux(pid) : bornElsewhere(pid);
  return born === undefined ? undefined : { pid, born };
}

export const isAlive = (identity: ProcessIdentity): boolean => identify(identity.pid)?.born === identity.born;

function bornOnLinux(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const state = fields[0];
    const startTicks = fields[19];
    if (state === 'Z' || state === 'X') return undefined;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${startTicks}`;
  } catch {
    return undefined;
  }
}

function bornElsewhere(pid: number): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: serverEnvironment(),
  });
  return stdout?.trim() || undefined;
}
