/**
 * Runs a private Redis and Postgres for users who bring none, and for the tests.
 *
 * Uses: domain.
 * Begin at `obtain/` for where the servers come from, `run/` for how they run.
 */

import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartRefusal } from '../domain/errors.ts';
import { obtainRedis, type RedisBinary } from './obtain/redis-binary.mjs';
import {
  type DataFolder,
  type OwnServerName,
  openDataFolder,
  readRunning,
  type ServerRecord,
  type ServiceAddress,
  unreadable,
  unusable,
} from './run/data-folder.ts';
import { freePort } from './run/ports.ts';
import { openCluster, postgresProgram, removeForeignLock } from './run/postgres.ts';
import { makePostgresUsers } from './run/postgres-users.ts';
import { identify, isAlive, type ProcessIdentity } from './run/process-identity.ts';
import { copiesUrl, copySettings, redisProgram, redisUrl } from './run/redis.ts';
import { type ServerProgram, type Supervised, supervise } from './run/supervise.ts';

export type { ServiceAddress } from './run/data-folder.ts';

interface EmbeddedServers {
  readonly redisUrl: string;
  /** Absent if the queue is on the engine's Redis. */
  readonly queueRedisUrl?: string;
  /** Names the database `postgres`. */
  readonly databaseUrl: string;
  /** Created once and kept with the data. */
  readonly jwtSecret: string;
  /** Records in the data folder the address of the service on these servers. */
  announce(service: ServiceAddress): void;
  /** Stops the servers in order. Their data and ports are kept for the next start. */
  stop(): Promise<void>;
}

/** A data folder that this process has locked, on which no server runs yet. */
interface ClaimedFolder {
  /**
   * Starts the servers that are not given, on the data of the last run. A server that dies is started again on the same
   * port.
   * @throws StartRefusal when a server does not start, with what to do about it; the folder is free then
   */
  start(options?: OwnServersOptions): Promise<EmbeddedServers>;
  /** Releases the folder without starting servers. */
  release(): void;
}

interface OwnServersOptions {
  readonly onProgress?: (line: string) => void;
  /** Address of an existing server, used in place of an embedded one. */
  readonly redisUrl?: string | undefined;
  readonly databaseUrl?: string | undefined;
  /** Starts this many copies of the engine, and a Redis for the queue; default one engine for both. */
  readonly copies?: number | undefined;
  /** Default true. False: Postgres does not wait for the disk, for data that is thrown away after the tests. */
  readonly durable?: boolean;
}

interface RunningServer {
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
}

/** The servers of the engine and of the queue. */
interface RunningRedis extends Pick<EmbeddedServers, 'redisUrl' | 'queueRedisUrl'> {
  stop(): Promise<void>;
}

type OwnRedisName = Exclude<OwnServerName, 'postgres'>;

const START_ATTEMPTS = 3;
const LEFTOVER_GRACE_MS = 15_000;

/**
 * @throws StartRefusal when another process runs on the folder or the folder cannot be used, with what to do about it
 */
export function claimFolder(dataDir: string): ClaimedFolder {
  const folder = openDataFolder(resolve(dataDir));
  return {
    start: (options = {}) => startServers(folder, options),
    release: () => folder.release(),
  };
}

/** Claims the folder and starts the servers on it. */
export async function startEmbedded(
  options: OwnServersOptions & { readonly dataDir: string },
): Promise<EmbeddedServers> {
  return claimFolder(options.dataDir).start(options);
}

async function startServers(folder: DataFolder, options: OwnServersOptions): Promise<EmbeddedServers> {
  const { onProgress = () => {}, redisUrl, databaseUrl } = options;
  const started = await Promise.allSettled([
    redisUrl ? { redisUrl, stop: async () => {} } : startRedis(folder, options.copies, onProgress),
    databaseUrl
      ? { url: databaseUrl, stop: async () => {} }
      : startPostgres(folder, options.durable ?? true, onProgress),
  ] as const);
  const [redis, postgres] = started;
  const end = async (): Promise<void> => {
    delete folder.record.owner;
    delete folder.record.service;
    folder.save();
    for (const one of started) if (one.status === 'fulfilled') await one.value.stop();
    folder.release();
  };
  let ended: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    ended ??= end();
    return ended;
  };
  if (redis.status === 'rejected' || postgres.status === 'rejected') {
    await stop();
    throw unusable(folder.path, started.find((one) => one.status === 'rejected')?.reason);
  }
  const owner = identify(process.pid);
  const { stop: _, ...urls } = { ...redis.value, databaseUrl: postgres.value.url };
  delete folder.record.queueRedisUrl;
  Object.assign(folder.record, { owner, ...urls });
  folder.save();
  return {
    ...urls,
    jwtSecret: folder.secrets.jwtSecret,
    announce(service) {
      folder.record.service = service;
      folder.save();
    },
    stop,
  };
}

interface RunningServers
  extends Pick<EmbeddedServers, 'redisUrl' | 'queueRedisUrl' | 'databaseUrl' | 'jwtSecret'> {
  /** Absent until the service serves requests. */
  readonly service?: ServiceAddress;
}

/**
 * Returns where an all-in-one runs on this data folder; undefined when none does.
 * @throws StartRefusal when the folder cannot be read: only its own user may
 */
