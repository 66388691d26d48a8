/**
 * Proves that the embedded Redis and Postgres keep data, ports and secrets across stops, kills and crashes of their
 * parent.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import pg from 'pg';
import { findEmbedded, startEmbedded } from '../../../src/embedded/index.ts';
import { identify, isAlive, type ProcessIdentity } from '../../../src/embedded/run/process-identity.ts';
import { eventually } from '../../support/eventually.ts';
import { program } from '../../support/program.ts';

interface Urls {
  redisUrl: string;
  databaseUrl: string;
}

const ALL_IN_ONE = { entry: 'test/proofs/embedded/all-in-one.ts' };

const newFolder = (): string => join(mkdtempSync(join(tmpdir(), 'redbook embedded-')), 'data');
const remove = (folder: string): void => rmSync(join(folder, '..'), { recursive: true, force: true });

describe('the embedded servers of a new folder', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = newFolder();
  });
  afterEach(() => remove(dataDir));

  it('keep data, ports and secrets over a restart', async () => {
    const first = await startEmbedded({ dataDir });
    await write(first, 'kept');
    await first.stop();
    const second = await startEmbedded({ dataDir });
    expect(await read(second)).to.deep.equal(['kept', 'kept']);
    await second.stop();
    const { stop: _, announce: __, ...urls } = second;
    expect(first).to.deep.include(urls);
    expect(Buffer.byteLength(second.jwtSecret)).to.be.at.least(32);
  });

  it('run with settings that lose no acknowledged write', async () => {
    const servers = await startEmbedded({ dataDir });
    const settings = await onRedis(servers, async (redis) => [
      await redis.config('GET', 'appendonly', 'appendfsync', 'maxmemory-policy', 'save', 'bind'),
      await redis.config('GET', 'maxmemory'),
    ]);
    expect(Object.fromEntries(pairs(settings.flat(2) as string[]))).to.deep.equal({
      appendonly: 'yes',
      appendfsync: 'always',
      'maxmemory-policy': 'noeviction',
      save: '',
      bind: '127.0.0.1',
      maxmemory: '0',
    });
    const { rows } = await onPostgres(servers, (client) =>
      client.query(`SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
        current_setting('full_page_writes') AS pages, current_setting('server_encoding') AS encoding,
        current_setting('listen_addresses') AS address, 'a' < 'B' AS "sortsByLanguage"`),
    );
    expect(rows[0]).to.deep.equal({
      fsync: 'on',
      commit: 'on',
      pages: 'on',
      encoding: 'UTF8',
      address: '127.0.0.1',
      sortsByLanguage: false,
    });
    await servers.stop();
  });

  it('give the service a user of Postgres that owns the tables and is no superuser', async () => {
    const servers = await startEmbedded({ dataDir, durable: false });
    const { rows } = await onPostgres(servers, (client) =>
      client.query('select rolname, rolsuper from pg_roles where rolname = current_user'),
    );
    expect(rows).to.deep.equal([{ rolname: 'redbook_owner', rolsuper: false }]);
    await servers.stop();
  });

  it('require the password, and show it to nobody', async () => {
    const servers = await startEmbedded({ dataDir, durable: false });
    for (const name of ['secrets.json', 'servers.json', 'redis/redis.conf'])
      expect(statSync(join(dataDir, name)).mode & 0o077, name).to.equal(0);
    const stranger = { redisUrl: without(servers.redisUrl), databaseUrl: without(servers.databaseUrl) };
    expect(await refusal(onRedis(stranger, (redis) => redis.ping()))).to.match(/NOAUTH/);
    expect(await refusal(onPostgres(stranger, async () => {}))).to.match(/password/);
    await servers.stop();
  });
});

describe('the embedded servers', () => {
  let dataDir: string;
  /** A data folder with an empty database alone. Creating one takes most of the processor time of a test. */
  let created: string;

  before(async () => {
    created = newFolder();
    await (await startEmbedded({ dataDir: created, durable: false })).stop();
    for (const name of ['redis', 'servers.json']) rmSync(join(created, name), { recursive: true });
  });
  after(() => remove(created));
  beforeEach(() => {
    dataDir = newFolder();
    execFileSync('cp', ['-a', created, dataDir]);
  });
  afterEach(() => remove(dataDir));

  it('are found by other commands while they run, and only then', async () => {
    expect(findEmbedded(dataDir)).to.equal(undefined);
    const { stop, announce, ...urls } = await startEmbedded({ dataDir, durable: false });
    expect(findEmbedded(dataDir)).to.deep.equal(urls);
    const service = { url: 'http://localhost:1', webHost: 'localhost:1' };
    announce(service);
    expect(findEmbedded(dataDir)).to.deep.equal({ ...urls, service });
    await stop();
    expect(findEmbedded(dataDir)).to.equal(undefined);
  });

  it('start only servers that are not given', async () => {
    const redisUrl = 'redis://redis.example:6379';
    const servers = await startEmbedded({ dataDir, redisUrl, durable: false });
    expect(servers.redisUrl).to.equal(redisUrl);
    expect(findEmbedded(dataDir)?.redisUrl).to.equal(redisUrl);
    expect(existsSync(join(dataDir, 'redis'))).to.equal(false);
    await servers.stop();
  });

  it('restart on their data and ports when they are killed, and stop when told to', async () => {
    const lines: string[] = [];
    const servers = await startEmbedded({ dataDir, onProgress: (line) => lines.push(line) });
    await write(servers, 'kept');
    for (let round = 0; round < 3; round += 1) {
      const { redis, postgres } = await serverProcesses(servers);
      process.kill(redis.pid, 'SIGKILL');
      process.kill(postgres.pid, 'SIGKILL');
      await gone([redis, postgres]);
      await untilKept(servers);
    }
    expect(lines).to.include('Redis ended unexpectedly; starting it again on its own data.');
    expect(lines).to.include('Postgres is back.');
    const last = await serverProcesses(servers);
    await servers.stop();
    expect([isAlive(last.redis), isAlive(last.postgres)]).to.deep.equal([false, false]);
  });

  it('restart when their guards are killed', async function () {
    if (process.platform !== 'linux') this.skip();
    const servers = await startEmbedded({ dataDir, durable: false });
    await write(servers, 'kept');
    const { redis, postgres } = await serverProcesses(servers);
    process.kill(parentOf(redis), 'SIGKILL');
    process.kill(parentOf(postgres), 'SIGKILL');
    await gone([redis, postgres]);
    await untilKept(servers);
    await servers.stop();
  });

  it('stop when told to while they are being restarted', async () => {
    const servers = await startEmbedded({ dataDir, durable: false });
    const { redis, postgres } = await serverProcesses(servers);
    process.kill(redis.pid, 'SIGKILL');
    process.kill(postgres.pid, 'SIGKILL');
    await sleep(60);
    await servers.stop();
    const again = await startEmbedded({ dataDir, durable: false });
    await write(again, 'alone');
    await again.stop();
  });

  it('reject a second start on the same folder, and name the first', async () => {
    const servers = await startEmbedded({ dataDir, durable: false });
    expect(await refusal(startEmbedded({ dataDir }))).to.contain(`process ${process.pid}`);
    const { failure } = await allInOne(dataDir);
    expect(failure).to.contain(`already runs on the data folder ${dataDir} (process ${process.pid})`);
    await write(servers, 'unharmed');
    expect(await read(servers)).to.deep.equal(['unharmed', 'unharmed']);
    await servers.stop();
  });

  it('let one of many processes have the folder when these start at once after a crash', async () => {
    const crashed = await allInOne(dataDir);
    await killed(crashed.process, 'SIGKILL');
    const starts = await Promise.all([1, 2, 3, 4].map(() => allInOne(dataDir)));
    const started = starts.filter(({ urls }) => urls);
    expect(started).to.have.length(1);
    for (const { failure, urls } of starts) if (!urls) expect(failure).to.contain('already runs');
    await Promise.all(started.map(({ process }) => killed(process, 'SIGTERM')));
  });

  it('report the reason when a server does not start', async () => {
    const servers = await startEmbedded({ dataDir, durable: false });
    await servers.stop();
    const manifest = join(dataDir, 'redis/appendonlydir/appendonly.aof.manifest');
    const intact = readFileSync(manifest);
    writeFileSync(manifest, 'nonsense\n');
    expect(await refusal(startEmbedded({ dataDir, durable: false }))).to.match(
      /Redis did not start.*manifest/s,
    );
    writeFileSync(manifest, intact);
    await (await startEmbedded({ dataDir, durable: false })).stop();
  });

  for (const [how, target] of [
    ['their process is killed', (pid: number) => pid],
    ['its whole group is killed', (pid: number) => -pid],
  ] as const)
    it(`leave no process behind when ${how}`, async () => {
      const { process: parent, urls } = await allInOne(dataDir);
      const { redis, postgres } = await serverProcesses(urls!);
      await write(urls!, 'kept');
      process.kill(target(parent.pid!), 'SIGKILL');
      await gone([redis, postgres]);
      const servers = await startEmbedded({ dataDir, durable: false });
      expect(await read(servers)).to.deep.equal(['kept', 'kept']);
      await servers.stop();
    });

  it('stop servers that an earlier run left behind', async function () {
    if (process.platform !== 'linux') this.skip();
    const { process: parent, urls } = await allInOne(dataDir, pathWithout('setpriv', join(dataDir, '..')));
    const { redis, postgres } = await serverProcesses(urls!);
    await write(urls!, 'kept');
    // Suspends them first, so that none notices the end of another and stops the servers.
    const pids = [parent.pid!, parentOf(redis), parentOf(postgres)];
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of pids) process.kill(pid, signal);
    await sleep(300);
    expect([isAlive(redis), isAlive(postgres)]).to.deep.equal([true, true]);
    const servers = await startEmbedded({ dataDir, durable: false });
    expect([isAlive(redis), isAlive(postgres)]).to.deep.equal([false, false]);
    expect(await read(servers)).to.deep.equal(['kept', 'kept']);
    await servers.stop();
  });
});

