/** The service as an operator runs it: real servers and a process of each role, which faults may treat as they like. */

import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { rankOfPrimary } from '../../../src/engine/index.ts';
import { serverOptions } from '../../../src/redis/connections.ts';
import { type Copies, type CopyPorts, freeCopyPorts, startCopies } from '../../support/copies.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/ports.ts';
import {
  type InstalledPostgres,
  type PostgresServer,
  startPostgresServer,
} from '../../support/postgres-server.ts';
import { type RedisServer, startRedisServer } from '../../support/redis-server.ts';
import { launchService, operate } from '../../support/service.ts';
import {
  openProcesses,
  type Processes,
  type Replicas,
  type Role,
  type Slot,
  slotsFor,
} from '../drill/processes.ts';
import { type ServerProxy, startProxy } from './proxies.ts';

/** Failures are expected of a machine that runs much else: no figure depends on this patience. */
export const PATIENCE_MS = 120_000;
/** As docs/operating.md asks of an exchange. The default of Postgres is for a small machine. */
const POSTGRES_SETTINGS = { shared_buffers: '256MB' };
/** Milliseconds after which keepers act. They are shorter than usual, so that a campaign has more rounds. */
const IMPATIENT = { ENGINE_DOWN_AFTER_MS: '2500', ENGINE_COPY_LATE_MS: '3000' };
/** Time after which a connection of the campaign is opened anew. */
const SILENT_MS = 5_000;
const REPLICAS: Replicas = { api: 2, stream: 2, settlement: 1, snapshot: 1 };

export interface ClusterPlan {
  /** Folder of its data, which may be that of a run that ended. */
  readonly folder: string;
  /** Each process reaches its servers through a proxy of its own. */
  readonly isProxied?: boolean;
  /** Folder of the sources that the processes run, this checkout unless given. */
  readonly release?: string;
  /** The same for the next process in a slot. */
  readonly releaseOf?: (slot: Slot) => string | undefined;
  readonly replicas?: Replicas | undefined;
  /** Further environment of all processes. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Lines of the configuration of the engine's Redis. */
  readonly engineSettings?: readonly string[];
  /** Further environment of the two Redis servers. */
  readonly engineEnvironment?: Readonly<Record<string, string>>;
  readonly queueEnvironment?: Readonly<Record<string, string>>;
  /** Environment of the process in a slot, over all others. */
  readonly settingsOf?: (slot: Slot) => Readonly<Record<string, string>>;
  /** True for an engine with three copies. */
  readonly hasCopies?: boolean;
  /** Folder of the servers' data, where it is not below `folder`: a file system of its own. */
  readonly engineFolder?: string;
  readonly postgresFolder?: string;
  /** A Postgres with tools for backups, in place of the package's. */
  readonly installedPostgres?: InstalledPostgres;
}

export interface Cluster {
  readonly plan: ClusterPlan;
  /** Environment of the operator's commands, which reach the servers without a proxy. */
  readonly settings: Readonly<Record<string, string>>;
  /** All copies together, where the engine has copies. */
  readonly engine: RedisServer;
  /** Undefined where the engine is one server. */
  readonly copies: Copies | undefined;
  readonly queue: RedisServer;
  readonly postgres: PostgresServer;
  readonly engineFolder: string;
  readonly postgresFolder: string;
  readonly slots: readonly Slot[];
  readonly processes: Processes;
  readonly proxies: ReadonlyMap<Slot, ServerProxy>;
  /** Administrator's connection to the engine's Redis. */
  readonly redis: Redis;
  readonly queueRedis: Redis;
  of(role: Role): Slot[];
  sql<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  operate(...command: string[]): Promise<unknown>;
  /** Waits until Postgres has every event of the engine. */
  untilSettled(): Promise<void>;
  /** Waits until all copies count and each process says that it is ready. A settlement that stopped for good is not waited for. */
  untilReady(): Promise<void>;
  /** True when a settlement found that engine and ledger contradict each other: it stopped for good. */
  hasDiverged(): Promise<boolean>;
  /** @param keepsData whether the servers are killed and their files left as they are */
  stop(keepsData?: boolean): Promise<void>;
}

const STATE_SEQUENCE_AT = 2;

/** The sequence of the last event that the engine has; undefined while it has no state. */
export async function engineSequence(redis: Redis): Promise<number | undefined> {
  const state = await redis.hgetBuffer('{redbook}:engine', 'state');
  return state?.readUIntBE(STATE_SEQUENCE_AT, 6);
}

/** The last event that Postgres has. */
export async function cursorOf({ sql }: Pick<Cluster, 'sql'>): Promise<{ epoch: number; sequence: number }> {
  const [cursor] = await sql<{ epoch: string; sequence: string }>(
    'select epoch, sequence from engine_cursor',
  );
  return { epoch: Number(cursor!.epoch), sequence: Number(cursor!.sequence) };
}

