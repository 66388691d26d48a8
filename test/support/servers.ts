/**
 * Starts the servers of a run when a test first needs them: one Postgres for the whole run, and a Redis for each test
 * file that needs one. Mocha loads this file first, in a parallel run in each of its processes. DATABASE_URL names a
 * Postgres to use instead; databases that the tests create there are dropped.
 */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { type PostgresServer, startPostgresServer } from './postgres-server.ts';
import { recordProcessorTime } from './processor-time.ts';
import { startRedisCluster } from './redis-cluster.ts';
import { type RedisServer, startRedisServer } from './redis-server.ts';
import { drawSeed } from './seed.ts';

/**
 * Names the folder of the run, which the parent of a parallel run passes to its workers. The folder has the data of
 * Redis servers, built programs and the socket that answers with the URL of Postgres. It is removed when the run ends.
 */
const RUN_FOLDER = 'REDBOOK_TEST_RUN';
const POSTGRES_SOCKET = 'postgres.sock';
/** With the value `cluster`, each Redis of the tests is a cluster of three primaries. */
const REDIS = 'REDBOOK_TEST_REDIS';
/** Events of each segment of every ledger on the run's Postgres; their width follows the load unless it is given. */
export const SEGMENT_EVENTS = 'REDBOOK_TEST_SEGMENT_EVENTS';
const MEMORY = '/dev/shm';
const PLENTY_BYTES = 2 ** 31;

let run: Run | undefined;

/** Databases created by the file, or the files, that this process runs. */
const databases: string[] = [];
const redises: { server: RedisServer; path: string }[] = [];
let shared: Promise<string> | undefined;
let maintenance: Promise<string> | undefined;
let migrated: Promise<string> | undefined;

/** One run of the tests, in mocha's main process. */
export interface Run {
  readonly folder: string;
  end(): Promise<void>;
}

export function mochaGlobalSetup(): void {
  drawSeed();
  run = openRun();
  process.env[RUN_FOLDER] = run.folder;
  // Started servers end with this process, but a stopped mocha may keep it alive while it waits for its workers.
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => {
      console.error(`\n  stopped by ${signal}`);
      process.exit(1);
    });
}

export const mochaGlobalTeardown = (): Promise<void> => run!.end();

/** Creates the folders of a run and starts no server. */
export function openRun(): Run {
  const folder = mkdtempSync(join(quickFolder(), 'redbook-test-'));
  const data = mkdtempSync(join(tmpdir(), 'redbook-test-'));
  const sweep = sweeper(folder, data);
  const postgres = postgresOnDemand(folder, data);
  return {
    folder,
    async end() {
      await postgres.stop();
      await sweep();
    },
  };
}

/** Starts Postgres when the first process of the run connects, and sends its URL to each process. */
function postgresOnDemand(folder: string, data: string): { stop(): Promise<void> } {
  let postgres: Promise<PostgresServer> | undefined;
  const socket: Server = createServer(async (asking) => {
    postgres ??= startSharedPostgres(data);
    asking.end(await postgres.then(({ url }) => url, String));
  });
  socket.listen(join(folder, POSTGRES_SOCKET)).unref();
  return {
    async stop() {
      socket.close();
      await (await postgres)?.stop();
    },
  };
}

/** Autovacuum would visit hundreds of small databases every minute, for as long as the run lasts. */
async function startSharedPostgres(folder: string): Promise<PostgresServer> {
  const events = process.env[SEGMENT_EVENTS];
  const settings: Record<string, string> = events === undefined ? {} : { 'redbook.segment_events': events };
  const server = await startPostgresServer({ folder, durable: false, settings });
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query('ALTER SYSTEM SET autovacuum = off');
  await client.query('SELECT pg_reload_conf()');
  await makeUsers(client);
  await client.end();
  return server;
}

/** Makes the users of the release, each with the password of the administrator. */
async function makeUsers(client: pg.Client): Promise<void> {
  await client.query(POSTGRES_USERS);
  for (const user of new Set(Object.values(USER_OF)))
    await client.query(`alter role ${user} password '${client.password}'`);
}

/**
 * Starts a Postgres with the users of the release and the ledger's empty tables. It is for a file that changes users or
 * settings of users: all databases of the run's Postgres share these, and a reconcile of another file would name them.
 */
export async function startLedgerServer(): Promise<PostgresServer> {
  const server = await startPostgresServer({ durable: false, settings: { autovacuum: 'off' } });
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await makeUsers(client);
  await client.end();
  const { openLedger } = await import('../../src/ledger/index.ts');
  const owner = Object.assign(new URL(server.url), { username: USER_OF.migrate });
  const ledger = openLedger({ databaseUrl: owner.href });
  await ledger.migrate();
  await ledger.close();
  return server;
}

export const POSTGRES_USERS = readFileSync(
  new URL('../../k8s/components/postgres-users/users.sql', import.meta.url),
  'utf8',
);
/** The user of each role at the run's Postgres. One that is not here has the administrator's. */
const USER_OF: Readonly<Record<string, string>> = {
  api: 'redbook_api',
  snapshot: 'redbook_api',
  'operator-api': 'redbook_operator_api',
  settlement: 'redbook_settlement',
  operator: 'redbook_settlement',
  migrate: 'redbook_owner',
  backup: 'redbook_backup',
};
/** Databases whose tables the users may use. */
const granted = new Set<string>();

