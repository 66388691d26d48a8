/** A Redis Cluster for one test alone: three primaries, and a replica of the one that has our keys where asked for. */

import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './ports.ts';
import {
  asReplica,
  type RedisServer,
  type ServerStart,
  startRedisServer,
  untilInStep,
  untilSaid,
} from './redis-server.ts';

interface Node {
  readonly id: string;
  readonly port: number;
  readonly busPort: number;
  /** `first-last`; empty of a replica. */
  readonly slots: string;
}

/** Our keys' slot, 11640, is the second one's: a URL's first node is not the one to talk to. */
const SLOTS = ['0-5460', '10923-16383', '5461-10922'];
const OWNER = 1;

export interface RedisCluster extends RedisServer {
  /** By node, the administrator's; the one that has our keys is the second. */
  readonly nodes: readonly RedisServer[];
  /** Of the node that has our keys; only where it was asked for. */
  readonly replica?: RedisServer;
}

/**
 * The nodes are told of each other by the file that they remember each other in, so that they need not meet; they take
 * two seconds before they serve in any case.
 */
export async function startRedisCluster(
  path: string,
  asked: ServerStart & { readonly replica?: boolean } = {},
): Promise<RedisCluster> {
  const nodes: Node[] = [];
  for (const slots of asked.replica ? [...SLOTS, ''] : SLOTS)
    nodes.push({
      id: randomBytes(20).toString('hex'),
      port: await freePort(),
      busPort: await freePort(),
      slots,
    });
  const servers = await Promise.all(nodes.map((node) => startNode(join(path, node.id), asked, node, nodes)));
  const primaries = servers.slice(0, SLOTS.length);
  const owner = primaries[OWNER]!;
  await Promise.all(primaries.map(untilServing));
  const replica = servers[SLOTS.length];
  if (replica) await untilInStep(replica);
  return {
    url: primaries.map(({ url }) => url.replace(/\/0$/, '')).join(','),
    nodes: primaries,
    ...(replica && { replica }),
    kill: () => owner.kill(),
    async start() {
      await owner.start();
      await untilServing(owner);
    },
    async stop() {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

async function startNode(
  path: string,
  asked: ServerStart,
  node: Node,
  nodes: readonly Node[],
): Promise<RedisServer> {
  mkdirSync(path, { recursive: true });
  writeFileSync(
    join(path, 'nodes.conf'),
    `${nodes.map((other) => lineOf(other, node, nodes)).join('\n')}
vars currentEpoch ${nodes.length} lastVoteEpoch 0
`,
  );
  const settings = [
    'cluster-enabled yes',
    `cluster-port ${node.busPort}`,
    'cluster-replica-no-failover yes',
    ...asReplica,
    ...(asked.settings ?? []),
  ];
  return startRedisServer(path, { ...asked, port: node.port, settings });
}

/** How a node remembers another, or itself. */
function lineOf(other: Node, node: Node, nodes: readonly Node[]): string {
  const { id, port, busPort, slots } = other;
  const role = slots === '' ? 'slave' : 'master';
  const flags = other === node ? `myself,${role}` : role;
  const primary = slots === '' ? nodes[OWNER]!.id : '-';
  const epoch = nodes.indexOf(other) + 1;
  return `${id} 127.0.0.1:${port}@${busPort} ${flags} ${primary} 0 0 ${epoch} connected ${slots}`.trimEnd();
}

async function untilServing({ url }: RedisServer): Promise<void> {
  await untilSaid(url, async (redis) => (await redis.cluster('INFO')).includes('cluster_state:ok'));
}
