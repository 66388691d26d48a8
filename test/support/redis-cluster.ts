/**
 * A Redis Cluster for a single test: three primaries and, on request, a replica of the primary with the engine's keys.
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './ports.ts';
import {
  ADMIN,
  asReplica,
  PASSWORD,
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
  /** `first-last`; empty for a replica. */
  readonly slots: string;
}

/** The second node has the slot of the engine's keys, 11640. So the first node of a URL is the wrong one to use. */
const SLOTS = ['0-5460', '10923-16383', '5461-10922'];
const OWNER = 1;

export interface RedisCluster extends RedisServer {
  /** Administrator's connection by node. The second node has the engine's keys. */
  readonly nodes: readonly RedisServer[];
  /** Replica of the node with the engine's keys, if requested. */
  readonly replica?: RedisServer;
}

/**
 * Starts the nodes with a configuration file that names all of them, so that they need not discover each other. They
 * need two seconds before they serve in any case.
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
    url: `redis+durable://${ADMIN}:${PASSWORD}@${primaries.map(({ url }) => new URL(url).host).join(',')}`,
    nodes: primaries,
    ...(replica && { replica }),
    pid: () => owner.pid(),
    kill: () => owner.kill(),
    end: () => owner.end(),
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

/** Line of a node's configuration file that describes another node, or itself. */
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