/** The URL of the Postgres in `settings` for a process of a role, with the user of the role if the database has it. */
export function postgresOf(
  role: string,
  { DATABASE_URL }: { readonly [name: string]: string },
): Record<string, string> {
  if (DATABASE_URL === undefined) return {};
  const url = URL.canParse(DATABASE_URL) ? new URL(DATABASE_URL) : undefined;
  const user = USER_OF[role];
  if (user !== undefined && url?.username === 'postgres' && granted.has(url.pathname.slice(1)))
    return { DATABASE_URL: Object.assign(url, { username: user }).href };
  return { DATABASE_URL };
}

/** @returns the URL of a maintenance database, which stays empty */
async function maintenanceUrl(): Promise<string> {
  if (process.env.DATABASE_URL) return process.env.DATABASE_URL;
  const answer = await text(connect(join(currentFolder(), POSTGRES_SOCKET)));
  if (!answer.startsWith('postgres:')) throw new Error(`Postgres did not start: ${answer}`);
  return answer;
}

export const mochaHooks = {
  /** Runs after each file in a parallel run, otherwise after all files. */
  async afterAll(this: Mocha.Context): Promise<void> {
    await stopServers();
    const file = this.test?.parent?.suites[0]?.file;
    if (file) recordProcessorTime(currentFolder(), file);
  },
};

/** Stops the Redis servers that this process started, and drops its databases on a Postgres that is not the run's. */
export async function stopServers(): Promise<void> {
  shared = undefined;
  for (const { server, path } of redises.splice(0)) {
    await server.stop();
    rmSync(path, { recursive: true, force: true });
  }
  if (process.env.DATABASE_URL) {
    migrated = undefined;
    for (const name of databases.splice(0)) await sql(`DROP DATABASE ${name} WITH (FORCE)`);
  }
}

/** @returns the URL of a new, empty database */
export const freshDatabase = (): Promise<string> => createDatabase('template1');

/** @returns the URL of a new database with the ledger's empty tables */
export async function freshLedgerDatabase(): Promise<string> {
  migrated ??= migratedDatabase();
  const url = await createDatabase(new URL(await migrated).pathname.slice(1));
  if (!process.env.DATABASE_URL) granted.add(new URL(url).pathname.slice(1));
  return url;
}

/** Migrates one database per process, which is then copied. A copy takes a fifth of the migrations' processor time. */
async function migratedDatabase(): Promise<string> {
  const { openLedger } = await import('../../src/ledger/index.ts');
  const databaseUrl = await freshDatabase();
  if (!process.env.DATABASE_URL) {
    await sql(POSTGRES_USERS, databaseUrl);
    granted.add(new URL(databaseUrl).pathname.slice(1));
  }
  const ledger = openLedger({
    databaseUrl: postgresOf('migrate', { DATABASE_URL: databaseUrl }).DATABASE_URL!,
  });
  await ledger.migrate();
  await ledger.close();
  return databaseUrl;
}

async function createDatabase(template: string): Promise<string> {
  const name = `redbook_test_${randomBytes(6).toString('hex')}`;
  await sql(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  databases.push(name);
  const url = new URL(await maintenance!);
  url.pathname = `/${name}`;
  return url.href;
}

/** @returns the URL of an empty server with the engine's settings, which no other test uses */
export async function freshRedis(): Promise<string> {
  return (await freshRedisServer()).url;
}

/** Like freshRedis, but always a single server: for tests with a proxy between the server and its clients. */
export async function loneRedis(): Promise<string> {
  const start: typeof startRedisServer = (path, asked) =>
    startRedisServer(path, { ...asked, settings: ['unixsocket redis.sock'] });
  return (await freshRedisServer({}, start)).url;
}

/**
 * @returns the URL of a server that many tests use and flush in turn, because starting one takes longer than most of
 *   them
 */
export function sharedRedis(): Promise<string> {
  shared ??= freshRedis();
  return shared;
}

/**
 * Like freshRedis, with functions to kill the server and to restart it on its data and port. In a cluster, it is the
 * node with the engine's keys.
 * @param environment additional environment variables
 */
export async function freshRedisServer(
  environment: Readonly<Record<string, string>> = {},
  start = process.env[REDIS] === 'cluster' ? startRedisCluster : startRedisServer,
): Promise<RedisServer> {
  const path = join(currentFolder(), `redis-${randomBytes(6).toString('hex')}`);
  const server = await start(path, { environment });
  redises.push({ server, path });
  return server;
}

function currentFolder(): string {
  const folder = runFolder();
  if (folder === undefined) throw new Error('no run of the tests; does .mocharc.json require this file?');
  return folder;
}

/** @returns a folder that is removed when the run of the tests ends; undefined outside a run */
export const runFolder = (): string | undefined => process.env[RUN_FOLDER];

/**
 * Returns a folder in memory if there is enough of it. The engine's Redis waits for the disk at every write, which
 * protects only against power failures, and no test causes one. In memory a thousand orders take one second instead of
 * six, and the files survive a kill as well.
 */
function quickFolder(): string {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > PLENTY_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

/**
 * Removes the folders on request, or when this process ends for any reason: a shell in its own session, which Ctrl-C
 * does not reach, notices the end of its input. Servers that end at the same moment may still write.
 */
function sweeper(...folders: string[]): () => Promise<void> {
  const script = 'cat >/dev/null; until rm -rf "$@"; do sleep 0.1; done';
  const shell = spawn('/bin/sh', ['-c', script, 'redbook-sweeper', ...folders], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const gone = once(shell, 'exit');
  return async () => {
    shell.stdin.end();
    await gone;
  };
}

async function sql(statement: string, databaseUrl?: string): Promise<void> {
  maintenance ??= maintenanceUrl();
  const client = new pg.Client({ connectionString: databaseUrl ?? (await maintenance) });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
