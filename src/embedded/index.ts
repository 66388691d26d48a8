/** Runs a private Redis and Postgres for users who bring none, and for the tests. */

import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartRefusal } from '../domain/errors.ts';
import { obtainRedis } from './obtain/redis-binary.mjs';
import {
  type DataFolder,
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
import { redisProgram, redisUrl } from './run/redis.ts';
import { type ServerProgram, type Supervised, supervise } from './run/supervise.ts';

export type { ServiceAddress } from './run/data-folder.ts';

interface EmbeddedServers {
  readonly redisUrl: string;
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
  /** Default true. False: Postgres does not wait for the disk, for data that is thrown away after the tests. */
  readonly durable?: boolean;
}

interface RunningServer {
  readonly url: string;
  stop(): Promise<void>;
}

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
  const { onProgress = () => {} } = options;
  const given = (url: string): RunningServer => ({ url, stop: async () => {} });
  const started = await Promise.allSettled([
    options.redisUrl ? given(options.redisUrl) : startRedis(folder, onProgress),
    options.databaseUrl
      ? given(options.databaseUrl)
      : startPostgres(folder, options.durable ?? true, onProgress),
  ]);
  const [redis, postgres] = started.map((one) => (one.status === 'fulfilled' ? one.value : undefined));
  const end = async (): Promise<void> => {
    delete folder.record.owner;
    delete folder.record.service;
    folder.save();
    await redis?.stop();
    await postgres?.stop();
    folder.release();
  };
  let ended: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    ended ??= end();
    return ended;
  };
  if (!redis || !postgres) {
    await stop();
    throw unusable(folder.path, started.find((one) => one.status === 'rejected')?.reason);
  }
  const owner = identify(process.pid);
  Object.assign(folder.record, { owner, redisUrl: redis.url, databaseUrl: postgres.url });
  folder.save();
  return {
    redisUrl: redis.url,
    databaseUrl: postgres.url,
    jwtSecret: folder.secrets.jwtSecret,
    announce(service) {
      folder.record.service = service;
      folder.save();
    },
    stop,
  };
}

interface RunningServers {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly jwtSecret: string;
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
    const { redisUrl, databaseUrl, service } = running.record;
    return { redisUrl, databaseUrl, jwtSecret: running.secrets.jwtSecret, ...(service && { service }) };
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function startRedis(folder: DataFolder, onProgress: (line: string) => void): Promise<RunningServer> {
  await endLeftover(folder.record.redis, 'SIGTERM');
  const binary = await obtainRedis(onProgress).catch((error: Error) => {
    throw new StartRefusal(error.message, 1);
  });
  const { redisPassword: password } = folder.secrets;
  const path = join(folder.path, 'redis');
  const logFile = join(folder.path, 'redis.log');
  const { port, server } = await startOnFreePort(folder, 'redis', onProgress, (port) =>
    redisProgram(binary, { path, logFile, port, password }),
  );
  onProgress(`Redis ${binary.version} is ready on 127.0.0.1:${port}.`);
  return { url: redisUrl(port, password), stop: () => server.stop() };
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
  return { url, stop: () => server.stop() };
}

/**
 * Starts on the port of the last run if it is free. The port may be taken between the check and the start, so that is
 * retried.
 */
async function startOnFreePort(
  folder: DataFolder,
  name: 'redis' | 'postgres',
  onProgress: (line: string) => void,
  programOn: (port: number) => ServerProgram,
): Promise<{ port: number; server: Supervised }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(attempt === 1 ? folder.record[name]?.port : undefined);
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
