/**
 * Places sweeps: orders that match a thousand resting orders each, faster than settlement writes them. The books are
 * rebuilt from rows of Postgres in a second, because placing them would take a minute. The sweeps are real placements.
 */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { rebuildEngine } from '../../../src/books/rebuild.ts';
import { type Engine, openEngine } from '../../../src/engine/index.ts';
import { type Ledger, openLedger } from '../../../src/ledger/index.ts';
import { ALICE, BOB, fund, limit, place, publishPlain } from '../../engine/fixture.ts';
import { query } from '../../ledger/tables.ts';
import { freePort } from '../../support/ports.ts';
import { peakBytesOf } from '../../support/proc.ts';
import { openRedis } from '../../support/redis-server.ts';
import { launchService } from '../../support/service.ts';

const SYMBOL = 'ETH/USDC';
const MAX_MAKERS = 5_000;
const PATIENCE_MS = 3_600_000;

export interface Servers {
  readonly redisUrl: string;
  readonly databaseUrl: string;
}

/** Number of fills of each order. */
export type Sweeps = readonly number[];

export interface Settled {
  readonly trades: number;
  readonly seconds: number;
  /** Peak memory of the settlement process in MiB. */
  readonly peakMib: number;
}

/** Inserts sells of one lot at one price, as if each had been placed and settled. */
async function restOrders({ databaseUrl }: Servers, ledger: Ledger, count: number): Promise<void> {
  const { sequence } = await ledger.settlement.cursor();
  const columns = await query<{ name: string }>(
    databaseUrl,
    `select attname as name from pg_attribute
     where attrelid = 'live_orders'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
  );
  const own: Readonly<Record<string, string>> = {
    id: `left(one.id, 22) || lpad(to_hex(number), 12, '0')`,
    sequence: 'number',
    updated_sequence: 'number',
  };
  await query(
    databaseUrl,
    `insert into live_orders (${columns.map(({ name }) => name)})
     select ${columns.map(({ name }) => own[name] ?? `one.${name}`)}
     from live_orders one, generate_series(${sequence + 1}, ${sequence + count - 1}) as number`,
  );
  await query(databaseUrl, `update engine_cursor set sequence = sequence + ${count - 1}`);
}

async function settle(engine: Engine, ledger: Ledger): Promise<void> {
  await ledger.settlement.settle(await engine.outbox.readEvents(await ledger.settlement.cursor(), 1_000));
}

/**
 * Leaves an engine with unsettled sweeps.
 * @returns the last of its events
 */
async function makeSweeps(
  servers: Servers,
  redis: Redis,
  ledger: Ledger,
  sweeps: Sweeps,
): Promise<{ sequence: number; trades: number }> {
  const engine = openEngine({ redis, maxMakers: MAX_MAKERS, maxLiveOrders: 10_000 });
  await engine.lifecycle.open(await ledger.settlement.cursor());
  const trades = sweeps.reduce((sum, fills) => sum + fills, 0);
  await publishPlain(engine, SYMBOL);
  await fund(engine, ALICE, { ETH: 10n ** 9n });
  await fund(engine, BOB, { USDC: 10n ** 9n });
  await place(engine, ALICE, limit(SYMBOL, 'sell', 1, 1));
  await settle(engine, ledger);
  await restOrders(servers, ledger, trades);
  await redis.flushdb();
  await rebuildEngine({ engine, ledger });
  await engine.lifecycle.open(await ledger.settlement.cursor());
  await Promise.all(
    sweeps.map((fills) => place(engine, BOB, limit(SYMBOL, 'buy', 1, fills, { timeInForce: 'IOC' }))),
  );
  return { sequence: (await engine.reads.state()).sequence, trades };
}

/** @throws Error if the process ends before everything is settled */
async function settleByRole(
  { redisUrl, databaseUrl }: Servers,
  ledger: Ledger,
  sequence: number,
  heapMib: number,
): Promise<Omit<Settled, 'trades'>> {
  const begunMs = performance.now();
  const service = await launchService('settlement', {
    REDIS_URL: redisUrl,
    DATABASE_URL: databaseUrl,
    PORT: String(await freePort()),
    NODE_OPTIONS: `--max-old-space-size=${heapMib}`,
    LOG_LEVEL: 'warn',
  });
  const ended = once(service.child, 'exit');
  try {
    while ((await ledger.settlement.cursor()).sequence < sequence) {
      const { exitCode, signalCode } = service.child;
      if (exitCode !== null || signalCode !== null || performance.now() - begunMs > PATIENCE_MS)
        throw new Error(`settlement ended (${exitCode ?? signalCode}):\n${service.output().slice(-2_000)}`);
      await Promise.race([sleep(50), ended]);
    }
    return {
      seconds: (performance.now() - begunMs) / 1_000,
      peakMib: peakBytesOf(service.child.pid!) / 2 ** 20,
    };
  } finally {
    await service.end('SIGKILL');
  }
}

/**
 * Places the sweeps on empty servers and settles them in a settlement process.
 * @param heapMib size of V8's old space
 */
export async function settleSweeps(servers: Servers, sweeps: Sweeps, heapMib: number): Promise<Settled> {
  const redis = openRedis(servers.redisUrl);
  const ledger = openLedger({ databaseUrl: servers.databaseUrl });
  try {
    await ledger.migrate();
    const { sequence, trades } = await makeSweeps(servers, redis, ledger, sweeps);
    const process = await settleByRole(servers, ledger, sequence, heapMib);
    const [row] = await query<{ trades: string; open: string }>(
      servers.databaseUrl,
      `select (select count(*) from trades) as trades,
         (select count(*) from orders where closed_sequence is null) as open`,
    );
    if (Number(row?.trades) !== trades || Number(row?.open) !== 0)
      throw new Error(
        `${row?.trades} trades are settled and ${row?.open} orders open; of ${trades} and none`,
      );
    return { trades, ...process };
  } finally {
    redis.disconnect();
    await ledger.close();
  }
}
