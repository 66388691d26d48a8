/**
 * What a unit of each kind of load costs in processor time, process by process, and on disk: the figures of the
 * arithmetic in docs/operating.md. One process of each role, the engine's Redis apart from the queue's, all durable.
 *
 * What is looked at is time on the processor, so loads come at a steady rate far below what the machine can do, and
 * what the processes use when nothing happens is taken off. Orders come a second time as fast as they are answered:
 * then many share a flush, a batch, a turn of the event loop. Reads /proc, so it runs on Linux.
 */

import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { Redis } from 'ioredis';
import { startEmbedded } from '../../src/embedded/index.ts';
import { freePort } from '../../src/embedded/ports.ts';
import { openEngine } from '../../src/engine/index.ts';
import { column, renderTable } from '../../src/operator/table.ts';
import { PLAIN } from '../../src/operator/terminal.ts';
import { query } from '../ledger/tables.ts';
import { fund, headersOf, orders, REDBOOK, SECRET, start, WALLETS, walletOf } from './http.ts';
import { fillBooks, open } from './streams.ts';

const SECONDS = 20;
const CONNECTIONS = 16;
/** Connections where no rate is kept. */
const FLAT_OUT = 64;
const PER_SECOND = 400;
const CLIENTS = 1_000;
const TICK_SECONDS = 2;
/** Clock ticks of /proc in a second, on every Linux that Node runs on. */
const HERTZ = 100;
/** Of a core, above which waiting begins to show. */
const BUSY = 0.65;

const ROLES = ['api', 'settlement', 'snapshot', 'stream'] as const;
const PROCESSES = [...ROLES, 'engine Redis', 'queue Redis', 'Postgres'] as const;
type Process = (typeof PROCESSES)[number];

/** Seconds on the processor, since each began. */
type Usage = Readonly<Record<Process, number>>;

interface Stage {
  readonly urls: Readonly<Record<(typeof ROLES)[number], string>>;
  readonly engineRedis: Redis;
  readonly queueRedis: Redis;
  readonly databaseUrl: string;
  readonly postmaster: number;
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

async function redisSeconds(redis: Redis): Promise<number> {
  const cpu = await redis.info('cpu');
  const read = (name: string): number => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(cpu)![1]);
  return read('used_cpu_user') + read('used_cpu_sys');
}

/** Fields of /proc/PID/stat behind the name, which may hold spaces. */
const statOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ').slice(1).map(Number);
const PARENT = 0;
const OWN_TIMES = [10, 11] as const;
/** Its children's that have ended. */
const ALL_TIMES = [10, 11, 12, 13] as const;

/** The postmaster and all its children, those included that are gone. */
function postgresSeconds(postmaster: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = statOf(Number(name));
      const isMaster = Number(name) === postmaster;
      if (!isMaster && stat[PARENT] !== postmaster) continue;
      for (const field of isMaster ? ALL_TIMES : OWN_TIMES) ticks += stat[field]!;
    } catch {
      // It ended meanwhile.
    }
  }
  return ticks / HERTZ;
}

async function usage({ urls, engineRedis, queueRedis, postmaster }: Stage): Promise<Usage> {
  const roles = await Promise.all(
    ROLES.map(async (role) => [role, await metric(urls[role], 'process_cpu_seconds_total')] as const),
  );
  return {
    ...(Object.fromEntries(roles) as Record<(typeof ROLES)[number], number>),
    'engine Redis': await redisSeconds(engineRedis),
    'queue Redis': await redisSeconds(queueRedis),
    Postgres: postgresSeconds(postmaster),
  };
}

interface Spent {
  /** Of work: orders, requests, frames that clients got. */
  readonly units: number;
  readonly seconds: Usage;
  /** By the clock on the wall. */
  readonly elapsed: number;
}

async function settled({ urls }: Stage): Promise<void> {
  while ((await metric(urls.settlement, 'redbook_settlement_lag_events')) > 0) await sleep(250);
}

/** What some work takes until all of it is settled. @param work answers how many units it did */
async function spent(stage: Stage, work: () => Promise<number>): Promise<Spent> {
  const [before, begunMs] = [await usage(stage), performance.now()];
  const units = await work();
  await settled(stage);
  const [after, endedMs] = [await usage(stage), performance.now()];
  const seconds = Object.fromEntries(PROCESSES.map((name) => [name, after[name] - before[name]])) as Usage;
  return { units, seconds, elapsed: (endedMs - begunMs) / 1_000 };
}

