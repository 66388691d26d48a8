/** Names of servers for operators: address and setting, without a password. */

import type { Config } from '../config.ts';
import { readRedisAddress } from '../redis/address.ts';
import type { ServedConfig } from './served-config.ts';

export interface ServerNames {
  readonly engine: string;
  /** Equals `engine` if both use one server. */
  readonly queue: string;
  readonly postgres: string;
}

/** @param config may lack servers that its role does not use */
export function serverNames(config: Config & Pick<ServedConfig, 'own'>): ServerNames {
  const { redisUrl = '', queueRedisUrl, databaseUrl = '', own } = config;
  const engine = own?.redis ? 'its own Redis (below DATA_DIR)' : redisName('REDIS_URL', redisUrl);
  const ofQueue = (url: string): string =>
    own?.queue ? 'its own Redis for the queue (below DATA_DIR)' : redisName('QUEUE_REDIS_URL', url);
  return {
    engine,
    queue: queueRedisUrl === undefined || queueRedisUrl === redisUrl ? engine : ofQueue(queueRedisUrl),
    postgres: own?.postgres ? 'its own Postgres (below DATA_DIR)' : postgresName(databaseUrl),
  };
}

function redisName(setting: string, url: string): string {
  const { endpoints = [], tls } = readRedisAddress(url) ?? {};
  const places = endpoints.map(({ host, port }) => `${host}:${port}`).join(', ');
  // A server without TLS does not answer a TLS client, so the name says `over TLS` as a hint.
  return `Redis at ${places}${tls ? ' over TLS' : ''} (${setting})`;
}

/** Returns the name of a Postgres server with its host. The URL of a Unix socket has no host. */
export function postgresName(url: string): string {
  const { hostname = '', port } = URL.canParse(url) ? new URL(url) : {};
  return `Postgres${hostname === '' ? '' : ` at ${hostname}:${port || 5432}`} (DATABASE_URL)`;
}

/** Returns the passwords of all URLs, both plain and URL-encoded. */
export function passwordsOf({ redisUrl, queueRedisUrl, databaseUrl }: Config): string[] {
  return [redisUrl, queueRedisUrl, databaseUrl].flatMap((url) =>
    [...(url ?? '').matchAll(/:\/\/[^@/]*?:([^@/]+)@/g)].flatMap(([, password]) => [
      password!,
      decoded(password!),
    ]),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
