/** The one place where connections to Redis are made. */

import { Redis, type RedisOptions } from 'ioredis';

/** A dependency that does not answer within this is reported as away: clients hear 503 within three seconds. */
const ANSWER_WITHIN_MS = 2_500;
const LONGEST_PAUSE_MS = 1_000;
const DEFAULT_PORT = 6379;

/**
 * Nothing is queued while the server is away and nothing is sent twice: a command that was sent before a
 * break may have run, and only its sender knows whether asking again is safe.
 */
const HONEST = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  commandTimeout: ANSWER_WITHIN_MS,
  connectTimeout: ANSWER_WITHIN_MS,
  retryStrategy: (attempt: number) => Math.min(50 * attempt, LONGEST_PAUSE_MS),
  keepAlive: 10_000,
  noDelay: true,
  // It would tell the server the library's name and version, which no user of ours has to.
  disableClientInfo: true,
} satisfies RedisOptions;

/** A connection for commands. Errors are logged by name; each break also ends the commands under way. */
export function connectRedis(url: string, name: string, onError: (message: string) => void): Redis {
  const redis = new Redis(url, { ...HONEST, connectionName: `redbook-${name}` });
  redis.on('error', (error: Error) => onError(`${name}: ${error.message || error.name}`));
  return redis;
}

/** A connection that hears channels, and nothing else; which ones after a break is for its user to say. */
export function connectSubscriber(url: string, name: string, onError: (message: string) => void): Redis {
  const options = { ...HONEST, autoResubscribe: false, connectionName: `redbook-${name}` };
  const redis = new Redis(url, options);
  redis.on('error', (error: Error) => onError(`${name}: ${error.message || error.name}`));
  return redis;
}

/** Options for BullMQ, which makes connections of its own; its blocking reads wait for a lost server without end. */
export function queueConnection(url: string): RedisOptions {
  const { hostname, port, username, password, pathname, protocol } = new URL(url);
  const { retryStrategy, keepAlive, noDelay } = HONEST;
  return {
    ...{ retryStrategy, keepAlive, noDelay, maxRetriesPerRequest: null },
    host: hostname,
    port: Number(port || DEFAULT_PORT),
    db: Number(pathname.slice(1) || 0),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
}
