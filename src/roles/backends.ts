/** The servers behind every role: connections, and the engine and ledger on them. */

import type { Redis, RedisOptions } from 'ioredis';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { type Engine, openEngine } from '../engine/index.ts';
import { type Metrics, openMetrics } from '../http/metrics.ts';
import { type Ledger, openLedger } from '../ledger/index.ts';
import { type MarketData, openMarketData } from '../market-data/index.ts';
import { connectRedis, queueConnection } from './connections.ts';
import { keepEngineOpen } from './engine-gate.ts';

export interface Backends {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly engineRedis: Redis;
  /** Challenges, limits, pub/sub. */
  readonly queueRedis: Redis;
  /** Of the same server, for BullMQ. */
  readonly queueOptions: RedisOptions;
  readonly engine: Engine;
  readonly ledger: Ledger;
  /** One for all roles of the process, so that a day's figures are kept once. */
  readonly marketData: MarketData;
  close(): Promise<void>;
}

/** Where the servers are; a configuration whose gaps have been filled. */
export type ServedConfig = Config & { readonly redisUrl: string; readonly databaseUrl: string };

/** Begins to connect and returns at once: what is away is waited for, and told. Connections carry the role's name. */
export function openBackends(role: string, config: ServedConfig, logger: Logger): Backends {
  const metrics = openMetrics();
  const complain = (message: string): void => logger.warn(message);
  const queueUrl = config.queueRedisUrl ?? config.redisUrl;
  const engineRedis = connectRedis(config.redisUrl, `${role}-engine`, complain);
  const queueRedis = connectRedis(queueUrl, `${role}-queue`, complain);
  const engine = openEngine({
    redis: engineRedis,
    maxMakers: config.maxMakers,
    maxLiveOrders: config.maxLiveOrders,
    observe: metrics.observeScript,
    warn: complain,
  });
  const ledger = openLedger({ databaseUrl: config.databaseUrl });
  const gate = keepEngineOpen({ redis: engineRedis, engine, ledger, logger });
  return {
    ...{ config, logger, metrics, engineRedis, queueRedis, engine, ledger },
    marketData: openMarketData({ engine, ledger }),
    queueOptions: queueConnection(queueUrl),
    async close() {
      gate.stop();
      await ledger.close();
      for (const redis of [engineRedis, queueRedis]) redis.disconnect();
    },
  };
}
