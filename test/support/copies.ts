/** Redis servers that are copies of one engine, and the parts of the service that use them. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { readConfig, requireFor } from '../../src/config.ts';
import type { CopiesRow } from '../../src/ledger/index.ts';
import { type Backends, openBackends } from '../../src/roles/backends.ts';
import { keepCopies } from '../../src/roles/copies-keeper.ts';
import { createSettlementWorker } from '../../src/workers/settlement.ts';
import { eventually } from './eventually.ts';
import { type Link, openLink } from './link.ts';
import { freePort } from './ports.ts';
import {
  ADMIN,
  asReplica,
  asUser,
  openRedis,
  PASSWORD,
  type RedisServer,
  type ServerStart,
  startRedisServer,
} from './redis-server.ts';
import { freshLedgerDatabase, freshRedis } from './servers.ts';

const SETTLE_EVERY_MS = 50;
const WHOLE_WITHIN_MS = 120_000;

export interface Copies {
  /** Servers by the names that the row gives them. */
  readonly servers: ReadonlyMap<string, RedisServer>;
  /** The ways to the servers by the same names: all clients, keepers and copies take them. */
  readonly links: ReadonlyMap<string, Link>;
  /** The administrator's URL of all. */
  readonly url: string;
  /** Folder of the data of a server. */
  folderOf(name: string): string;
  stop(): Promise<void>;
}

/** Ports of a server and of the way to it. */
export interface CopyPorts {
  readonly server: number;
  readonly link: number;
}

export async function freeCopyPorts(count = 3): Promise<CopyPorts[]> {
  const ports: CopyPorts[] = [];
  while (ports.length < count) ports.push({ server: await freePort(), link: await freePort() });
  return ports;
}