export function findEmbedded(dataDir: string): RunningServers | undefined {
  const path = resolve(dataDir);
  try {
    const running = readRunning(path);
    if (!running?.record.redisUrl || !running.record.databaseUrl) return undefined;
    const { redisUrl, queueRedisUrl, databaseUrl, service } = running.record;
    return {
      redisUrl,
      ...(queueRedisUrl && { queueRedisUrl }),
      databaseUrl,
      jwtSecret: running.secrets.jwtSecret,
      ...(service && { service }),
    };
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function startRedis(
  folder: DataFolder,
  copies: number | undefined,
  onProgress: (line: string) => void,
): Promise<RunningRedis> {
  const { path, record } = folder;
  const count = copies ?? 1;
  if (record.copies !== undefined && record.copies > count)
    throw new StartRefusal(
      `The engine in the data folder ${path} has ${record.copies} copies: start it with --copies ${record.copies}, or name another folder in DATA_DIR.`,
      2,
    );
  const binary = await obtainRedis(onProgress).catch((error: Error) => {
    throw new StartRefusal(error.message, 1);
  });
  const start = (name: OwnRedisName, isCopy: boolean): Promise<RunningServer> =>
    startRedisServer(folder, binary, name, isCopy, onProgress);
  if (copies === undefined) {
    const { url: redisUrl, stop } = await start('redis', false);
    return { redisUrl, stop };
  }
  const names = Array.from({ length: count }, (_, at) => (at === 0 ? 'redis' : (`redis-${at + 1}` as const)));
  const started = await Promise.allSettled([
    start('queue', false),
    ...names.map((name) => start(name, true)),
  ]);
  const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((server) => server.stop()));
  };
  const [queue, ...engines] = running;
  if (queue === undefined || running.length < started.length) {
    await stop();
    throw started.find((one) => one.status === 'rejected')?.reason;
  }
  record.copies = count;
  const { redisPassword } = folder.secrets;
  const redisUrl = copiesUrl(
    engines.map(({ port }) => port),
    redisPassword,
  );
  return { redisUrl, queueRedisUrl: queue.url, stop };
}

async function startRedisServer(
  folder: DataFolder,
  binary: RedisBinary,
  name: OwnRedisName,
  isCopy: boolean,
  onProgress: (line: string) => void,
): Promise<RunningServer> {
  await endLeftover(folder.record[name], 'SIGTERM');
  const { redisPassword: password } = folder.secrets;
  const path = join(folder.path, name);
  const logFile = join(folder.path, `${name}.log`);
  const programOn = (port: number): ServerProgram => {
    const asCopy = isCopy && {
      name: `Redis on 127.0.0.1:${port}`,
      settings: copySettings(password),
    };
    return redisProgram(binary, { path, logFile, port, password, ...asCopy });
  };
  const { port, server } = await startOnFreePort(folder, name, onProgress, programOn, isCopy);
  const what = isCopy ? ', a copy of the engine,' : '';
  onProgress(`Redis ${binary.version}${what} is ready on 127.0.0.1:${port}.`);
  return { port, url: redisUrl(port, password), stop: () => server.stop() };
}

async function startPostgres(
  folder: DataFolder,
  durable: boolean,
  onProgress: (line: string) => void,
): Promise<RunningServer> {
  await endLeftover(folder.record.postgres, 'SIGINT');
  const { postgresPassword: password } = folder.secrets;
  const path = join(folder.path, 'postgres');
  const logFile = join(folder.path, 'postgres.log');
  const cluster = await openCluster({ path, logFile, password, durable, onProgress });
  const { port, server } = await startOnFreePort(folder, 'postgres', onProgress, (port) => {
    removeForeignLock(cluster);
    return postgresProgram(cluster, port);
  });
  const url = await makePostgresUsers(port, password).catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  onProgress(`Postgres is ready on 127.0.0.1:${port}.`);
  return { port, url, stop: () => server.stop() };
}

/**
 * Starts on the port of the last run if it is free. The port may be taken between the check and the start, so that is
 * retried. A copy keeps its port, which is its name in Postgres.
 */
async function startOnFreePort(
  folder: DataFolder,
  name: OwnServerName,
  onProgress: (line: string) => void,
  programOn: (port: number) => ServerProgram,
  isCopy = false,
): Promise<{ port: number; server: Supervised }> {
  const last = folder.record[name]?.port;
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(attempt === 1 || isCopy ? last : undefined);
    if (isCopy && last !== undefined && port !== last)
      throw new StartRefusal(
        `Port ${last} on 127.0.0.1 belongs to a copy of the engine and is in use by another program: end that program first.`,
        1,
      );
    const onBorn = (pid: number): void => {
      folder.record[name] = { port, process: identify(pid) };
      folder.save();
    };
    try {
      return { port, server: await supervise(programOn(port), onBorn, onProgress) };
    } catch (error) {
      if (attempt === START_ATTEMPTS) throw error;
    }
  }
}

/** Ends a server of the last run, if that run was killed and left nobody to end the server. */
async function endLeftover(record: ServerRecord | undefined, stopSignal: NodeJS.Signals): Promise<void> {
  const leftover = record?.process;
  if (!leftover || !isAlive(leftover)) return;
  process.kill(leftover.pid, stopSignal);
  if (await ends(leftover, LEFTOVER_GRACE_MS)) return;
  process.kill(leftover.pid, 'SIGKILL');
  await ends(leftover, LEFTOVER_GRACE_MS);
}

async function ends(leftover: ProcessIdentity, withinMs: number): Promise<boolean> {
  for (const deadlineMs = Date.now() + withinMs; Date.now() < deadlineMs; await sleep(20))
    if (!isAlive(leftover)) return true;
  return false;
}
