/** Finds out which faults this machine can inject. */

import { spawnSync } from 'node:child_process';
import { fakedClock } from '../../support/faked-clock.ts';
import type { Machine } from './faults/fault.ts';
import { lossOf } from './faults/packet-loss.ts';

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