/** Requests at a steady rate, or as fast as they are answered; every answer must be a 2xx. @returns how many */
async function load(url: string, requests: autocannon.Request[], perSecond?: number): Promise<number> {
  const pace =
    perSecond === undefined
      ? { connections: FLAT_OUT }
      : { connections: CONNECTIONS, overallRate: perSecond };
  const result = await autocannon({ ...pace, url, requests, duration: SECONDS, idReplacement: true });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refused, ${result.errors} failed`);
  return result['2xx'];
}

/** Buys that rest far below, and are cancelled at once. */
const placedAndCancelled = (): autocannon.Request[] =>
  orders(1).flatMap((placing, index) => [
    placing,
    { method: 'DELETE', path: '/v1/orders?market=ETH%2FUSDC', headers: headersOf(index) },
  ]);

const walletReads = (): autocannon.Request[] =>
  Array.from({ length: WALLETS }, (_none, index) => index).flatMap((index) =>
    ['/v1/orders', '/v1/trades', `/v1/portfolio/${walletOf(index)}`].map((path) => ({
      ...{ method: 'GET' as const, path, headers: headersOf(index) },
    })),
  );

/** With sessions, so that each is counted by the limits and none is refused. */
const publicReads = (): autocannon.Request[] =>
  Array.from({ length: WALLETS }, (_none, index) => index).flatMap((index) =>
    ['tickers', 'orderbook/ETH_USDC', 'trades/ETH_USDC', 'summary'].map((path) => ({
      ...{ method: 'GET' as const, path: `/v1/market-data/${path}`, headers: headersOf(index) },
    })),
  );

async function fillBooksOf(stage: Stage): Promise<void> {
  const engine = openEngine({ redis: stage.engineRedis, maxMakers: 1_000, maxLiveOrders: 10_000 });
  await engine.open(undefined); // its epoch is there already
  await fillBooks(engine);
  await settled(stage);
}

/** Clients of the market stream, for the time of a load. */
async function watch(stage: Stage): Promise<Spent & { readonly bytesOfFrame: number }> {
  const port = Number(new URL(stage.urls.stream).port);
  const sockets: Socket[] = [];
  let [frames, bytes] = [0, 0];
  for (let client = 0; client < CLIENTS; client += 1) {
    const socket = await open(port, '/ws/market?symbol=ETH%2FUSDC&tf=1m', (length) => {
      frames += 1;
      bytes += length;
    });
    sockets.push(socket);
  }
  const watched = await spent(stage, async () => {
    const before = frames;
    await sleep(SECONDS * 1_000);
    return frames - before;
  });
  for (const socket of sockets) socket.destroy();
  return { ...watched, bytesOfFrame: bytes / frames };
}

interface Disk {
  readonly log: number;
  readonly tables: number;
  readonly wal: number;
}

/** Bytes: the engine's append-only file, Postgres' tables and indexes, and all it ever wrote to its log. */
async function disk({ engineRedis, databaseUrl }: Stage): Promise<Disk> {
  const persistence = await engineRedis.info('persistence');
  const [row] = await query<{ tables: string; wal: string }>(
    databaseUrl,
    `select pg_database_size(current_database())::text as tables, (pg_current_wal_lsn() - '0/0')::text as wal`,
  );
  return {
    log: Number(/^aof_current_size:(\d+)/m.exec(persistence)![1]),
    tables: Number(row!.tables),
    wal: Number(row!.wal),
  };
}

interface Figures {
  /** By kind. */
  readonly loads: Readonly<Record<string, Spent>>;
  readonly idle: Spent;
  readonly bytesOfOrder: Disk;
  readonly bytesOfFrame: number;
}

async function measure(stage: Stage): Promise<Figures> {
  const { api } = stage.urls;
  await load(api, orders(), PER_SECOND); // everything warms up
  const idle = await spent(stage, () => sleep(SECONDS * 1_000, SECONDS));
  const before = await disk(stage);
  const placing = await spent(stage, () => load(api, orders(), PER_SECOND));
  const after = await disk(stage);
  const perOrder = (kind: keyof Disk): number => (after[kind] - before[kind]) / placing.units;
  const loads: Record<string, Spent> = {
    order: placing,
    'order, flat out': await spent(stage, () => load(api, orders())),
    'place, cancel': await spent(stage, async () => (await load(api, placedAndCancelled(), PER_SECOND)) / 2),
    'wallet read': await spent(stage, () => load(api, walletReads(), PER_SECOND)),
    'public read': await spent(stage, () => load(api, publicReads(), PER_SECOND)),
  };
  await fillBooksOf(stage);
  const { bytesOfFrame, ...watched } = await watch(stage);
  loads['client tick'] = watched;
  const bytesOfOrder = { log: perOrder('log'), tables: perOrder('tables'), wal: perOrder('wal') };
  return { loads, idle, bytesOfOrder, bytesOfFrame };
}

function report({ loads, idle, bytesOfOrder, bytesOfFrame }: Figures): void {
  /** Microseconds of a unit. */
  const cost = (kind: string, name: Process): number => {
    const { units, seconds, elapsed } = loads[kind]!;
    const restless = (idle.seconds[name] / idle.elapsed) * elapsed;
    return (Math.max(0, seconds[name] - restless) / units) * 1e6;
  };
  const kinds = Object.keys(loads);
  const heads = ['', 'IDLE', ...kinds.map((kind) => `µs / ${kind.toUpperCase()}`)];
  const rows = PROCESSES.map((name) => [
    name,
    `${((idle.seconds[name] / idle.elapsed) * 100).toFixed(1)} %`,
    ...kinds.map((kind) => cost(kind, name).toFixed(0)),
  ]);
  const columns = heads.map((head, index) => column(head, index === 0 ? 'left' : 'right'));
  console.log(`\nsizing: ${SECONDS} s of each load; an order: half rest, half are filled\n`);
  console.log(renderTable(columns, rows, PLAIN));
  const { log, tables, wal } = bytesOfOrder;
  console.log(`bytes an order: ${log.toFixed(0)} in the engine's append-only file, ${tables.toFixed(0)} in`);
  console.log(`Postgres' tables and indexes, ${wal.toFixed(0)} in its log\n`);
  const atMost = (share: number, kind: string, name: Process): string =>
    Math.round((share * 1e6) / cost(kind, name)).toLocaleString('en');
  const between = (share: number, name: Process): string =>
    `${atMost(share, 'order', name)} to ${atMost(share, 'order, flat out', name)} orders/s`;
  console.log(`an api replica at ${BUSY} of a core: ${between(BUSY, 'api')}`);
  console.log(`the engine's Redis at one core: ${between(1, 'engine Redis')}`);
  console.log(`settlement at one core: ${between(1, 'settlement')}`);
  const [kilobytes, megabytes] = [bytesOfFrame / 1_000, (bytesOfFrame * 1_000) / TICK_SECONDS / 1_000_000];
  console.log(
    `a frame of full books: ${kilobytes.toFixed(0)} KB; 1,000 clients: ${megabytes.toFixed(0)} MB/s`,
  );
}

