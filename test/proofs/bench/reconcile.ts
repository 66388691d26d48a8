/**
 * Measures a reconcile of a large book: its duration, the peak memory of its process, and how long its longest script
 * blocks matching by the server's own clock. RECONCILE_ORDERS sets the number of resting orders.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { reconcile } from '../../../src/books/reconcile/index.ts';
import { openEngine } from '../../../src/engine/index.ts';
import { openLedger } from '../../../src/ledger/index.ts';
import { startPostgresServer } from '../../support/postgres-server.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { seedRestingOrders } from '../../support/resting-orders.ts';
import { type Table, tableOf } from './figures.ts';

const ORDERS = Number(process.env.RECONCILE_ORDERS ?? 1_000_000);
const WALLETS = 100;
const LOOK_AT_MEMORY_MS = 200;
const MIB = 1024 * 1024;

/** Runs `work` and also returns the peak memory of this process during it, in bytes. */
async function withPeakMemory<Result>(work: () => Promise<Result>): Promise<[Result, peak: number]> {
  let peak = 0;
  const look = (): void => {
    peak = Math.max(peak, process.memoryUsage.rss());
  };
  const timer = setInterval(look, LOOK_AT_MEMORY_MS);
  try {
    return [await work(), peak];
  } finally {
    clearInterval(timer);
  }
}

/** Milliseconds of the longest script since the slow log was last emptied. */
async function longestScriptMs(redis: Redis): Promise<number> {
  const entries = (await redis.call('SLOWLOG', 'GET', '-1')) as [number, number, number, string[]][];
  const scripts = entries.filter(([, , , [command]]) => /^eval/i.test(command!));
  return Math.max(...scripts.map(([, , micros]) => micros)) / 1000;
}

export async function benchReconcile(): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-bench-'));
  const server = await startRedisServer(folder);
  const postgres = await startPostgresServer({ durable: false });
  const redis = new Redis(server.url);
  const ledger = openLedger({ databaseUrl: postgres.url });
  try {
    await redis.config('SET', 'auto-aof-rewrite-percentage', '0');
    await ledger.migrate();
    const engine = openEngine({ redis, maxMakers: 1_000, maxLiveOrders: ORDERS });
    await engine.lifecycle.open(await ledger.settlement.cursor());
    const services = { engine, ledger };
    const exchange = { redis, ledger, databaseUrl: postgres.url, engine, services };
    await seedRestingOrders(exchange, { orders: ORDERS, wallets: WALLETS });
    // Logs every command as slow; Redis keeps up to this number of entries.
    await redis.config('SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '200000');
    await redis.call('SLOWLOG', 'RESET');
    globalThis.gc?.();
    const before = process.memoryUsage.rss();
    const begun = performance.now();
    const [{ holds, checks }, peak] = await withPeakMemory(() => reconcile(services, { patienceMs: 0 }));
    const seconds = (performance.now() - begun) / 1000;
    if (!holds) throw new Error(JSON.stringify(checks.filter(({ count }) => count > 0)));
    return tableOf(
      'reconcile',
      `reconcile: ${ORDERS.toLocaleString('en-US')} resting orders of ${WALLETS} wallets`,
      [
        {
          name: 'longest script',
          figure: await longestScriptMs(redis),
          unit: 'ms',
          target: { relation: '<=', bound: 20 },
        },
        { name: 'whole reconcile', figure: seconds, unit: 's' },
        { name: 'memory that it needs, at most', figure: (peak - before) / MIB, unit: 'MiB' },
      ],
    );
  } finally {
    redis.disconnect();
    await ledger.close();
    await postgres.stop();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