/** The sequence of the last event that Postgres has. */
export const settledIn = async (cluster: Pick<Cluster, 'sql'>): Promise<number> =>
  (await cursorOf(cluster)).sequence;

/** Folder of the append-only file, below the engine's folder. */
export const APPENDED = 'appendonlydir';

interface Ports {
  readonly engine: number;
  readonly queue: number;
  readonly postgres: number;
  readonly copies: readonly CopyPorts[];
  readonly slots: readonly Slot[];
}

const portsFile = ({ folder }: ClusterPlan): string => join(folder, 'ports.json');

/** The ports of an earlier run on the same folder stay, because the entries of its journal name none. */
async function portsFor(plan: ClusterPlan): Promise<Ports> {
  const file = portsFile(plan);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  const slots = await slotsFor({ ...REPLICAS, ...plan.replicas });
  const ports: Ports = {
    engine: await freePort(),
    queue: await freePort(),
    postgres: await freePort(),
    copies: plan.hasCopies ? await freeCopyPorts() : [],
    slots,
  };
  writeFileSync(file, JSON.stringify(ports));
  return ports;
}

interface Servers {
  readonly engine: RedisServer;
  readonly copies: Copies | undefined;
  readonly queue: RedisServer;
  readonly postgres: PostgresServer;
}

async function startServers(plan: ClusterPlan, ports: Ports, folders: Folders): Promise<Servers> {
  const { engineSettings = [], engineEnvironment = {}, queueEnvironment = {} } = plan;
  const copies = plan.hasCopies
    ? await startCopies({ given: { folder: folders.engine, ports: ports.copies } })
    : undefined;
  const [engine, queue, postgres] = await Promise.all([
    copies !== undefined
      ? allOf(copies)
      : startRedisServer(folders.engine, {
          port: ports.engine,
          settings: engineSettings,
          environment: engineEnvironment,
        }),
    startRedisServer(join(plan.folder, 'queue'), {
      port: ports.queue,
      settings: ['appendonly no', 'appendfsync no'],
      environment: queueEnvironment,
    }),
    startPostgresServer({
      folder: folders.postgres,
      port: ports.postgres,
      settings: POSTGRES_SETTINGS,
      ...(plan.installedPostgres === undefined ? {} : { installed: plan.installedPostgres }),
    }),
  ]);
  return { engine, copies, queue, postgres };
}

function allOf({ servers, url, stop }: Copies): RedisServer {
  const all = [...servers.values()];
  const each = (act: (server: RedisServer) => Promise<void>) => async (): Promise<void> => {
    await Promise.all(all.map(act));
  };
  return {
    url,
    pid: () => all[0]!.pid(),
    kill: each((server) => server.kill()),
    start: each((server) => server.start()),
    end: each((server) => server.end()),
    stop,
  };
}

interface Folders {
  readonly engine: string;
  readonly postgres: string;
}

export async function startCluster(plan: ClusterPlan): Promise<Cluster> {
  mkdirSync(plan.folder, { recursive: true });
  const folders: Folders = {
    engine: plan.engineFolder ?? join(plan.folder, 'engine'),
    postgres: plan.postgresFolder ?? join(plan.folder, 'postgres'),
  };
  mkdirSync(folders.postgres, { recursive: true });
  const ports = await portsFor(plan);
  const servers = await startServers(plan, ports, folders);
  const { engine, queue, postgres } = servers;
  const targets = { engine: engine.url, queue: queue.url, postgres: postgres.url };
  const settings = {
    REDIS_URL: engine.url,
    QUEUE_REDIS_URL: queue.url,
    DATABASE_URL: postgres.url,
    JWT_SECRET: 'a secret of the campaign, and of nothing else',
    WEB_HOSTS: 'redbook.example',
    DRAIN_MS: '300',
    LOG_LEVEL: 'warn',
    WS_MAX_CLIENTS_PER_ADDRESS: '1000',
    HANDSHAKES_PER_MINUTE: '1000000',
    ...(plan.hasCopies ? IMPATIENT : {}),
    ...plan.settings,
  };
  await migrate(settings);
  const proxies = new Map<Slot, ServerProxy>();
  if (plan.isProxied)
    await Promise.all(ports.slots.map(async (slot) => proxies.set(slot, await startProxy(targets))));
  const settingsOf = (slot: Slot): Record<string, string> => {
    const urls = proxies.get(slot)?.urls;
    const way =
      urls === undefined
        ? {}
        : { REDIS_URL: urls.engine!, QUEUE_REDIS_URL: urls.queue!, DATABASE_URL: urls.postgres! };
    return { ...settings, ...way, ...plan.settingsOf?.(slot) };
  };
  const processes = openProcesses(settingsOf, (slot) => plan.releaseOf?.(slot) ?? plan.release);
  const started = await Promise.allSettled(ports.slots.map(processes.start));
  const failed = started.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') {
    await processes.stop();
    await Promise.all([engine, queue, postgres].map((server) => server.kill()));
    rmSync(portsFile(plan));
    throw failed.reason;
  }
  return clusterOf({ plan, settings, servers, folders, slots: ports.slots, processes, proxies });
}

