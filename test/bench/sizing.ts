/**
 * What a unit of each kind of load costs in processor time, process by process, and on disk: the figures of the
 * arithmetic in docs/operating.md. One process of each role, the engine's Redis apart from the queue's, all durable.
 * Each kind of load comes at a steady rate far below what the machine can do, because what is looked at is time on
 * the processor; what the processes use when nothing happens is taken off. Reads /proc, so it runs on Linux.
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
import { column, renderTable } from '../../src/operator/table.ts';
import { PLAIN } from '../../src/operator/terminal.ts';
import { query } from '../ledger/tables.ts';
import { fund, headersOf, orders, SECRET, start, WALLETS, walletOf } from './http.ts';
import { open } from './streams.ts';

const SECONDS = 20;
const CONNECTIONS = 16;
const CLIENTS = 500;
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

/** What a work of so many units takes, until all of it is settled: seconds on the processor, and on the clock. */
async function spent(stage: Stage, work: () => Promise<number>) {
  const [before, begunMs] = [await usage(stage), performance.now()];
  const units = await work();
  while ((await metric(stage.urls.settlement, 'redbook_settlement_lag_events')) > 0) await sleep(250);
  const [after, endedMs] = [await usage(stage), performance.now()];
  const seconds = Object.fromEntries(PROCESSES.map((name) => [name, after[name] - before[name]])) as Usage;
  return { units, seconds, elapsed: (endedMs - begunMs) / 1_000 };
}

/** Requests at a steady rate; every answer must be a 2xx. @returns how many there were */
async function load(url: string, perSecond: number, requests: autocannon.Request[]): Promise<number> {
  const result = await autocannon({
    ...{
      url,
      requests,
      connections: CONNECTIONS,
      overallRate: perSecond,
      duration: SECONDS,
      idReplacement: true,
    },
  });
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

/** Clients of the market stream, for the time of a load. @returns the ticks that they got, all together */
async function watch(url: string): Promise<number> {
  const port = Number(new URL(url).port);
  const sockets: Socket[] = [];
  for (let client = 0; client < CLIENTS; client += 1) {
    sockets.push(await open(port, '/ws/market?symbol=ETH%2FUSDC&tf=1m', () => undefined));
  }
  await sleep(SECONDS * 1_000);
  for (const socket of sockets) socket.destroy();
  return (CLIENTS * SECONDS) / TICK_SECONDS;
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

async function measure(stage: Stage): Promise<void> {
  const { api, stream } = stage.urls;
  await load(api, 400, orders()); // everything warms up
  const idle = await spent(stage, async () => {
    await sleep(SECONDS * 1_000);
    return SECONDS;
  });
  const before = await disk(stage);
  const placing = await spent(stage, () => load(api, 400, orders()));
  const after = await disk(stage);
  const loads = {
    order: placing,
    'place, cancel': await spent(stage, async () => (await load(api, 400, placedAndCancelled())) / 2),
    'wallet read': await spent(stage, () => load(api, 400, walletReads())),
    'public read': await spent(stage, () => load(api, 400, publicReads())),
    'client tick': await spent(stage, () => watch(stream)),
  };
  /** Microseconds of a unit. */
  const cost = (kind: keyof typeof loads, name: Process): number => {
    const { units, seconds, elapsed } = loads[kind];
    const restless = (idle.seconds[name] / idle.elapsed) * elapsed;
    return (Math.max(0, seconds[name] - restless) / units) * 1e6;
  };
  const kinds = Object.keys(loads) as (keyof typeof loads)[];
  const rows = PROCESSES.map((name) => [
    name,
    `${((idle.seconds[name] / idle.elapsed) * 100).toFixed(1)} %`,
    ...kinds.map((kind) => cost(kind, name).toFixed(kind === 'client tick' ? 1 : 0)),
  ]);
  const heads = ['', 'IDLE', ...kinds.map((kind) => `µs / ${kind.toUpperCase()}`)];
  console.log(`\nsizing: ${SECONDS} s of each load; an order: half rest, half are filled\n`);
  console.log(
    renderTable(
      heads.map((head, index) => column(head, index === 0 ? 'left' : 'right')),
      rows,
      PLAIN,
    ),
  );
  const perOrder = (kind: keyof Disk): string => ((after[kind] - before[kind]) / placing.units).toFixed(0);
  console.log(
    `bytes an order: ${perOrder('log')} in the engine's append-only file, ${perOrder('tables')} in`,
  );
  console.log(`Postgres' tables and indexes, ${perOrder('wal')} in its log\n`);
  const atMost = (share: number, microseconds: number): string =>
    Math.round((share * 1e6) / microseconds).toLocaleString('en');
  console.log(`an api replica at ${BUSY} of a core: ${atMost(BUSY, cost('order', 'api'))} orders/s`);
  console.log(`the engine's Redis at one core: ${atMost(1, cost('order', 'engine Redis'))} orders/s`);
  console.log(`settlement at one core: ${atMost(1, cost('order', 'settlement'))} orders/s`);
  console.log(
    `a stream replica at ${BUSY} of a core: ${atMost(BUSY * TICK_SECONDS, cost('client tick', 'stream'))} clients`,
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
      children.push(await start(['src/main.ts', role], `${url}/readyz`, env));
      return [role, url] as const;
    });
    const urls = Object.fromEntries(await Promise.all(starting)) as Stage['urls'];
    const [backend] = await query<{ pid: number }>(
      databaseUrl,
      `select pid from pg_stat_activity where backend_type = 'checkpointer'`,
    );
    const postmaster = statOf(backend!.pid)[PARENT]!;
    await measure({ urls, engineRedis, queueRedis, databaseUrl, postmaster });
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
