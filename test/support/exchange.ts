/** A real engine and a real ledger on an empty Redis and a fresh database. Fixtures of rooms above the stores use it. */

import type { Redis } from 'ioredis';
import { type Engine, type EngineOptions, openEngine } from '../../src/engine/index.ts';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { LIMITS } from './limits.ts';
import { openRedis } from './redis-server.ts';
import { freshLedgerDatabase, freshRedis } from './servers.ts';
import { type SettleOptions, settleAll } from './settle-all.ts';

export interface Exchange {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  /** The engine's connection. Its Redis user may run every command of the service. */
  readonly redis: Redis;
  readonly engine: Engine;
  readonly ledger: Ledger;
  /** Settles the engine's events in the test's own process. */
  settle(options?: SettleOptions): Promise<void>;
  close(): Promise<void>;
}

export interface ExchangeOptions extends Pick<EngineOptions, 'claimFilterBytes' | 'load'> {
  /** A Redis that has an engine already; an empty one unless given. */
  readonly redisUrl?: string | undefined;
  /** A migrated database; a new one of the run's Postgres unless given. */
  readonly databaseUrl?: string | undefined;
  /** Maximum connections of each kind of reading. */
  readonly poolSize?: number;
}

export async function openExchange(options: ExchangeOptions = {}): Promise<Exchange> {
  const { redisUrl = await freshRedis(), poolSize, ...others } = options;
  const { databaseUrl = await freshLedgerDatabase(), ...engineOptions } = others;
  const redis = openRedis(redisUrl, 'engine-all');
  // A test may stop this Redis before it closes the exchange.
  redis.on('error', () => undefined);
  const engine = openEngine({ redis, ...LIMITS, ...engineOptions });
  const ledger = openLedger({ databaseUrl, ...(poolSize === undefined ? {} : { poolSize }) });
  await engine.lifecycle.open(await ledger.settlement.cursor());
  return {
    redisUrl,
    databaseUrl,
    redis,
    engine,
    ledger,
    settle: (settling) => settleAll({ engine, ledger }, settling),
    async close() {
      await ledger.close();
      redis.disconnect();
    },
  };
}
