/** Connects every role to its servers, and opens the engine and the ledger on them. */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { checkRights, type Engine, openEngine, rankOfPrimary } from '../engine/index.ts';
import { type Ledger, openLedger } from '../ledger/index.ts';
import { type MarketData, openMarketData } from '../market-data/index.ts';
import { type Metrics, openMetrics } from '../process/metrics.ts';
import { type SpanExport, spansInUse } from '../process/spans.ts';
import { readRedisAddress } from '../redis/address.ts';
import {
  connectBeside,
  connectRedis,
  connectSubscriber,
  queueConnection,
  type RedisServer,
  type ServerOptions,
} from '../redis/connections.ts';
import { readScripts } from '../redis/lua.ts';
import { type EngineCopies, hasCopies, openCopies } from './engine-copies.ts';
import { keepEngineOpen } from './engine-gate.ts';
import { OF_ENGINE, type Outages, openOutages } from './outages.ts';
import { watchRights } from './rights-watch.ts';
import type { RedisConfig, ServedConfig } from './served-config.ts';
import { passwordsOf, type ServerNames, serverNames } from './server-names.ts';
import { warnOfEviction, warnOfListpacks } from './setting-warnings.ts';
import { untilMigrated } from './waiting.ts';

/**
 * Connections of every role. The engine opens only for roles that also use Postgres. Markets can be read without it.
 */
export interface Connections {
  /** Name of the role, which is part of its connection names. */
  readonly role: string;
  readonly config: RedisConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** True if `/metrics` has a separate port. */
  readonly hasMetricsPort: boolean;
  readonly names: ServerNames;
  readonly outages: Outages;
  readonly engineRedis: Redis;
  /** Redis for challenges, limits and frames. */
  readonly queueRedis: Redis;
  /** Returns `ok`, or `without rights` while Redis refuses the role what it runs there. Used by `/readyz`. */
  queueRights(): string;
  /** Opens a separate connection to the engine's Redis, which commands may block; the caller closes it. */
  openEngineReader(purpose: string): Redis;
  /** Opens a separate pub/sub connection to the queue's Redis. */
  openSubscriber(purpose: string): Redis;
  readonly engine: Engine;
  /** Absent where the engine has no copies, and where nothing of it is handed on. */
  readonly copies: EngineCopies | undefined;
  close(): Promise<void>;
}

export interface Backends extends Connections {
  /** Options of the queue's Redis for BullMQ. */
  readonly queueOptions: ServerOptions;
  readonly ledger: Ledger;
  /** Returns `ok` while the engine is open, otherwise the reason why it is not. Used by `/readyz`. */
  engineState(): string;
  /** Resolves when the engine opens for the first time. */
  readonly engineOpened: Promise<void>;
  /**
   * Migrates the database if the process may, once. Resolves when Postgres has the tables of this release and allows what
   * the role does.
   */
  migrated(): Promise<void>;
  /** Shared by all roles of the process, so that the 24-hour figures are in memory once. */
  readonly marketData: MarketData;
}

/** Where the engine is. */
export const engineAt = ({ redisUrl, redisCa }: RedisConfig): RedisServer => ({ url: redisUrl, ca: redisCa });
/** Where the queues are. */
export const queueAt = ({ queueRedisUrl, redisUrl, redisCa }: RedisConfig): RedisServer => ({
  url: queueRedisUrl ?? redisUrl,
  ca: redisCa,
});

/**
 * Starts connecting and returns at once. Unavailable servers are reported and retried. Connection names contain the
 * role.
 */
