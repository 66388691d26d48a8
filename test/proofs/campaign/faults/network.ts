/** The network between a process and its servers: proxies, lost packets, and connections that the servers close. */

import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { openRedis, PASSWORD } from '../../../support/redis-server.ts';
import type { Role } from '../../drill/processes.ts';
import type { Cluster } from '../cluster.ts';
import type { ServerProxy } from '../proxies.ts';
import { type Fault, type Injected, LIMITS, type OwnPlan, type Scene } from './fault.ts';

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

const packetsAreLost: Fault = {
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

const onConnections = (
  name: string,
  inject: (scene: Scene) => Injected,
  more: Partial<Fault> = {},
): Fault => ({
  name,
  rounds: 8,
  shortRounds: 0,
  restEvery: 4,
  mayBreak: LIMITS,
  forgetsLimits: true,
  inject,
  ...more,
});

/** Ends all connections of the kind but the administrator's own. */
export const endConnections = (redis: Redis, type: 'normal' | 'pubsub'): Promise<unknown> =>
  redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');

const STORM_MS = 4_000;
const BETWEEN_ENDS_MS = 100;

const storm = onConnections('both Redis servers end connections again and again', async ({ cluster }) => {
  const servers = [openRedis(cluster.engine.url), openRedis(cluster.queue.url)];
  for (const endMs = Date.now() + STORM_MS; Date.now() < endMs; await sleep(BETWEEN_ENDS_MS))
    for (const redis of servers)
      for (const type of ['normal', 'pubsub'] as const) await endConnections(redis, type);
  for (const redis of servers) redis.disconnect();
});

const PAUSED_MS = 6_000;

/** Which server holds up which commands. The commands run afterwards, when their clients have given them up. */
const PAUSES = [
  ['engine', 'ALL'],
  ['engine', 'WRITE'],
  ['queue', 'ALL'],
  ['queue', 'WRITE'],
] as const;

const paused = onConnections('a Redis server holds up commands (CLIENT PAUSE)', async (scene) => {
  const { cluster, round, note } = scene;
  const [server, commands] = PAUSES[(round - 1) % PAUSES.length]!;
  note(`${server}: ${commands}`);
  const redis = server === 'engine' ? cluster.redis : cluster.queueRedis;
  await redis.call('CLIENT', 'PAUSE', String(PAUSED_MS), commands);
  await sleep(PAUSED_MS);
});

const ROLES = ['api', 'settlement', 'snapshot', 'stream'];
const REFUSED_MS = 2_500;

async function setPasswords({ redis, queueRedis }: Cluster, password: string): Promise<void> {
  for (const role of ROLES) {
    await redis.call('ACL', 'SETUSER', `engine-${role}`, 'resetpass', `>${password}`);
    await queueRedis.call('ACL', 'SETUSER', `queue-${role}`, 'resetpass', `>${password}`);
  }
}

const passwords = onConnections(
  'the passwords of the Redis users change',
  async ({ cluster }) => {
    const { redis, queueRedis } = cluster;
    await setPasswords(cluster, 'another');
    for (const server of [redis, queueRedis]) await endConnections(server, 'normal');
    await sleep(REFUSED_MS);
    return () => setPasswords(cluster, PASSWORD);
  },
  { rounds: 6, restEvery: 3 },
);

export const CONNECTIONS: readonly Fault[] = [storm, paused, passwords];

const SERVERS = ['engine', 'queue', 'postgres'] as const;

const proxied: NonNullable<Fault['plan']> = async (base): Promise<OwnPlan> => ({
  plan: { ...base, folder: base.folder, isProxied: true },
});

/** Roles in turn, so that few rounds reach those that matter most. */
const TARGETS: readonly Role[] = ['api', 'settlement', 'api', 'snapshot', 'api', 'stream'];

const someProxy = ({ cluster, dice, round }: Scene): ServerProxy =>
  cluster.proxies.get(dice.pick(cluster.of(TARGETS[(round - 1) % TARGETS.length]!)))!;

/** Servers in turn. Each role meets another one when the roles begin anew. */
const serverOf = ({ round }: Scene): (typeof SERVERS)[number] =>
  SERVERS[(round - 1 + Math.floor((round - 1) / TARGETS.length)) % SERVERS.length]!;

/** The faults share one cluster with proxies: it is started for the first of them. */
const onLinks = (
  name: string,
  rounds: number,
  inject: (scene: Scene, proxy: ServerProxy) => Injected,
): Fault => ({
  name,
  rounds,
  mayBreak: LIMITS,
  forgetsLimits: true,
  plan: proxied,
  restEvery: 2,
  shares: 'proxied',
  inject: (scene) => inject(scene, someProxy(scene)),
});

const PARTITION_MS = 4_000;

const ANSWERS_WITHIN_MS = 3_000;

const partition: Fault = {
  ...onLinks('partition: the proxy of a process stops', 20, async ({ dice }, proxy) => {
    proxy.signal('SIGSTOP');
    await sleep(500 + dice.below(PARTITION_MS));
    return async () => proxy.signal('SIGCONT');
  }),
  answersWithinMs: ANSWERS_WITHIN_MS,
};

const LAME_MS = 2_000;

/** One server of one process, for some seconds. */
const lame = (
  name: string,
  doTo: (proxy: ServerProxy, server: string, scene: Scene) => Promise<void>,
): Fault =>
  onLinks(name, 20, async (scene, proxy) => {
    const server = serverOf(scene);
    await doTo(proxy, server, scene);
    await sleep(LAME_MS);
    return () => proxy.do('mend');
  });

const MAX_DELAY_MS = 120;
const MAX_BYTES = 60_000;

export const NETWORK: readonly Fault[] = [
  partition,
  lame('a server is cut off from a process', (proxy, server) => proxy.do('cut', server)),
  lame('a server hangs for a process', (proxy, server) => proxy.do('stall', server)),
  lame('replies of a server are lost', (proxy, server) => proxy.do('mute', server)),
  lame('replies are slow', (proxy, server, { dice }) =>
    proxy.limp(server, {
      delayMs: 1 + dice.below(MAX_DELAY_MS),
      cutAfterBytes: Number.MAX_SAFE_INTEGER,
    }),
  ),
  lame('connections break at random bytes', (proxy, server, { dice }) =>
    proxy.limp(server, { delayMs: 1, cutAfterBytes: 1 + dice.below(MAX_BYTES) }),
  ),
  packetsAreLost,
];
