/** The network between a process and its servers: each process has a proxy of its own. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Role } from '../../drill/processes.ts';
import type { ServerProxy } from '../proxies.ts';
import { type Fault, LIMITS, type OwnPlan, type Scene } from './fault.ts';
import { packetsAreLost } from './packet-loss.ts';

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
  inject: (scene: Scene, proxy: ServerProxy) => Promise<() => Promise<void>>,
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
