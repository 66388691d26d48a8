/**
 * Runs k8s/components/backup/script/backup.sh against a real Postgres, pgBackRest and Redis. Needs pgBackRest, rclone,
 * psql, redis-cli and an installed Postgres; docs/runbook.md has the same on Compose.
 */

import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { query } from '../../ledger/tables.ts';
import { eventually } from '../../support/eventually.ts';
import {
  installedPostgres,
  type PostgresServer,
  startPostgresServer,
} from '../../support/postgres-server.ts';
import { openRedis, PASSWORD, type RedisServer, startRedisServer } from '../../support/redis-server.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';

const K8S = fileURLToPath(new URL('../../../k8s/', import.meta.url));
const SCHEMA = new URL('../../ledger/schema.sql', import.meta.url);
/** The tables that the scripts use. */
const TABLES = /^create table (backups|engine_copies) \([^;]*;/gm;
const isInstalled = (command: string): boolean => spawnSync(command, ['--version']).error === undefined;
const home = installedPostgres();

describe('the scripts of backups', function () {
  this.timeout(600_000);
  let folder: string;
  let postgres: PostgresServer;
  let redis: RedisServer;
  /** Postgres runs as another user where the tests run as root. */
  let owner: { readonly uid: number; readonly gid: number };
  const at = (...path: string[]): string => join(folder, ...path);
  const archiver = (): string => `pgbackrest --config=${at('settings/pgbackrest.conf')} --stanza=redbook`;
  const settingsOf = (): Record<string, string> => ({
    // pgBackRest compares the folder that the server tells with its own setting.
    data_directory: at('server/postgres/data'),
    archive_mode: 'on',
    archive_command: `${archiver()} archive-push %p`,
    restore_command: `${archiver()} archive-get %f %p`,
  });

  before(async function () {
    if (home === undefined || !['pgbackrest', 'rclone', 'redis-cli'].every(isInstalled)) this.skip();
    folder = mkdtempSync(join(tmpdir(), 'redbook-backup-'));
    chmodSync(folder, 0o755);
    for (const name of ['settings', 'secrets', 'backups', 'rehearsal', 'engine']) mkdirSync(at(name));
    for (const name of ['components/backup/script/backup.sh', 'base/backup-engine.sh'])
      cpSync(join(K8S, name), at('settings', name.split('/').at(-1)!));
    for (const name of ['postgres-password', 'redis-password']) writeFileSync(at('secrets', name), PASSWORD);
    writeFileSync(at('settings/pgbackrest.conf'), configuration());
    postgres = await startPostgresServer({
      folder: at('server'),
      settings: settingsOf(),
      installed: { home: home! },
    });
    owner = statSync(at('server/postgres/data'));
    redis = await startRedisServer(at('redis'), { settings: ['repl-diskless-sync-delay 0'] });
    for (const name of ['backups', 'rehearsal', 'engine']) chownSync(at(name), owner.uid, owner.gid);
    writeFileSync(at('settings/pgbackrest.conf'), configuration(new URL(postgres.url).port));
    await query(postgres.url, 'create table written (number int)');
    for (const [statement] of readFileSync(SCHEMA, 'utf8').matchAll(TABLES))
      await query(postgres.url, statement);
  });

  after(async () => {
    await Promise.all([postgres?.stop(), redis?.stop()]);
    if (folder) rmSync(folder, { recursive: true });
  });

  const configuration = (port = '5432'): string =>
    readFileSync(join(K8S, 'components/backup/script/pgbackrest.conf'), 'utf8')
      .replace(/^repo1-path=.*$/m, `repo1-path=${at('backups')}`)
      .replace(/^lock-path=.*$/m, `lock-path=${at('backups/lock')}\nspool-path=${at('backups/spool')}`)
      .replace(/^pg1-path=.*$/m, `pg1-path=${at('server/postgres/data')}\npg1-port=${port}`)
      .replace('redbook_backup', 'postgres')
      .replace('pg1-database=redbook', 'pg1-database=postgres');

  function run(...args: string[]): SpawnSyncReturns<string> {
    const { port, password } = new URL(postgres.url);
    writeFileSync(at('secrets/postgres-password'), password);
    return spawnSync('sh', [at('settings/backup.sh'), ...args], {
      ...(process.getuid?.() === 0 && { uid: owner.uid, gid: owner.gid }),
      cwd: at('backups'),
      timeout: 300_000,
      encoding: 'utf8',
      env: {
        PATH: `${home}/bin:${process.env.PATH}`,
        PGHOST: '127.0.0.1',
        PGPORT: port,
        PGUSER: 'postgres',
        PGDATABASE: 'postgres',
        REDIS_HOST: '127.0.0.1',
        REDIS_PORT: new URL(redis.url).port,
        PGBACKREST_CONFIG: at('settings/pgbackrest.conf'),
        PGBACKREST_STANZA: 'redbook',
        PGDATA: at('server/postgres/data'),
        DATA: at('engine'),
        BACKUPS: at('backups'),
        REHEARSAL: at('rehearsal'),
        SECRETS: at('secrets'),
      },
    });
  }
  const succeeds = (...args: string[]): string => {
    const { status, stdout, stderr } = run(...args);
    expect(status, `${args}: ${stderr} ${stdout}`).to.equal(0);
    return stdout;
  };

  /** The engine has each event first. */
  async function write(number: number): Promise<void> {
    const client = openRedis(redis.url);
    await client.set('written', number);
    client.disconnect();
    await query(postgres.url, `insert into written values (${number})`);
    await sleep(1_000); // the names of two copies differ by a second
  }
  const copies = (): string[] =>
    readdirSync(at('backups/engine'))
      .filter((name) => name.endsWith('.tar.gz'))
      .map((name) => name.replace('.tar.gz', ''))
      .sort();

  /** Starts both servers on what a rehearsal restored, and returns the last number that each has. */
  async function restored(): Promise<[postgres: number, engine: number]> {
    const parent = mkdtempSync(at('restored-'));
    chmodSync(parent, 0o755);
    mkdirSync(join(parent, 'postgres'));
    renameSync(at('rehearsal/postgres'), join(parent, 'postgres/data'));
    renameSync(at('rehearsal/redis'), join(parent, 'redis'));
    const servers: { stop(): Promise<void> }[] = [];
    try {
      const database = await startPostgresServer({ folder: parent, installed: { home: home! } });
      servers.push(database);
      const engine = await startRedisServer(join(parent, 'redis'));
      servers.push(engine);
      const [row] = await query<{ last: number }>(database.url, 'select max(number) as last from written');
      const client = openRedis(engine.url);
      const last = Number(await client.get('written'));
      client.disconnect();
      return [row!.last, last];
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  }

  const unfinished = async (kind: string): Promise<boolean> => {
    const [row] = await query<{ is: boolean }>(
      postgres.url,
      `select coalesce(at < begun_at, true) as is from backups where kind = '${kind}'`,
    );
    return row!.is;
  };

  it('ask for a base backup before a copy of the engine', async () => {
    const { status, stderr } = run('engine');
    expect([status, stderr]).to.deep.equal([
      1,
      "timeline 00000001 has no base backup, and a copy cannot be restored without one: run 'backup.sh postgres'\n",
    ]);
    expect(await unfinished('engine')).to.equal(true);
  });

  it('restore the oldest copy, and the ones right before and right after a base backup', async () => {
    await write(1);
    succeeds('postgres');
    await write(2);
    succeeds('engine');
    await write(3);
    succeeds('postgres');
    await write(4);
    const names = copies();
    expect(names).to.have.length(3);
    const found: [number, number][] = [];
    for (const name of names) {
      succeeds('rehearse', name);
      found.push(await restored());
    }
    expect(found).to.deep.equal([1, 2, 3].map((number) => [number, number]));
    expect(await Promise.all(['postgres', 'engine'].map(unfinished))).to.deep.equal([false, false]);
  });

  it('say why a rehearsal fails, end, and rehearse again', async () => {
    const [oldest] = copies();
    const file = at('backups/engine', `${oldest}.tar.gz`);
    cpSync(file, at('whole'));
    truncateSync(file, 100);
    succeeds('begin', 'rehearsal');
    const cut = run('rehearse', oldest!);
    expect(cut.status).to.be.above(0);
    expect(cut.stderr).to.include('unexpected end of file');
    expect(await unfinished('rehearsal')).to.equal(true);
    cpSync(at('whole'), file);

    const archive = at('backups/archive/redbook', readdirSync(at('backups/archive/redbook'))[0]!);
    renameSync(archive, at('archive'));
    const missing = run('rehearse', oldest!);
    renameSync(at('archive'), archive);
    expect(missing.status).to.be.above(0);
    expect(missing.stdout + missing.stderr).to.match(
      /recovery ended before|could not locate|unable to find|required checkpoint/,
    );

    succeeds('rehearse', oldest!);
    expect(await restored()).to.deep.equal([1, 1]);
    succeeds('note', 'rehearsal');
    expect(await unfinished('rehearsal')).to.equal(false);
  });

  it('restore copies of both timelines after a restore', async () => {
    const [oldest] = copies();
    await postgres.end();
    rmSync(at('server/postgres/data'), { recursive: true });
    succeeds('restore-both', oldest!);
    await postgres.start();
    await eventually('Postgres has recovered', async () => {
      const [row] = await query<{ recovers: boolean }>(
        postgres.url,
        'select pg_is_in_recovery() as recovers',
      );
      return !row!.recovers;
    });
    const { status, stderr } = run('engine');
    expect(status).to.equal(1);
    expect(stderr).to.include('timeline 00000002 has no base backup');
    await write(5);
    succeeds('postgres');
    const newest = copies().at(-1)!;
    const found: [number, number][] = [];
    for (const name of [oldest!, newest]) {
      succeeds('rehearse', name);
      found.push(await restored());
    }
    expect(found).to.deep.equal([1, 5].map((number) => [number, number]));
  });
});

describe('a copy of the engine beside a Postgres of somebody else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-engine-copy-'));
  const at = (...path: string[]): string => join(folder, ...path);
  const servers: { stop(): Promise<void> }[] = [];
  const run = (command: string, env: NodeJS.ProcessEnv = {}): SpawnSyncReturns<string> =>
    spawnSync('sh', [at('settings/backup.sh'), command], {
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        PGBACKREST_CONFIG: at('settings/pgbackrest.conf'),
        BACKUPS: at('backups'),
        SECRETS: at('secrets'),
        REHEARSAL: at('rehearsal'),
        SECOND: at('second'),
        ...env,
      },
    });

  before(function () {
    if (!['psql', 'rclone', 'redis-cli'].every(isInstalled)) this.skip();
    for (const name of ['settings', 'secrets', 'backups', 'restored', 'rehearsal', 'second'])
      mkdirSync(at(name));
    for (const name of ['components/backup/script/backup.sh', 'base/backup-engine.sh'])
      cpSync(join(K8S, name), at('settings', name.split('/').at(-1)!));
    cpSync(join(K8S, 'components/backup/script/pgbackrest.conf'), at('settings/pgbackrest.conf'));
  });
  after(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  it('is named by the clock of Postgres, noted there, and can be started', async () => {
    const redis = await startRedisServer(at('redis'), { settings: ['repl-diskless-sync-delay 0'] });
    servers.push(redis);
    const admin = openRedis(redis.url);
    await admin.set('written', 'before');
    const database = await freshLedgerDatabase();
    writeFileSync(at('secrets/redis-password'), PASSWORD);
    writeFileSync(at('secrets/database-url'), database);
    const done = run('engine', { REDIS_HOST: '127.0.0.1', REDIS_PORT: new URL(redis.url).port });
    admin.disconnect();
    expect(done.stderr + done.stdout).to.match(/SYNC|Transfer/);
    expect(done.status).to.equal(0);
    const [copy, ...others] = readdirSync(at('backups/engine'));
    expect(others).to.deep.equal([]);
    expect(copy).to.match(/^engine-\d{8}T\d{6}Z\.tar\.gz$/);
    const noted = await query(database, `select kind, at >= begun_at as "hasEnded" from backups`);
    expect(noted).to.deep.equal([{ kind: 'engine', hasEnded: true }]);
    spawnSync('tar', ['-C', at('restored'), '-xzf', at('backups/engine', copy!)]);
    const restored = await startRedisServer(at('restored'));
    servers.push(restored);
    const reader = openRedis(restored.url);
    expect(await reader.get('written')).to.equal('before');
    reader.disconnect();
  });

  it('is rehearsed beside a second server of Postgres alone', async () => {
    const [copy] = readdirSync(at('backups/engine'));
    const second = await startPostgresServer();
    servers.push(second);
    writeFileSync(at('rehearsal/kept'), '');
    const onServer = (url: string): SpawnSyncReturns<string> => {
      writeFileSync(at('second/database-url'), url);
      return run('rehearse-engine');
    };

    const refused = onServer(readFileSync(at('secrets/database-url'), 'utf8'));
    expect([refused.status, refused.stderr]).to.deep.equal([
      1,
      'database-url names the server that runs: a rehearsal needs a second one\n',
    ]);
    expect(readdirSync(at('rehearsal'))).to.deep.equal(['kept']);

    writeFileSync(at('second/copy'), 'engine-20200101T000000Z');
    expect(onServer(second.url).stderr).to.include('engine-20200101T000000Z');
    writeFileSync(at('second/copy'), copy!.replace('.tar.gz', ''));
    const rehearsed = onServer(second.url);
    expect(rehearsed.status, rehearsed.stderr).to.equal(0);
    expect(readdirSync(at('rehearsal/redis'))).to.deep.equal(['appendonlydir']);
  });
});
