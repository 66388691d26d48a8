/** Makes all connections to Redis. */

import { Redis, type RedisOptions } from 'ioredis';
import { type HostPort, type RedisAddress, readRedisAddress } from './address.ts';
import { findPrimary } from './copies-primary.ts';
import './fast-strings.ts';
import { endpointOf, foundServerConnector } from './found-server.ts';
import { findSlotOwner, type SlotRange } from './slot-owner.ts';

/** Timeout after which a dependency counts as unavailable, so that clients get a 503 within three seconds. */
const ANSWER_WITHIN_MS = 2_000;
const MAX_PAUSE_MS = 1_000;
/** Timeout after which a copy counts as silent for now. */
const COPY_ANSWERS_WITHIN_MS = 1_000;
const COPY_PAUSE_MS = 200;
/** Pause of a connection beside another one that is not there. */
const BESIDE_PAUSE_MS = 50;

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
} satisfies ServerOptions;

/** A search for the primary among copies goes on without those that hang. */
const LOOKING: ServerOptions = { connectTimeout: 500, commandTimeout: 500 };

/** Least time between two reconnections because of a reply: a server that stays the wrong one must not be flooded. */
const WRONG_SERVER_PAUSE_MS = 500;

/**
 * Returns a check of replies, which is true if the server answers that it is not the right one to ask. The command did
 * not run.
 */
function wrongServerCheck(): (error: Error) => boolean {
  let lastMs = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    if (!/^(MOVED|READONLY|CLUSTERDOWN)\b/.test(message)) return false;
    if (performance.now() - lastMs < WRONG_SERVER_PAUSE_MS) return false;
    lastMs = performance.now();
    return true;
  };
}

export interface RedisServer {
  readonly url: string;
  /** CA certificates for the server, in PEM form; default Node's own. */
  readonly ca?: string | undefined;
}

/** Ranks a server of a list of copies: undefined for a replica; a later primary has a higher rank. */
export type Rank = (server: Redis) => Promise<number | undefined>;

/** Called with the error of each failed connection attempt, and with null after each success. */
export type ConnectionListener = (trouble: Error | null) => void;

function tellOutages(redis: Redis, tell: ConnectionListener): void {
  redis.on('error', (error: Error) => tell(error));
  redis.on('ready', () => tell(null));
}

/**
 * Makes a connection for commands. A lost connection is reported and fails the commands in flight.
 * @param rankOf needed for copies
 */
export function connectRedis(
  server: RedisServer | string,
  name: string,
  tell: ConnectionListener,
  rankOf?: Rank,
): Redis {
  return connect({ ...HONEST, ...serverOptions(server, rankOf) }, name, tell);
}

/** Makes a connection that leads to the server of another one, after each of its own breaks. */
export function connectBeside(
  other: Redis,
  server: RedisServer,
  name: string,
  tell: ConnectionListener,
): Redis {
  const { login, database } = readPlace(server);
  const find = async () => endpointOf(other);
  const Connector = foundServerConnector({ find, pauseMs: () => BESIDE_PAUSE_MS, tls: login.tls });
  return connect({ ...HONEST, ...login, db: database, Connector }, name, tell);
}

/** Makes a connection to one server of a list, whatever its role is. */
export function connectServer(place: RedisServer, server: HostPort, name: string): Redis {
  const { login, database } = readPlace(place);
  const impatient = { commandTimeout: COPY_ANSWERS_WITHIN_MS, connectTimeout: COPY_ANSWERS_WITHIN_MS };
  const pauseMs = { retryStrategy: () => COPY_PAUSE_MS, socketTimeout: 2 * COPY_ANSWERS_WITHIN_MS };
  const options = { ...HONEST, ...login, ...server, db: database, ...impatient, ...pauseMs };
  return connect({ ...options, enableReadyCheck: false }, name, () => undefined);
}

/** Asks one server of a list on a connection of its own, whatever its role is. Rejects when it is away. */
export function askServer<T>(
  place: RedisServer,
  server: HostPort,
  ask: (redis: Redis) => Promise<T>,
): Promise<T> {
  const { login, database } = readPlace(place);
  const impatient = { commandTimeout: COPY_ANSWERS_WITHIN_MS, connectTimeout: COPY_ANSWERS_WITHIN_MS };
  return asked(server, { ...login, db: database, ...impatient }, ask);
}

/** Makes a connection for pub/sub. After a reconnect, its user must subscribe again. */
export function connectSubscriber(
  server: RedisServer | string,
  name: string,
  tell: ConnectionListener,
): Redis {
  return connect({ ...HONEST, autoResubscribe: false, ...serverOptions(server) }, name, tell);
}

function connect(options: ServerOptions, name: string, tell: ConnectionListener): Redis {
  const connectionName = `redbook-${name}`;
  const redis = new Redis({ ...options, reconnectOnError: wrongServerCheck(), connectionName });
  tellOutages(redis, tell);
  return redis;
}

/**
 * Options for BullMQ, which makes its own connections. Its blocking reads wait for a lost server without a limit, and
 * commands that reached the wrong server are resent to the right one.
 */
export function queueConnection(server: RedisServer | string): ServerOptions {
  const isWrongServer = wrongServerCheck();
  return {
    ...KEPT,
    ...serverOptions(server),
    reconnectOnError: (error) => isWrongServer(error) && 2,
    maxRetriesPerRequest: null,
  };
}

/**
 * Returns the ioredis options for a URL. They lead to one server, which is looked up among copies, or at the nodes of a
 * durable service.
 * @param rankOf needed for copies
 */
export function serverOptions(server: RedisServer | string, rankOf?: Rank): ServerOptions {
  const { address, login, database } = readPlace(server);
  return { ...login, db: database, ...wayTo(address, login, rankOf) };
}

function readPlace(server: RedisServer | string) {
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
  return { address, login, database };
}

function wayTo(
  { kind, endpoints }: RedisAddress,
  login: ServerOptions,
  rankOf: Rank = async () => undefined,
): ServerOptions {
  const through = { pauseMs: KEPT.retryStrategy, tls: login.tls };
  switch (kind) {
    case 'server':
      return { ...endpoints[0]! };
    case 'durable': {
      const slotsOf = (node: HostPort): Promise<readonly SlotRange[]> =>
        asked(node, login, (redis) => redis.cluster('SLOTS'));
      const find = findSlotOwner({ nodes: endpoints, slotsOf });
      return { Connector: foundServerConnector({ ...through, find }) };
    }
    case 'copies': {
      const find = findPrimary({
        servers: endpoints,
        rankOf: (server) => asked(server, { ...login, ...LOOKING }, rankOf),
      });
      return { Connector: foundServerConnector({ ...through, find }) };
    }
  }
}

/** Asks a server something on a connection of its own. */
async function asked<T>(node: HostPort, how: ServerOptions, ask: (redis: Redis) => Promise<T>): Promise<T> {
  const once = { enableOfflineQueue: true, enableReadyCheck: false, retryStrategy: () => null };
  const redis = new Redis({ ...HONEST, ...how, ...node, ...once });
  redis.on('error', () => undefined); // each command fails with the error
  try {
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}
