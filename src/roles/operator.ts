/** Connects one operator's command to the configured servers, or to those of the all-in-one on this machine. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { type Config, ConfigError } from '../config.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import { checkRights, lookAt, type SeenServer } from '../engine/index.ts';
import { framesAgeMs } from '../feed/index.ts';
import { DatabaseRefused } from '../ledger/index.ts';
import type { OperatorServices } from '../operator/services.ts';
import { openWakeUps } from '../queue/index.ts';
import { readRedisAddress, serverName } from '../redis/address.ts';
import { askServer } from '../redis/connections.ts';
import { type Backends, engineAt, openBackends } from './backends.ts';
import { loadEmbedded, servedBy } from './own-servers.ts';
import type { ServedConfig } from './served-config.ts';

/** Timeout of a command. It is short because a person waits. */
const PATIENCE_MS = 10_000;
/** Time after which an unavailable server is reported, since it may never come back. */
const OUTAGE_PATIENCE_MS = 1_500;
const LOOK_EVERY_MS = 50;

/** @throws ConfigError if no servers are named and none run here */
async function locateServers(config: Config): Promise<ServedConfig> {
  const isGiven = config.redisUrl !== undefined && config.databaseUrl !== undefined;
  const embedded = isGiven ? undefined : (await loadEmbedded())?.findEmbedded(config.dataDir);
  const redisUrl = config.redisUrl ?? embedded?.redisUrl;
  const databaseUrl = config.databaseUrl ?? embedded?.databaseUrl;
  if (redisUrl === undefined || databaseUrl === undefined) {
    throw new ConfigError(
      `No service runs on ${config.dataDir}: start it with npm start, or name servers by REDIS_URL and DATABASE_URL.`,
    );
  }
  return servedBy(config, { ...embedded, redisUrl, databaseUrl });
}

/** Counts the processes by role. Each process has one connection to the engine, whose name contains the role. */
export async function countReplicas(engineRedis: Redis): Promise<Record<string, number>> {
  const clients = (await engineRedis.client('LIST')) as string;
  const roles = [...clients.matchAll(/ name=redbook-([\w-]+)-engine /g)].map(([, role]) => role!);
  const others = roles.filter((role) => role !== 'operator').sort();
  return Object.fromEntries(
    [...new Set(others)].map((role) => [role, others.filter((one) => one === role).length]),
  );
}

/** Looks at each server that REDIS_URL names, whether it is a copy or not. */
export async function lookAtCopies({
  config,
}: Backends): Promise<ReadonlyMap<string, SeenServer | undefined>> {
  const at = engineAt(config);
  const seen = readRedisAddress(at.url)!.endpoints.map(
    async (endpoint) =>
      [serverName(endpoint), await askServer(at, endpoint, lookAt).catch(() => undefined)] as const,
  );
  return new Map(await Promise.all(seen));
}

export async function openOperatorServices(config: Config): Promise<OperatorServices> {
  const backends = openBackends('operator', await locateServers(config), pino({ level: 'silent' }));
  const { engine, ledger, engineRedis, queueRedis, queueOptions, outages, names } = backends;
  const ledgerAnswered = ledger.ping().catch((error) => outages.report(names.postgres, 'command', error));
  const ledgerChecked = ledger
    .checkSessions()
    .then(() => ledger.checkRights('operator'))
    .catch((error: unknown) => error);
  const untilMs = Date.now() + PATIENCE_MS;
  const hurryMs = Date.now() + OUTAGE_PATIENCE_MS;
  const isAway = (): boolean => Date.now() > hurryMs && outages.sentences().length > 0;
  while (!engine.lifecycle.isOpen() && Date.now() < untilMs && !isAway()) await sleep(LOOK_EVERY_MS);
  await ledgerAnswered;
  const refused = await ledgerChecked;
  if (refused instanceof DatabaseRefused) {
    await backends.close();
    throw new OperatorRefusal('DATABASE_REFUSED', `${names.postgres} cannot be used: ${refused.message}`);
  }
  // The gate has checked the rights of an open engine. Some commands work on one that is not open.
  const unchecked: [Redis, string][] = [[queueRedis, 'queue-operator']];
  if (!engine.lifecycle.isOpen()) unchecked.push([engineRedis, 'engine-operator']);
  for (const [redis, user] of unchecked)
    if (redis.status === 'ready')
      await checkRights(redis, user).catch(async (error) => {
        await backends.close();
        throw error;
      });
  const queue = openWakeUps({ connection: queueOptions });
  return {
    engine,
    ledger,
    networkId: config.networkId,
    scrubDays: config.scrubDays,
    queueCounts: () => queue.counts(),
    replicas: () => countReplicas(engineRedis),
    snapshotAgeMs: () => framesAgeMs(queueRedis),
    async reopened() {
      const reopensByMs = Date.now() + PATIENCE_MS;
      while (!engine.lifecycle.isOpen() && Date.now() < reopensByMs) await sleep(LOOK_EVERY_MS);
      return engine.lifecycle.isOpen();
    },
    copies: backends.copies && (() => lookAtCopies(backends)),
    troubles: () => outages.sentences(),
    async close() {
      await queue.close();
      await backends.close();
    },
  };
}
