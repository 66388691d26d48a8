/** Packets between all processes of the cluster, its servers and its clients are lost: TCP sends them again. */

import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../cluster.ts';
import { type Fault, LIMITS } from './fault.ts';

const LOSSY_MS = 4_000;
const PERCENT_LOST = [1, 2, 5, 10] as const;

const nft = (rules: string): string => execFileSync('nft', [rules], { encoding: 'utf8' });

/** Ports of the servers and of the processes. */
const portsOf = ({ engine, queue, postgres, slots }: Cluster): number[] => [
  ...[engine, queue, postgres].map(({ url }) => Number(new URL(url).port)),
  ...slots.map(({ port }) => port),
];

/**
 * Drops arriving packets, in both directions. A packet that is dropped where it leaves would be an error of its sender.
 * Packets of other programs on the same interface stay.
 */
export const lossOf = (percent: number, ports: readonly number[]): string => {
  const one = `numgen random mod 100 < ${percent} counter drop`;
  const ends = ['sport', 'dport'].map((end) => `tcp ${end} { ${ports.join(', ')} } ${one};`);
  return `chain arriving { type filter hook input priority 0; ${ends.join(' ')} };`;
};

export const packetsAreLost: Fault = {
  name: 'packets are lost (nftables)',
  rounds: 20,
  restEvery: 2,
  mayBreak: LIMITS,
  forgetsLimits: true,
  lacks: ({ isRoot, hasNftables }) =>
    hasNftables ? undefined : isRoot ? 'nft cannot drop packets here' : 'needs root and nftables',
  async inject({ cluster, round, note }) {
    const percent = PERCENT_LOST[(round - 1) % PERCENT_LOST.length]!;
    const table = `inet redbook_campaign_${process.pid}`;
    const remove = (): string => nft(`delete table ${table}`);
    nft(`table ${table} { ${lossOf(percent, portsOf(cluster))} }`);
    process.once('exit', remove);
    await sleep(LOSSY_MS);
    return async () => {
      const counters = nft(`list table ${table}`).matchAll(/packets (\d+)/g);
      note(`${percent} %: ${[...counters].reduce((sum, [, packets]) => sum + Number(packets), 0)} packets`);
      process.off('exit', remove);
      remove();
    };
  },
};