/** Runs the servers in a separate process, which may be killed. `failure` is its last error message. */
async function allInOne(
  dataDir: string,
  PATH = process.env.PATH,
): Promise<{ process: ChildProcess; urls?: Urls; failure?: string }> {
  const child = spawn(process.execPath, [...(await program(ALL_IN_ONE)), dataDir], {
    env: { ...process.env, PATH },
    detached: true,
    stdio: 'pipe',
  });
  let failure = '';
  child.stderr.on('data', (chunk) => {
    failure += chunk;
  });
  return new Promise((resolve) => {
    child.stdout.once('data', (line) => resolve({ process: child, urls: JSON.parse(line) }));
    child.once('close', () => resolve({ process: child, failure }));
  });
}

async function killed(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill(signal);
  await closed;
}

/** Returns a folder with links to all programs on the PATH except one. */
function pathWithout(program: string, parent: string): string {
  const folder = mkdtempSync(join(parent, 'bin-'));
  const wanted = ['sh', 'sleep', 'id', 'redis-server', 'valkey-server'].filter((name) => name !== program);
  for (const name of wanted) {
    const home = (process.env.PATH ?? '').split(delimiter).find((path) => existsSync(join(path, name)));
    if (home) symlinkSync(join(home, name), join(folder, name));
  }
  return folder;
}