interface CopiesStart {
  /** Folder and ports of an earlier run; the folder stays then. */
  readonly given?: { readonly folder: string; readonly ports: readonly CopyPorts[] };
  /** Further ways to start each server, by its number; by default none. */
  readonly more?: (at: number) => ServerStart;
  /** Files by which the servers speak TLS with everybody. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
}

/** Starts servers like those of an operator: as replicas of nobody, until keepers tell them what they are. */
export async function startCopies({ given, more = () => ({}), tls }: CopiesStart = {}): Promise<Copies> {
  const folder = given?.folder ?? mkdtempSync(join(tmpdir(), 'redbook-copies-'));
  const settings = [...asReplica, 'replicaof 127.0.0.1 1', 'repl-ping-replica-period 1'];
  const servers = new Map<string, RedisServer>();
  const links = new Map<string, Link>();
  for (const [at, ports] of (given?.ports ?? (await freeCopyPorts())).entries()) {
    const securePort = tls && (await freePort());
    const link = await openLink(`redis://127.0.0.1:${securePort ?? ports.server}`, ports.link);
    const name = new URL(link.url).host;
    const own = [...settings, `replica-announce-port ${ports.link}`];
    if (tls)
      own.push(
        `tls-port ${securePort}`,
        'tls-replication yes',
        'tls-auth-clients no',
        `tls-cert-file ${tls.certificate}`,
        `tls-ca-cert-file ${tls.certificate}`,
        `tls-key-file ${tls.key}`,
      );
    const asked = { ...more(at), port: ports.server, settings: own };
    servers.set(name, await startRedisServer(folderOf(folder, at), asked));
    links.set(name, link);
  }
  return {
    servers,
    links,
    url: `redis${tls ? 's' : ''}+copies://${ADMIN}:${PASSWORD}@${[...servers.keys()].join(',')}`,
    folderOf: (name) => folderOf(folder, [...servers.keys()].indexOf(name)),
    async stop() {
      for (const link of links.values()) link.close();
      await Promise.all([...servers.values()].map((server) => server.kill()));
      if (given === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

const folderOf = (folder: string, at: number): string => join(folder, `copy-${at}`);

/** Runs `work` with an administrator's connection to a server, past the way that all others take. */
export async function asAdmin<T>({ url }: RedisServer, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = openRedis(url);
  redis.on('error', () => undefined); // each command fails with the error
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** Keepers, and copies unless told otherwise, no longer reach a server, while all others do. @returns what undoes it */
export async function hideFromKeepers(
  server: RedisServer,
  users: readonly ('replica' | 'engine-settlement')[] = ['replica', 'engine-settlement'],
): Promise<() => Promise<void>> {
  const switchTo = (state: 'on' | 'off') =>
    asAdmin(server, async (redis) => {
      for (const user of users) await redis.call('ACL', 'SETUSER', user, state);
      if (state === 'on') return;
      for (const user of users) await redis.call('CLIENT', 'KILL', 'USER', user);
    });
  await switchTo('off');
  return () => switchTo('on');
}

/** No copy gets anything from a server any more, until it is started again. */
export const cutReplication = (server: RedisServer): Promise<void> =>
  asAdmin(server, async (redis) => {
    await redis.call('ACL', 'SETUSER', 'replica', 'off');
    await redis.call('CLIENT', 'KILL', 'TYPE', 'replica');
  });

/** A copy gets nothing from any server any more, and all others reach it. @returns what undoes it */
export async function cutOff(copy: RedisServer): Promise<() => Promise<void>> {
  const sayPassword = (password: string) =>
    asAdmin(copy, async (redis) => {
      await redis.config('SET', 'masterauth', password);
      await redis.call('CLIENT', 'KILL', 'TYPE', 'master');
    });
  await sayPassword(`not ${PASSWORD}`);
  return () => sayPassword(PASSWORD);
}

export interface CopiesStage {
  readonly copies: Copies;
  readonly databaseUrl: string;
  /** Two processes that take orders. */
  readonly apis: readonly Backends[];
  /** The process that settles, and one that waits to do so. */
  readonly settling: readonly Backends[];
  /** Warnings and errors that processes told, with their fields. */
  readonly told: readonly string[];
  row(): Promise<CopiesRow>;
  /** Waits until all servers are members, and every process may trade. */
  whole(): Promise<void>;
  /** Opens the parts of one more process, which the caller closes. */
  open(role: string): Backends;
  /** Ends all processes, and starts them with other settings. */
  restart(plan: ProcessPlan): Promise<void>;
  stop(): Promise<void>;
}

interface ProcessPlan {
  /** All copies unless given. */
  readonly redisUrl?: string;
  readonly minCopies?: number;
  /** False where settlement runs alone. */
  readonly takesOrders?: boolean;
}

type Open = (role: string) => Backends;

/** Opens the parts of processes, and settles as the first one of them. */
function startProcesses(open: Open, takesOrders: boolean) {
  const apis = takesOrders ? [open('all'), open('all')] : [];
  const settling = [open('settlement'), open('settlement')] as const;
  const keepers = settling.map(keepCopies);
  const [{ engine, ledger, logger }] = settling;
  const worker = createSettlementWorker({ engine, ledger: ledger.settlement, log: logger });
  let isStopped = false;
  const settles = (async () => {
    while (!isStopped) {
      if (engine.lifecycle.isOpen()) await worker.run().catch(() => undefined);
      await sleep(SETTLE_EVERY_MS);
    }
  })();
  return {
    apis,
    settling,
    async stop() {
      isStopped = true;
      await settles;
      await Promise.all(keepers.map((keeper) => keeper?.stop()));
      await Promise.all([...apis, ...settling].map((one) => one.close()));
    },
  };
}

/** Starts copies, two processes that take orders, one that settles, and two keepers. */
export async function openCopiesStage(asked: CopiesStart = {}): Promise<CopiesStage> {
  const [copies, queueUrl, databaseUrl] = [
    await startCopies(asked),
    await freshRedis(),
    await freshLedgerDatabase(),
  ];
  const told: string[] = [];
  const tell = (line: string): void => void told.push(line);
  const open = (role: string, { redisUrl = copies.url, minCopies = 2 }: ProcessPlan = {}): Backends => {
    const config = readConfig({
      REDIS_URL: asUser(`engine-${role}`, redisUrl),
      QUEUE_REDIS_URL: asUser(`queue-${role}`, queueUrl),
      DATABASE_URL: databaseUrl,
      ...(asked.tls && { REDIS_CA_FILE: asked.tls.certificate }),
      CLAIM_FILTER_BYTES: String(64 * 1024),
      ENGINE_LEAST_COPIES: String(minCopies),
      ENGINE_DOWN_AFTER_MS: '2500',
      ENGINE_COPY_LATE_MS: '3000',
    });
    return openBackends(role, requireFor('settlement', config), pino({ level: 'warn' }, { write: tell }));
  };
  const start = (plan: ProcessPlan) => startProcesses((role) => open(role, plan), plan.takesOrders ?? true);
  let running = start({});
  const row = async (): Promise<CopiesRow> => (await running.settling[0].ledger.copies.read())!;
  return {
    copies,
    databaseUrl,
    told,
    get apis() {
      return running.apis;
    },
    get settling() {
      return running.settling;
    },
    row,
    open,
    async whole() {
      const isWhole = async (): Promise<boolean> =>
        (await row()).members.length === copies.servers.size &&
        [...running.apis, ...running.settling].every((one) => one.engineState() === 'ok');
      await eventually('all are copies, and every process may trade', isWhole, WHOLE_WITHIN_MS);
    },
    async restart(plan) {
      await running.stop();
      running = start(plan);
    },
    async stop() {
      await running.stop();
      await copies.stop();
    },
  };
}
