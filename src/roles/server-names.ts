/** Names of the servers for operators: place and setting, without a password. */

import type { Config } from '../config.ts';
import { readRedisAddress } from '../redis/address.ts';
import type { ServedConfig } from './backends.ts';

export interface ServerNames {
  readonly engine: string;
  /** The engine's name where both are one server. */
  readonly queue: string;
  readonly postgres: string;
}

/** @param config that may lack what its role does not need */
export function serverNames(config: Config & Partial<ServedConfig>): ServerNames {
  const { redisUrl = '', queueRedisUrl, databaseUrl = '', own } = config;
  const engine = own?.redis ? 'its own Redis (below DATA_DIR)' : redisName('REDIS_URL', redisUrl);
  return {
    engine,
    queue:
      queueRedisUrl === undefined || queueRedisUrl === redisUrl
        ? engine
        : redisName('QUEUE_REDIS_URL', queueRedisUrl),
    postgres: own?.postgres ? 'its own Postgres (below DATA_DIR)' : postgresName(databaseUrl),
  };
}

function redisName(setting: string, url: string): string {
  const { kind, endpoints = [], primaryName, tls } = readRedisAddress(url) ?? {};
  const places = endpoints.map(({ host, port }) => `${host}:${port}`).join(', ');
  const server = kind === 'sentinel' ? `Redis ${primaryName}, by the Sentinels` : 'Redis';
  // A plain server says nothing to a client that speaks TLS: the hint is in the name.
  return `${server} at ${places}${tls ? ' over TLS' : ''} (${setting})`;
}

/** The URL of a socket names no host. */
export function postgresName(url: string): string {
  const { hostname = '', port } = URL.canParse(url) ? new URL(url) : {};
  return `Postgres${hostname === '' ? '' : ` at ${hostname}:${port || 5432}`} (DATABASE_URL)`;
}

/** The passwords of all URLs, as they are and as URLs write them. */
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
