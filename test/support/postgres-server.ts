/** A Postgres for a single test, which may kill and damage it. */

import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { openCluster, postgresProgram, postgresUrl } from '../../src/embedded/run/postgres.ts';
import { type Killable, startKillable } from './killable.ts';
import { freePort } from './ports.ts';

const PASSWORD = 'test';

/** `kill` kills the parent of all its processes; `stop` removes its data. */
export interface PostgresServer extends Killable {
  readonly url: string;
}

export interface PostgresStart {
  /** Where its data are; it may hold those of an earlier server. */
  readonly folder?: string;
  /** True to flush each commit to the disk, so that the data survive a kill as in production. */
  readonly durable?: boolean;
  readonly port?: number;
  /** Settings of the server, by their names. */
  readonly settings?: Readonly<Record<string, string>>;
  /** An installed Postgres in place of the package's, with its own tools for backups. */
  readonly installed?: InstalledPostgres;
}

export interface InstalledPostgres {
  /** Folder that holds `bin`, from `installedPostgres`. */
  readonly home: string;
  /** Lines of the configuration of a new database. */
  readonly settings?: readonly string[];
}

const INSTALLED = '/usr/lib/postgresql';
const TOOLS = ['postgres', 'initdb', 'pg_dump', 'pg_restore', 'pg_basebackup'];

/** Returns the folder of an installed Postgres that has its tools for backups; undefined when there is none. */
export function installedPostgres(): string | undefined {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED) : [];
  const homes = versions.map((version) => join(INSTALLED, version));
  return homes.find((home) => TOOLS.every((tool) => existsSync(join(home, 'bin', tool))));
}

/** Runs a tool of an installed Postgres. @throws with what it said */
export function runTool(home: string, tool: string, ...parameters: string[]): void {
  const { status, stderr } = spawnSync(join(home, 'bin', tool), parameters, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${tool}: ${stderr}`);
}

/**
 * Starts an installed Postgres on a base backup, which may go on as a standby.
 * @param folder whose `postgres/data` has the backup
 */
export async function startOnBackup(home: string, folder: string): Promise<PostgresServer> {
  const path = join(folder, 'postgres/data');
  const user = userOfPostgres();
  if (user) spawnSync('chown', ['-R', `${user.uid}:${user.gid}`, join(folder, 'postgres')]);
  letWalkTo(path);
  const cluster = { home, path, user, logFile: join(folder, 'postgres.log'), durable: true };
  const port = await freePort();
  const url = postgresUrl(port, PASSWORD);
  const isReady = async (): Promise<boolean> => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  };
  const server = await startKillable({ ...postgresProgram(cluster, port), isReady });
  return {
    ...server,
    url,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function startPostgresServer(asked: PostgresStart = {}): Promise<PostgresServer> {
  const { folder = mkdtempSync(join(tmpdir(), 'redbook-postgres-')), durable = true, installed } = asked;
  const place = { path: join(folder, 'postgres'), logFile: join(folder, 'postgres.log') };
  const cluster =
    installed === undefined
      ? await openCluster({ ...place, password: PASSWORD, durable, onProgress: () => {} })
      : { ...openInstalled(installed, place.path), logFile: place.logFile, durable };
  const port = asked.port ?? (await freePort());
  const server = await startKillable(postgresProgram(cluster, port, asked.settings));
  return {
    ...server,
    url: postgresUrl(port, PASSWORD),
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type User = { readonly uid: number; readonly gid: number } | undefined;

/** Root runs Postgres as nobody, because Postgres does not run as root. */
function userOfPostgres(): User {
  if (process.getuid?.() !== 0) return undefined;
  const numberOf = (flag: string): number => Number(spawnSync('id', [flag, 'nobody']).stdout);
  return { uid: numberOf('-u'), gid: numberOf('-g') };
}

/** Its programs leave their folder and come back, so their user must be able to walk to it. */
function letWalkTo(folder: string): void {
  for (let above = dirname(folder); above !== dirname(above); above = dirname(above)) {
    const { mode } = statSync(above);
    if ((mode & 0o001) === 0) chmodSync(above, mode | 0o011);
  }
}

function openInstalled(
  { home, settings = [] }: InstalledPostgres,
  parent: string,
): { home: string; path: string; user: User } {
  const path = join(parent, 'data');
  const user = userOfPostgres();
  if (existsSync(path)) return { home, path, user };
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const passwordFile = join(parent, 'password');
  writeFileSync(passwordFile, PASSWORD);
  if (user) {
    for (const file of [parent, path, passwordFile]) chownSync(file, user.uid, user.gid);
    letWalkTo(parent);
  }
  const folders = ['--pgdata=.', '--pwfile=../password'];
  const others = ['--username=postgres', '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C'];
  const made = spawnSync(join(home, 'bin/initdb'), [...folders, ...others], {
    ...user,
    cwd: path,
    encoding: 'utf8',
  });
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`);
  appendFileSync(join(path, 'postgresql.conf'), `${settings.join('\n')}\n`);
  return { home, path, user };
}
