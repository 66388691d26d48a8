/** Makes all connections to Redis. */

import { Redis, type RedisOptions } from 'ioredis';
import { type HostPort, type RedisAddress, readRedisAddress } from './address.ts';
import { SentinelPrimaryConnector } from './sentinel-primary.ts';
import { type SlotRange, slotOwnerConnector } from './slot-owner.ts';

/** Timeout after which a dependency counts as unavailable, so that clients get a 503 within three seconds. */
const ANSWER_WITHIN_MS = 2_000;
const MAX_PAUSE_MS = 1_000;

/** Options of ioredis without the one whose type its own constructor rejects. */
export type ServerOptions = Omit<RedisOptions, 'replyMapping'>;

/** Options of every connection. */
const KEPT = {
  connectTimeout: ANSWER_WITHIN_MS,
  retryStrategy: (attempt: number) => Math.min(50 * attempt, MAX_PAUSE_MS),
  keepAlive: 10_000,
  noDelay: true,
  // A vanished machine closes no connection, so a connection without a reply for this long is dropped. The time is
  // longer than BullMQ's blocking reads.
  socketTimeout: 15_000,
  // Otherwise ioredis sends its name and version with CLIENT SETINFO, which our Redis users may not run.
  disableClientInfo: true,
} satisfies ServerOptions;

/**
 * Commands are neither queued while the server is unavailable nor sent twice. A command that was sent before a
 * connection broke may have run, and only its caller knows whether a retry is safe.
 */
const HONEST = {
  ...KEPT,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  commandTimeout: ANSWER_WITHIN_MS,
  socketTimeout: 2 * ANSWER_WITHIN_MS,
  // When a Sentinel names another primary, the connection leaves the old one, which may never announce the change
  // itself.
  failoverDetector: true,
} satisfies ServerOptions;

/** True if the server answers that it is not the right one to ask. The command did not run. */
const isWrongServer = (error: Error): boolean => /^(MOVED|READONLY|CLUSTERDOWN)\b/.test(error.message);

export interface RedisServer {
  readonly url: string;
  /** CA certificates for the server, in PEM form; default Node's own. */
  readonly ca?: string | undefined;
}

/** Called with the error of each failed connection attempt, and with null after each success. */
export type ConnectionListener = (trouble: Error | null) => void;

function tellOutages(redis: Redis, tell: ConnectionListener): void {
  redis.on('error', (error: Error) => tell(error));
  redis.on('ready', () => tell(null));
}

/** Makes a connection for commands. A lost connection is reported and fails the commands in flight. */
export function connectRedis(server: RedisServer | string, name: string, tell: ConnectionListener): Redis {
  return connect(server, HONEST, name, tell);
}

/** Makes a connection for pub/sub. After a reconnect, its user must subscribe again. */
export function connectSubscriber(
  server: RedisServer | string,
  name: string,
  tell: ConnectionListener,
): Redis {
  return connect(server, { ...HONEST, autoResubscribe: false }, name, tell);
}

function connect(
  server: RedisServer | string,
  how: ServerOptions,
  name: string,
  tell: ConnectionListener,
): Redis {
  const connectionName = `redbook-${name}`;
  const redis = new Redis({
    ...how,
    ...serverOptions(server),
    reconnectOnError: isWrongServer,
    connectionName,
  });
  tellOutages(redis, tell);
  return redis;
}

/**
 * Options for BullMQ, which makes its own connections. Its blocking reads wait for a lost server without a limit, and
 * commands that reached the wrong server are resent to the right one.
 */
export const queueConnection = (server: RedisServer | string): ServerOptions => ({
  ...KEPT,
  ...serverOptions(server),
  reconnectOnError: (error) => isWrongServer(error) && 2,
  maxRetriesPerRequest: null,
});

/**
 * Returns the ioredis options for a URL. They lead to one server, which is looked up in a cluster or at the Sentinels.
 */
export function serverOptions(server: RedisServer | string): ServerOptions {
  const { url, ca } = typeof server === 'string' ? { url: server } : server;
  const address = readRedisAddress(url);
  if (address === undefined) throw new Error('not the URL of a Redis');
  const { username, password, database } = address;
  const tls = address.tls ? { ...(ca === undefined ? {} : { ca }) } : undefined;
  const login: ServerOptions = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  };
  return { ...login, db: database, ...wayTo(address, login) };
}

function wayTo({ kind, endpoints, primaryName }: RedisAddress, login: ServerOptions): ServerOptions {
  switch (kind) {
    case 'server':
      return { ...endpoints[0]! };
    case 'cluster':
      return {
        Connector: slotOwnerConnector({
          nodes: endpoints,
          slotsOf: (node) => slotsOf(node, login),
          pauseMs: KEPT.retryStrategy,
          tls: login.tls,
        }),
      };
    case 'sentinel':
      return {
        Connector: SentinelPrimaryConnector,
        sentinels: [...endpoints],
        name: primaryName!,
        sentinelRetryStrategy: KEPT.retryStrategy,
        sentinelCommandTimeout: ANSWER_WITHIN_MS,
        ...(login.tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: login.tls }),
      };
  }
}

async function slotsOf(node: HostPort, login: ServerOptions): Promise<readonly SlotRange[]> {
  const asked = { enableOfflineQueue: true, enableReadyCheck: false, retryStrategy: () => null };
  const redis = new Redis({ ...HONEST, ...login, ...node, ...asked });
  redis.on('error', () => undefined); // each command fails with the error
  try {
    return await redis.cluster('SLOTS');
  } finally {
    redis.disconnect();
  }
}
