/** The scaled form of `npm run proofs -- growth`, and proof that it reports whatever stays in the engine. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { pino } from 'pino';
import { readFilterState } from '../../../src/engine/filter-layout.ts';
import { KEYS } from '../../../src/engine/keys.ts';
import type { Script } from '../../../src/redis/lua.ts';
import { createSettlementWorker } from '../../../src/workers/settlement.ts';
import { loadPlanted, plantedFor } from '../../planted/planted.ts';
import { type Exchange, openExchange } from '../../support/exchange.ts';
import { instead } from '../../support/instead.ts';
import { openRedis } from '../../support/redis-server.ts';
import { runSeed } from '../../support/seed.ts';
import type { Checkpoint, Grown } from './checkpoint.ts';
import { Driver } from './driver.ts';
import { BEGINNING, Growth, type Progress } from './growth.ts';
import { isGrown, ratioOf } from './report.ts';
import { ROUNDS_A_STEP, type Shape } from './rounds.ts';
import { Tail } from './tail.ts';

const SHAPE: Omit<Shape, 'seed'> = { markets: 2, wallets: 10, depth: 24 };
const FILTER_BYTES = 16 * 1024;
const MAX_LAG = 500;
/** Far orders begin to be cancelled, and queued orders to be filled, in the fourth step. */
const STOPS = [4, 14].map((steps) => steps * ROUNDS_A_STEP);

/** An exchange whose events are settled in this process while it grows. */
async function openGrown(load?: (name: string) => Script) {
  const exchange = await openExchange({ claimFilterBytes: FILTER_BYTES, ...(load && { load }) });
  const { engine, ledger, redisUrl, databaseUrl } = exchange;
  const log = pino({ level: 'silent' });
  const settlement = createSettlementWorker({ engine, ledger: ledger.settlement, log });
  let isOver = false;
  const settling = (async () => {
    while (!isOver) {
      await settlement.run();
      await sleep(10);
    }
  })();
  const redis = openRedis(redisUrl);
  const shape = { ...SHAPE, seed: runSeed() };
  const tail = new Tail();
  const options = { engine, ledger, shape, tail, maxLag: MAX_LAG };
  const filter = readFilterState(await redis.hget(KEYS.engine, 'filter')).current;
  const shared = { engine, ledger, redis, databaseUrl, shape, filter, tail };
  return {
    exchange,
    with: (change: Partial<Pick<Exchange, 'engine'>> = {}): Grown => ({
      ...shared,
      driver: new Driver({ ...options, ...change }),
    }),
    async close() {
      isOver = true;
      await settling;
      redis.disconnect();
      await exchange.close();
    },
  };
}

async function run(grown: Grown, stops: readonly number[], from: Progress = BEGINNING) {
  const growth = new Growth(grown, from, async () => undefined);
  const failure = await growth.run(stops).then(
    () => undefined,
    (error: Error) => error,
  );
  return { progress: growth.progress, failure };
}

const violationsOf = (checkpoints: readonly Checkpoint[]): string[] =>
  checkpoints.flatMap(({ orders, violations }) => violations.map((one) => `${orders} orders: ${one}`));

describe('the growth of reads', () => {
  it('is judged from the first size at which a read returned as much', () => {
    const ratio = (found: number[], figures: number[]) => ratioOf({ name: '', found, figures });
    expect(ratio([20, 100, 100], [50, 200, 320])).to.equal(1.6);
    expect(ratio([20, 80, 100], [50, 200, 320])).to.equal(undefined);
    expect(ratio([100], [320])).to.equal(undefined);
  });

  it('is none when an index grew by a level', () => {
    expect(isGrown({ name: '', found: [1, 1], figures: [2, 4] })).to.equal(false);
    expect(isGrown({ name: '', found: [100, 100], figures: [200, 290] })).to.equal(false);
    expect(isGrown({ name: '', found: [100, 100], figures: [200, 310] })).to.equal(true);
  });
});

describe('an engine that grows', () => {
  let grown: Awaited<ReturnType<typeof openGrown>> | undefined;

  afterEach(() => grown?.close());

  it('holds only live orders, the unsettled tail and bounded indexes, also after an aborted run', async () => {
    grown = await openGrown();
    const { engine } = grown.exchange;
    let left = 500;
    const orders = instead(engine.orders, {
      place(command) {
        left -= 1;
        return left > 0 ? engine.orders.place(command) : Promise.reject(new Error('killed'));
      },
    });
    const first = await run(grown.with({ engine: { ...engine, orders } }), STOPS);
    expect(first.failure?.message).to.equal('killed');
    const { progress, failure } = await run(grown.with(), STOPS, first.progress);
    if (failure) throw failure;
    const [early, late] = progress.checkpoints;
    expect(violationsOf(progress.checkpoints)).to.deep.equal([]);
    expect(late!.orders).to.be.above(3 * early!.orders);
    expect(late!.kinds['live orders']!.entries).to.equal(2 * (2 * SHAPE.depth + 1));
  });

  for (const leak of plantedFor('growth'))
    it(`reports a build that keeps ${leak.name}`, async () => {
      grown = await openGrown(loadPlanted(leak));
      const { progress, failure } = await run(grown.with(), STOPS.slice(0, 1));
      if (failure) throw failure;
      expect(violationsOf(progress.checkpoints)).to.not.deep.equal([]);
    });
});
