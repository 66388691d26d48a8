/** Redis servers that are copies of one engine, and the parts of the service that use them. */

import { join } from 'node:path';
import { pino } from 'pino';
import { readConfig, requireFor } from '../../src/config.ts';
import { readRedisAddress, serverName } from '../../src/redis/address.ts';
import { connectServer } from '../../src/redis/connections.ts';
import { type Backends, engineAt, openBackends } from '../../src/roles/backends.ts';
import { CopiesKeeper } from '../../src/roles/copies-keeper.ts';
import { createSettlementWorker } from '../../src/workers/settlement.ts';
import { freePort } from './ports.ts';
import { ADMIN, asReplica, asUser, PASSWORD, type RedisServer, startRedisServer } from './redis-server.ts';

/**
 * A copy starts as a replica of nobody: the keepers tell it what it is. A server that lost its disk hands out nothing
 * then.
 */
const AS_COPY = [...asReplica, 'replicaof 127.0.0.1 1', 'repl-ping-replica-period 1'];

export interface Copies {
  readonly servers: readonly RedisServer[];
  /** Names of the servers, like those of the row. */
  readonly names: readonly string[];
  /** The administrator's URL of all. */
  readonly url: string;
  stop(): Promise<void>;
}

export async function startCopies(folder: string, count = 3): Promise<Copies> {
  const servers: RedisServer[] = [];
  for (let at = 0; at < count; at += 1)
    servers.push(
      await startRedisServer(join(folder, `copy-${at}`), { port: await freePort(), settings: AS_COPY }),
    );
  const places = servers.map(({ url }) => new URL(url).host);
  return {
    servers,
    names: places,
    url: `redis+copies://${ADMIN}:${PASSWORD}@${places.join(',')}`,
    async stop() {
      for (const server of servers) {
        // A stopped process would not end.
        process.kill(server.pid(), 'SIGCONT');
        await server.stop();
      }
    },
  };
}

export interface PartsOptions {
  readonly url: string;
  readonly queueUrl: string;
  readonly databaseUrl: string;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Opens what a process of a role has, with the rights of its user. */
export function openPart(
  role: string,
  { url, queueUrl, databaseUrl, settings = {} }: PartsOptions,
): Backends {
  const config = readConfig({
    REDIS_URL: asUser(`engine-${role}`, url),
    QUEUE_REDIS_URL: asUser(`queue-${role}`, queueUrl),
    DATABASE_URL: databaseUrl,
    CLAIM_FILTER_BYTES: String(64 * 1024),
    ENGINE_DOWN_AFTER_MS: '1500',
    ENGINE_COPY_LATE_MS: '3000',
    ...settings,
  });
  return openBackends(
    role,
    requireFor('settlement', config),
    pino({ level: process.env.COPIES_LOG ?? 'silent' }),
  );
}

/** Starts a keeper with the connections of a part. */
export function startKeeper({ config, copies, ledger, logger }: Backends): CopiesKeeper {
  const at = engineAt(config);
  return new CopiesKeeper({
    servers: readRedisAddress(at.url)!.endpoints,
    connect: (server) => connectServer(at, server, 'keeper'),
    register: ledger.copies,
    rounds: copies!.rounds,
    leastCopies: config.engineLeastCopies,
    downAfterMs: config.engineDownAfterMs,
    copyLateMs: config.engineCopyLateMs,
    logger,
  });
}

export { createSettlementWorker, serverName };