export async function benchSizing(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-bench-'));
  const servers = await startEmbedded({ dataDir: join(folder, 'engine') });
  const { redisUrl, databaseUrl } = servers;
  const queue = await startEmbedded({ dataDir: join(folder, 'queue'), databaseUrl });
  const engineRedis = new Redis(redisUrl);
  const queueRedis = new Redis(queue.redisUrl);
  const children: ChildProcess[] = [];
  try {
    await fund(redisUrl);
    // A rewrite of the log would be counted as bytes that orders gave back.
    await engineRedis.config('SET', 'auto-aof-rewrite-percentage', '0');
    const starting = ROLES.map(async (role) => {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      const env = {
        ...{
          REDIS_URL: redisUrl,
          QUEUE_REDIS_URL: queue.redisUrl,
          DATABASE_URL: databaseUrl,
          JWT_SECRET: SECRET,
        },
        ...{ WEB_HOSTS: 'localhost', PORT: String(port), LOG_LEVEL: 'fatal' },
        WS_MAX_CLIENTS_PER_ADDRESS: String(CLIENTS),
      };
      children.push(await start([...REDBOOK, role], `${url}/readyz`, env));
      return [role, url] as const;
    });
    const urls = Object.fromEntries(await Promise.all(starting)) as Stage['urls'];
    const [backend] = await query<{ pid: number }>(
      databaseUrl,
      `select pid from pg_stat_activity where backend_type = 'checkpointer'`,
    );
    const postmaster = statOf(backend!.pid)[PARENT]!;
    report(await measure({ urls, engineRedis, queueRedis, databaseUrl, postmaster }));
  } finally {
    for (const child of children) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGINT');
      await gone;
    }
    engineRedis.disconnect();
    queueRedis.disconnect();
    await queue.stop();
    await servers.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
