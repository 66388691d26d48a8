/** One run on servers of its own: engine, ledger, settlement process, and what follows the orders. */

import type { ChildProcess } from 'node:child_process';
import { readFilterState } from '../../../src/engine/filter-layout.ts';
import { openEngine } from '../../../src/engine/index.ts';
import { KEYS } from '../../../src/engine/keys.ts';
import { openLedger } from '../../../src/ledger/index.ts';
import { openRedis } from '../../support/redis-server.ts';
import { operate, type Service } from '../../support/service.ts';
import { type CaughtUp, catchUp, caughtUpText, heapOf } from './backlog.ts';
import type { Checkpoint, Grown } from './checkpoint.ts';
import { Driver } from './driver.ts';
import { Growth, type Plan, type Progress } from './growth.ts';
import { takeReads } from './live-state.ts';
import type { Measured } from './report.ts';
import { ordersAfter, ROUNDS_A_STEP } from './rounds.ts';
import type { Servers } from './servers.ts';
import { Tail } from './tail.ts';

/** State of a run that its folder keeps. */
export interface Kept {
  readonly orders: number;
  readonly seed: number;
  readonly progress: Progress;
  readonly reads: readonly Measured[];
}

export interface Outcome extends Kept {
  /** Violations beside those of the checkpoints. */
  readonly violations: readonly string[];
  readonly caughtUp: CaughtUp | null;
}

const LIMITS = { maxMakers: 1_000, maxLiveOrders: 10_000 };
/** Events that may be unsettled before orders wait. */
const MAX_LAG = 20_000;
/** Heap of the settlement that catches up, in MiB. */
const LAG_HEAP = 256;

export interface RunOptions {
  readonly plan: Plan;
  readonly servers: Servers;
  readonly from: Kept;
  /** Number of events that are made while no settlement runs, after all orders; 0: none. */
  readonly lag: number;
  readonly keep: (kept: Kept) => Promise<void>;
  readonly say: (line: string) => void;
  readonly onCheckpoint: (checkpoint: Checkpoint) => void;
}

/** Opens engine and ledger on the servers of a run. */
async function openGrown({
  plan,
  servers,
}: RunOptions): Promise<{ grown: Grown; close: () => Promise<void> }> {
  const { redisUrl, databaseUrl } = servers;
  const { shape, filterBytes } = plan;
  const ledger = openLedger({ databaseUrl });
  await ledger.migrate();
  const redis = openRedis(redisUrl);
  const connection = openRedis(redisUrl);
  const engine = openEngine({ redis: connection, ...LIMITS, claimFilterBytes: filterBytes });
  await engine.lifecycle.open(await ledger.settlement.cursor());
  const filter = readFilterState(await redis.hget(KEYS.engine, 'filter')).current;
  const tail = new Tail();
  const driver = new Driver({ engine, ledger, shape, tail, maxLag: MAX_LAG });
  return {
    grown: { engine, ledger, redis, databaseUrl, shape, filter, driver, tail },
    async close() {
      await ledger.close();
      for (const one of [redis, connection]) one.disconnect();
    },
  };
}

/** Rejects when the process ends by itself. */
const deathOf = (child: ChildProcess): Promise<never> =>
  new Promise((_resolve, reject) => {
    child.once('exit', (code, signal) => reject(new Error(`settlement ended with ${code ?? signal}`)));
  });

export async function run(options: RunOptions): Promise<Outcome> {
  const { plan, servers, from, lag, keep, say, onCheckpoint } = options;
  const { grown, close } = await openGrown(options);
  let kept = from;
  const go = async (change: Partial<Kept>): Promise<void> => {
    kept = { ...kept, ...change };
    await keep(kept);
  };
  const growth = new Growth(grown, from.progress, (progress) => go({ progress }));
  let settlement: Service | undefined;
  try {
    settlement = await servers.start('settlement');
    const death = deathOf(settlement.child);
    death.catch(() => undefined); // also when it is ended on purpose
    const measureReads = async (): Promise<void> => {
      const { rounds } = growth.progress;
      say('reads');
      await grown.driver.untilLag(0, rounds);
      const orders = ordersAfter(plan.shape, rounds);
      await go({ reads: [...kept.reads, { orders, reads: await takeReads(servers) }] });
    };
    const growing = async (): Promise<void> => {
      // A run that was killed while it measured reads measures them now, of a history that may be longer.
      const last = growth.progress.checkpoints.at(-1)?.rounds ?? 0;
      const due = Math.max(0, ...[...plan.powers].filter((rounds) => rounds <= last));
      if ((kept.reads.at(-1)?.orders ?? 0) < ordersAfter(plan.shape, due)) await measureReads();
      await growth.run(plan.stops, async (checkpoint) => {
        onCheckpoint(checkpoint);
        if (plan.powers.has(checkpoint.rounds)) await measureReads();
      });
    };
    await Promise.race([growing(), death]);
    const caughtUp = lag === 0 ? null : await fallBehind(options, { grown, growth, settlement });
    if (caughtUp !== null) onCheckpoint(growth.progress.checkpoints.at(-1)!);
    say('ledger reconcile');
    return { ...kept, caughtUp, violations: await reconcile(servers) };
  } finally {
    await settlement?.end('SIGTERM');
    await close();
  }
}

interface Running {
  readonly grown: Grown;
  readonly growth: Growth;
  readonly settlement: Service;
}

/** Makes events without a settlement, then lets one with little memory settle them. */
async function fallBehind(
  { servers, lag, say }: RunOptions,
  { grown: { driver, redis }, growth, settlement }: Running,
): Promise<CaughtUp> {
  await settlement.end('SIGTERM');
  const behind = (): Promise<number> => driver.note(growth.progress.rounds);
  await driver.withoutPace(async () => {
    while ((await behind()) < lag) await growth.advance(growth.progress.rounds + ROUNDS_A_STEP);
  });
  const used = /^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1];
  say(`${await behind()} events of lag, ${(Number(used) / 2 ** 20).toFixed(0)} MiB used`);
  const small = await servers.start('settlement', heapOf(LAG_HEAP));
  try {
    const caughtUp = await catchUp(small.child.pid!, behind);
    say(caughtUpText(caughtUp));
    await growth.checkpoint();
    return caughtUp;
  } finally {
    await small.end('SIGTERM');
  }
}

/** Checks every invariant of engine and ledger from outside. */
async function reconcile({ redisUrl, databaseUrl }: Servers): Promise<string[]> {
  const settings = { REDIS_URL: redisUrl, DATABASE_URL: databaseUrl };
  return operate(settings, 'ledger', 'reconcile').then(
    () => [],
    (error: Error) => [`ledger reconcile: ${error.message}`],
  );
}