async function migrate(settings: Record<string, string>): Promise<void> {
  const migrating = await launchService('migrate', settings);
  const [code] = await once(migrating.child, 'exit');
  if (code !== 0) throw new Error(`the migration ended with ${code}:\n${migrating.output()}`);
}

interface Parts {
  readonly plan: ClusterPlan;
  readonly settings: Record<string, string>;
  readonly servers: Servers;
  readonly folders: Folders;
  readonly slots: readonly Slot[];
  readonly processes: Processes;
  readonly proxies: Map<Slot, ServerProxy>;
}

function clusterOf({ plan, settings, servers, folders, slots, processes, proxies }: Parts): Cluster {
  const { engine, copies, queue, postgres } = servers;
  const redis = patientRedis(engine.url);
  const queueRedis = patientRedis(queue.url);
  const sql = async <Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: postgres.url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Row>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  };
  const hasDiverged = async (): Promise<boolean> => (await Promise.all(slots.map(isDiverged))).includes(true);
  return {
    plan,
    settings,
    engine,
    copies,
    queue,
    postgres,
    slots,
    processes,
    proxies,
    redis,
    queueRedis,
    sql,
    engineFolder: folders.engine,
    postgresFolder: folders.postgres,
    of: (role) => slots.filter((slot) => slot.role === role),
    operate: (...command) => operate(settings, ...command),
    async untilSettled() {
      const rests = async (): Promise<boolean> => (await isSettled(redis, sql)) || (await hasDiverged());
      await eventually('every event is settled', rests, PATIENCE_MS);
      // Under load, the next event may have come since.
      if (await hasDiverged()) throw new Error('settlement stopped');
    },
    untilReady: async () => {
      await untilWhole({ sql, copies });
      for (const slot of slots)
        await eventually(
          `${slot.name} is ready`,
          async () => (await isReady(slot.port)) || (await isDiverged(slot)),
          PATIENCE_MS,
        );
    },
    hasDiverged,
    async stop(keepsData = false) {
      for (const way of [...proxies.values(), ...(copies?.links.values() ?? [])]) way.close();
      await processes.stop();
      for (const connection of [redis, queueRedis]) connection.disconnect();
      const servers = [engine, queue, postgres];
      await Promise.all(servers.map((server) => (keepsData ? server.kill() : server.stop())));
    },
  };
}

/** Waits until every server is a copy of the engine, where it has copies. */
async function untilWhole({ sql, copies }: Pick<Cluster, 'sql' | 'copies'>): Promise<void> {
  if (copies === undefined) return;
  const isWhole = async (): Promise<boolean> =>
    (await copiesRowOf({ sql })).members.length === copies.servers.size;
  await eventually('all servers are copies', isWhole, PATIENCE_MS);
}

/** The named primary, and the servers that have every answered order. */
export async function copiesRowOf({
  sql,
}: Pick<Cluster, 'sql'>): Promise<{ readonly server: string; readonly members: readonly string[] }> {
  const [row] = await sql<{ server: string; members: string[] }>('select server, members from engine_copies');
  return row!;
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz?deep`).then(
    ({ ok }) => ok,
    () => false,
  );

const isDiverged = ({ role, port }: Slot): Promise<boolean> =>
  role !== 'settlement'
    ? Promise.resolve(false)
    : fetch(`http://127.0.0.1:${port}/readyz?deep`).then(
        async (response) => (await response.text()).includes('contradict each other'),
        () => false,
      );

async function isSettled(redis: Redis, sql: Cluster['sql']): Promise<boolean> {
  const [cursor] = await sql<{ sequence: string }>('select sequence from engine_cursor');
  return Number(cursor!.sequence) === (await engineSequence(redis));
}

/** Opens a connection whose commands wait while the server is down. */
function patientRedis(url: string): Redis {
  const redis = new Redis({
    ...serverOptions(url, rankOfPrimary),
    maxRetriesPerRequest: null,
    // A primary of copies may have become a replica, or hang.
    reconnectOnError: ({ message }) => message.startsWith('READONLY') && 2,
    socketTimeout: SILENT_MS,
  });
  redis.on('error', () => undefined);
  return redis;
}

/** Waits for a moment that the dice choose. */
export const moment = (dice: { below(end: number): number }, maxMs: number): Promise<void> =>
  sleep(dice.below(maxMs));
