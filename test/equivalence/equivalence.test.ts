/**
 * The engine's scripts on a real Redis do what the reference does: every reply, event, balance, reservation and
 * book, over thousands of random operations. `SEED=… npx mocha …` repeats a run.
 */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { openRedis } from '../support/redis-server.ts';
import { runSeed } from '../support/seed.ts';
import { freshRedis } from '../support/servers.ts';
import { runEquivalence } from './equivalence.ts';
import type { Outcomes } from './outcomes.ts';

describe('equivalence of the engine and the reference', function () {
  this.timeout(300_000);
  let redis: Redis;

  before(async () => {
    redis = openRedis(await freshRedis());
  });
  after(() => redis.disconnect());

  const run = (operations: number, maxMakers: number, maxLiveOrders: number): Promise<Outcomes> =>
    runEquivalence({ redis, seed: runSeed(), operations, limits: { maxMakers, maxLiveOrders } });

  it('holds over 6,000 operations that meet every outcome often', async () => {
    const outcomes = await run(6_000, 10, 10);
    expect(outcomes.missing(6_000), outcomes.table()).to.deep.equal([]);
  });

  it('holds where few makers are met and few orders may be live', async () => {
    const outcomes = await run(1_500, 3, 8);
    expect(outcomes.counts.get('stopped by the bound on makers')).to.be.above(0);
    expect(outcomes.counts.get('BAD_REQUEST')).to.be.above(10);
  });

  it('holds where books are deep and one order meets many', async () => {
    const outcomes = await run(2_000, 1_000, 200);
    expect(outcomes.counts.get('more makers than one page')).to.be.above(0);
  });
});