async function serverProcesses(urls: Urls): Promise<{ redis: ProcessIdentity; postgres: ProcessIdentity }> {
  const info = await onRedis(urls, (redis) => redis.info('server'));
  const redis = Number(/process_id:(\d+)/.exec(info)?.[1]);
  const postgres = await onPostgres(urls, async (client) => {
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    return parentOf(rows[0]);
  });
  return { redis: identify(redis)!, postgres: identify(postgres)! };
}

function parentOf({ pid }: { readonly pid: number }): number {
  return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

async function write(urls: Urls, value: string): Promise<void> {
  await onRedis(urls, (redis) => redis.set('kept', value));
  await onPostgres(urls, async (client) => {
    await client.query('CREATE TABLE IF NOT EXISTS kept (value text)');
    await client.query('INSERT INTO kept VALUES ($1)', [value]);
  });
}

async function read(urls: Urls): Promise<[unknown, unknown]> {
  const inRedis = await onRedis(urls, (redis) => redis.get('kept'));
  const inPostgres = await onPostgres(urls, (client) => client.query('SELECT value FROM kept'));
  return [inRedis, inPostgres.rows[0]?.value];
}

/** Waits until both servers are back with the written data. */
const untilKept = (urls: Urls): Promise<void> =>
  eventually('the data are back', async () => (await read(urls)).every((value) => value === 'kept'));

async function onRedis<T>({ redisUrl }: Urls, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(redisUrl, { lazyConnect: true, retryStrategy: () => null });
  redis.on('error', () => {});
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

async function onPostgres<T>({ databaseUrl }: Urls, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function without(url: string): string {
  const stripped = new URL(url);
  stripped.password = '';
  return stripped.href;
}

const pairs = (flat: string[]): [string, string][] =>
  flat.flatMap((item, index) => (index % 2 === 0 ? [[item, flat[index + 1]!] as [string, string]] : []));

async function refusal(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'nothing was refused',
    (error: Error) => error.message,
  );
}

const gone = (processes: ProcessIdentity[]): Promise<void> =>
  eventually('the servers are gone', () => !processes.some(isAlive));
