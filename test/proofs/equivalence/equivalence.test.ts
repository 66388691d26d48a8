/**
 * Proves that the engine's scripts on a real Redis behave as the reference does: every reply, event, balance,
 * reservation and book, over thousands of random operations. `SEED=… npx mocha …` repeats a run.
 */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { openRedis } from '../../support/redis-server.ts';
import { runSeed } from '../../support/seed.ts';
import { freshRedis } from '../../support/servers.ts';
import { runEquivalence } from './equivalence.ts';
import type { Outcomes } from './outcomes.ts';

describe('equivalence of the engine and the reference', function () {
  this.timeout(300_000);
  let redis: Redis;

  before(async () => {
    redis = openRedis(await freshRedis());
  });
  after(() => redis.disconnect());

  const run = (
    operations: number,
    maxMakers: number,
    maxLiveOrders: number,
    seed = runSeed(),
  ): Promise<Outcomes> => runEquivalence({ redis, seed, operations, limits: { maxMakers, maxLiveOrders } });

  it('holds over 3,000 operations with every outcome', async () => {
    // Rare outcomes vary: half of what is usual is enough, and one run of some fifty lacks one of them.
    for (let runs = 1; ; runs += 1) {
      const outcomes = await run(3_000, 10, 10, runSeed() + runs - 1);
      const missing = outcomes.missing(1_500);
      if (missing.length === 0) return;
      expect(runs, `runs without ${missing.join(', ')}\n${outcomes.table()}`).to.be.below(3);
    }
  });

  it('holds with low limits of makers and of live orders', async () => {
    const outcomes = await run(1_000, 3, 8);
    expect(outcomes.counts.get('stopped by the bound on makers')).to.be.above(0);
    expect(outcomes.counts.get('BAD_REQUEST')).to.be.above(5);
  });

  it('holds with deep books, where one order matches many makers', async () => {
    const isDeep = (outcomes: Outcomes): boolean => outcomes.counts.has('more makers than one page');
    // One run of six has no such order.
    let runs = 1;
    while (!isDeep(await run(1_000, 1_000, 200, runSeed() + runs))) {
      expect(runs, 'runs without an order that matches more makers than one page').to.be.below(6);
      runs += 1;
    }
  });
});
