/** The one place where connections to Redis are made. */

import { Redis, type RedisOptions } from 'ioredis';
import { type Endpoint, type RedisAddress, readRedisAddress } from './address.ts';
import { SentinelPrimaryConnector } from './sentinel-primary.ts';
import { type SlotRange, slotOwnerConnector } from './slot-owner.ts';

/** A dependency that does not answer within this is reported as away: clients hear 503 within three seconds. */
const ANSWER_WITHIN_MS = 2_000;
const LONGEST_PAUSE_MS = 1_000;

/** Without the one option whose type its own constructor refuses. */
export type ServerOptions = Omit<RedisOptions, 'replyMapping'>;

/** Options of every connection. */
const KEPT = {
  connectTimeout: ANSWER_WITHIN_MS,
  retryStrategy: (attempt: number) => Math.min(50 * attempt, LONGEST_PAUSE_MS),
  keepAlive: 10_000,
  noDelay: true,
  // A machine that vanished closes no connection: one that owes a reply for this long, and longer than BullMQ's reads
  // block, is given up.
  socketTimeout: 15_000,
  // It would tell the server the library's name and version, which no user of ours has to.
  disableClientInfo: true,
} satisfies ServerOptions;

/**
 * Nothing is queued while the server is away and nothing is sent twice: a command that was sent before a
 * break may have run, and only its sender knows whether asking again is safe.
 */
const HONEST = {
  ...KEPT,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  commandTimeout: ANSWER_WITHIN_MS,
  socketTimeout: 2 * ANSWER_WITHIN_MS,
  // When a Sentinel says that another server is the primary, the connection leaves the old one, which may never say so
  // itself.
  failoverDetector: true,
} satisfies ServerOptions;

/** The server answers that it is not, or no longer, the one to ask; nothing ran. */
const isWrongServer = (error: Error): boolean => /^(MOVED|READONLY|CLUSTERDOWN)\b/.test(error.message);

export interface Place {
  readonly url: string;
  /** Certificates in PEM form that the server's must come from; without, those of Node. */
  readonly ca?: string | undefined;
}

/** Called with the error of each failed attempt to connect, and with null after each success. */
export type Listener = (trouble: Error | null) => void;

function tellOutages(redis: Redis, tell: Listener): void {
  redis.on('error', (error: Error) => tell(error));
  redis.on('ready', () => tell(null));
}

/** A connection for commands. Its losses are told; each also ends the commands under way. */
export function connectRedis(place: Place | string, name: string, tell: Listener): Redis {
  return connect(place, HONEST, name, tell);
}

/** A connection that hears channels; which ones after a break is for its user to say. */
export function connectSubscriber(place: Place | string, name: string, tell: Listener): Redis {
  return connect(place, { ...HONEST, autoResubscribe: false }, name, tell);
}

function connect(place: Place | string, how: ServerOptions, name: string, tell: Listener): Redis {
  const connectionName = `redbook-${name}`;
  const redis = new Redis({
    ...how,
    ...serverOptions(place),
    reconnectOnError: isWrongServer,
    connectionName,
  });
  tellOutages(redis, tell);
  return redis;
}

/**
 * Options for BullMQ, which makes connections of its own; its blocking reads wait for a lost server without end, and
 * what was sent to the wrong one goes to the right one.
 */
export const queueConnection = (place: Place | string): ServerOptions => ({
  ...KEPT,
  ...serverOptions(place),
  reconnectOnError: (error) => isWrongServer(error) && 2,
  maxRetriesPerRequest: null,
});

/** Returns the options of ioredis for a URL. They lead to one server, which clusters and Sentinels are asked for. */
export function serverOptions(place: Place | string): ServerOptions {
  const { url, ca } = typeof place === 'string' ? { url: place } : place;
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

async function slotsOf(node: Endpoint, login: ServerOptions): Promise<readonly SlotRange[]> {
  const asked = { enableOfflineQueue: true, enableReadyCheck: false, retryStrategy: () => null };
  const redis = new Redis({ ...HONEST, ...login, ...node, ...asked });
  redis.on('error', () => undefined); // what is asked fails with it
  try {
    return await redis.cluster('SLOTS');
  } finally {
    redis.disconnect();
  }
}