export function openConnections(
  role: string,
  config: RedisConfig,
  logger: Logger,
  outages = openOutages(logger, passwordsOf(config)),
  ledger?: Pick<Ledger, 'epochs' | 'copies'>,
): Connections {
  readScripts();
  const metrics = openMetrics();
  const names = serverNames(config);
  const engineTold = outages.listener(names.engine, OF_ENGINE);
  const engineRedis = connectRedis(engineAt(config), `${role}-engine`, engineTold, rankOfPrimary);
  const copies =
    ledger && hasCopies(config)
      ? openCopies({
          at: engineAt(config),
          engineRedis,
          roundsRedis: connectBeside(engineRedis, engineAt(config), `${role}-rounds`, engineTold),
          register: ledger.copies,
          minCopies: config.engineMinCopies,
          metrics,
        })
      : undefined;
  const epochs = copies?.epochs ?? ledger?.epochs;
  const queueTold = outages.listener(names.queue, 'queue');
  const queueRedis = connectRedis(queueAt(config), `${role}-queue`, queueTold);
  if (names.queue !== names.engine) warnOfEviction(queueRedis, names.queue, logger);
  const rights = watchRights({ redis: queueRedis, user: `queue-${role}`, server: names.queue, outages });
  const subscribers: Redis[] = [];
  const spans = spansInUse();
  const engine = openEngine({
    redis: engineRedis,
    ...(epochs && { epochs }),
    rounds: copies?.rounds,
    isDurable: readRedisAddress(config.redisUrl)?.kind === 'durable',
    maxMakers: config.maxMakers,
    maxLiveOrders: config.maxLiveOrders,
    claimFilterBytes: config.claimFilterBytes,
    eventsStayMs: config.eventsStayMs,
    trustsServer: config.engineDurability === 'trusted',
    observe: spans === undefined ? metrics.observeScript : observeBoth(metrics, spans),
    here: spans?.here,
    warn: throttled((message) => logger.warn(message)),
  });
  return {
    role,
    config,
    logger,
    metrics,
    names,
    outages,
    engineRedis,
    queueRedis,
    engine,
    copies,
    queueRights: rights.state,
    hasMetricsPort: config.metricsPort !== undefined,
    openEngineReader: (purpose) => connectReader(config, engineRedis, `${role}-${purpose}`),
    openSubscriber(purpose) {
      const told = outages.listener(names.queue, purpose);
      const subscriber = connectSubscriber(queueAt(config), `${role}-${purpose}`, told);
      subscribers.push(subscriber);
      return subscriber;
    },
    async close() {
      rights.stop();
      outages.close();
      copies?.close();
      for (const redis of [engineRedis, queueRedis, ...subscribers]) redis.disconnect();
    },
  };
}

const observeBoth =
  (metrics: Metrics, spans: SpanExport) =>
  (script: string, seconds: number): void => {
    metrics.observeScript(script, seconds);
    spans.script(script, seconds);
  };

/** Roles that let the engine forget what Postgres has. */
const SETTLING = ['settlement', 'all'];

/** The engine's own connection tells its outages. */
const connectReader = (config: RedisConfig, engineRedis: Redis, name: string): Redis =>
  hasCopies(config)
    ? connectBeside(engineRedis, engineAt(config), name, () => undefined)
    : connectRedis(engineAt(config), name, () => undefined);

/** Like `openConnections`, but with Postgres and an engine that opens as soon as possible. */
export function openBackends(
  role: string,
  config: ServedConfig,
  logger: Logger,
  outages = openOutages(logger, passwordsOf(config)),
): Backends {
  const ledger = openLedger({ databaseUrl: config.databaseUrl });
  const connections = openConnections(role, config, logger, outages, ledger);
  const { engine, engineRedis, copies, names } = connections;
  let migrating: Promise<void> | undefined;
  connections.metrics.gauge(
    'redbook_engine_open',
    '1 while this process may trade on the engine: it is there, and knows all that Postgres knows.',
    async () => (engine.lifecycle.isOpen() ? 1 : 0),
  );
  warnOfListpacks(engineRedis, names.engine, logger);
  const gate = keepEngineOpen({
    redis: engineRedis,
    engine,
    ledger,
    logger,
    names,
    outages,
    checkRights: () => checkRights(engineRedis, `engine-${role}`, copies !== undefined),
    checkPrimary: copies?.checkPrimary,
  });
  return {
    ...connections,
    ledger,
    engineState: () =>
      gate.state() === 'ok' && copies?.rounds.trouble !== undefined ? 'waits for copies' : gate.state(),
    engineOpened: gate.opened,
    migrated() {
      // Copies have no primary before a keeper reads their row, for which the migrations make a table.
      const checkFormat = copies?.checkFormat ?? (() => engine.lifecycle.checkFormat());
      const prepare = async (): Promise<void> => {
        await ledger.migrate();
        await ledger.checkRights(role);
        if (SETTLING.includes(role) && config.engineDurability === 'checked') await ledger.checkDurability();
      };
      migrating ??= untilMigrated({ checkFormat, ledger, outages, names, prepare });
      return migrating;
    },
    marketData: openMarketData({ engine, ledger }),
    queueOptions: queueConnection(queueAt(config)),
    async close() {
      gate.stop();
      await ledger.close();
      await connections.close();
    },
  };
}

const TOLD_EVERY_MS = 10_000;

/**
 * Throttles a repeated message. The engine is asked to open several times a second and gives the same warning each
 * time.
 */
function throttled(tell: (message: string) => void): (message: string) => void {
  let toldMs = 0;
  return (message) => {
    if (Date.now() - toldMs < TOLD_EVERY_MS) return;
    toldMs = Date.now();
    tell(message);
  };
}
