/** Proves that the figures of the last 24 hours equal a recomputation from all executions. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Refusal } from '../../src/domain/errors.ts';
import { changeInHundredths } from '../../src/domain/rolling-day.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { startPostgresServer } from '../support/postgres-server.ts';
import { type Random, random, runSeed } from '../support/seed.ts';
import { MARKETS } from '../support/seeded-events.ts';
import { figureRows, recomputedFigures } from './executions.ts';
import { type Replica, restoredReplica, type SimulatedMarket, simulatedMarket } from './simulated-market.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** 2024-02-27T13:00:00Z. */
const START_MS = Date.UTC(2024, 1, 27, 13);

/** Rounds up to the last millisecond of a second, so that no answer comes from the cache of an earlier second. */
const endOfSecond = (timeMs: number): number => timeMs - (timeMs % 1000) + 999;

/** Increasing times with steps from zero to many hours: bursts within a second, quiet days. */
function timesAfter(dice: Random, fromMs: number, count: number): number[] {
  const times: number[] = [];
  let timeMs = fromMs;
  for (let index = 0; index < count; index += 1) {
    timeMs += dice.pick([0, 0, 1, 17, 400, 1000, 7_000, 61_000, dice.below(HOUR_MS)]);
    if (dice.chance(0.003)) timeMs += dice.below(DAY_MS * 1.5);
    times.push(timeMs);
  }
  return times;
}

async function agree(market: SimulatedMarket, { figures }: Pick<Replica, 'figures'>, where: string) {
  const read = await figures.read();
  expect(read.asOfMs, where).to.equal(market.nowMs() - (market.nowMs() % 1000));
  expect(figureRows(read), where).to.deep.equal(await recomputedFigures(market.executions, read.asOfMs));
}

describe('figures of the last 24 hours', () => {
  const markets: SimulatedMarket[] = [];
  const opened = async (...args: Parameters<typeof simulatedMarket>): Promise<SimulatedMarket> => {
    const market = await simulatedMarket(...args);
    markets.push(market);
    return market;
  };

  after(() => Promise.all(markets.map((market) => market.close())));

  it('equal a recomputation at any time of many days, restarts included', async () => {
    const seed = runSeed();
    const dice = random(seed);
    const market = await opened(seed, START_MS);
    const steady = market.replica();
    const racing = market.racingReplica(dice);
    let restarting = market.replica();
    for (let step = 0; step < 160; step += 1) {
      const where = `SEED=${seed}, step ${step}`;
      await market.happen(timesAfter(dice, market.nowMs(), dice.pick([0, 1, 5, 60, 300])));
      if (dice.chance(0.7)) await market.settle(dice.pick([0, 0, 3, 60]));
      market.advanceTo(endOfSecond(market.nowMs() + dice.pick([0, 0, 1000, 2000, 86_400_000])));
      if (dice.chance(0.2)) restarting = market.replica();
      if (dice.chance(0.8)) await agree(market, steady, where);
      if (dice.chance(0.8)) await agree(market, racing, `${where}, racing`);
      await agree(market, restarting, `${where}, restarted`);
    }
    const days = (market.nowMs() - START_MS) / DAY_MS;
    const [count] = await market.executions.query<{ count: string }>('select count(*) from executions');
    expect(days).to.be.above(20);
    expect(Number(count!.count)).to.be.above(1_000);
  });

  it('drop an execution in the second in which it becomes a day old, and not before', async () => {
    const market = await opened(11, START_MS);
    const replica = market.replica();
    await market.happen(Array.from({ length: 200 }, (_, index) => START_MS + index * 100));
    await market.settle(30);
    for (const sinceMs of [19_999, 20_999, DAY_MS - 1, DAY_MS, DAY_MS + 1, DAY_MS + 9_500, DAY_MS + 19_999]) {
      market.advanceTo(START_MS + sinceMs);
      await agree(market, market.replica(), `${sinceMs} ms later`);
      if (sinceMs % 1000 === 999) await agree(market, replica, `${sinceMs} ms later, kept`);
    }
    market.advanceTo(START_MS + DAY_MS + 21_999);
    // By the machine's clock, the figures of the last read hold for one more millisecond.
    await sleep(5);
    const { bySymbol } = await replica.figures.read();
    for (const { symbol } of MARKETS) {
      expect(bySymbol.get(symbol)).to.deep.include({ trades: 0, baseSteps: 0n, highTicks: null });
      expect(bySymbol.get(symbol)!.lastPriceTicks > 0n).to.equal(true);
    }
  });

  it('are read once for all callers, and once a second', async () => {
    const market = await opened(12, START_MS);
    await market.happen(Array.from({ length: 100 }, (_, index) => START_MS + index));
    let reads = 0;
    const { trades } = market.ledger;
    const counting: Ledger = {
      ...market.ledger,
      trades: {
        ...trades,
        secondsAfter: (...args) => {
          reads += 1;
          return trades.secondsAfter(...args);
        },
      },
    };
    const { figures } = market.replica(counting);
    market.advanceTo(START_MS + 5_000);
    const all = await Promise.all(Array.from({ length: 100 }, () => figures.read()));
    expect(new Set(all).size).to.equal(1);
    expect(await figures.read()).to.equal(all[0]);
    expect(reads).to.equal(1);
  });

  it('are read in parts when there are more trades than one read takes', async () => {
    const seed = 13;
    const market = await opened(seed, START_MS);
    await market.happen(timesAfter(random(seed), START_MS, 600));
    await market.settle();
    market.advanceTo(endOfSecond(market.nowMs()));
    const { trades } = market.ledger;
    const small: Ledger = {
      ...market.ledger,
      trades: { ...trades, secondsAfter: (read, beforeMs) => trades.secondsAfter(read, beforeMs, 7) },
    };
    await agree(market, market.replica(small), 'seven at a time');
  });

  it('are rejected while Postgres is unavailable, and exact again afterwards', async () => {
    const server = await startPostgresServer();
    const market = await simulatedMarket(14, START_MS, server.url);
    await market.happen(Array.from({ length: 300 }, (_, index) => START_MS + index * 1_000));
    await market.settle(50);
    const kept = market.replica();
    const asked = market.replica();
    market.advanceTo(endOfSecond(market.nowMs()));
    await kept.figures.read();
    market.advanceTo(market.nowMs() + 1_000);
    await server.kill();
    for (const { figures } of [kept, asked, kept, asked]) {
      const error = await figures.read().catch((thrown) => thrown);
      expect(error).to.be.instanceOf(Refusal).with.property('code', 'SERVICE_UNAVAILABLE');
    }
    await server.start();
    await market.settle(20);
    await agree(market, kept, 'kept');
    await agree(market, asked, 'first asked while Postgres was away');
    await market.close();
    await server.stop();
  });

  for (const [name, events] of [
    ['has fewer events', 60],
    ['has passed what was read', 200],
  ] as const)
    it(`are those of the restored books when Postgres was put back and ${name}`, async () => {
      const lost = await opened(15, START_MS);
      const restored = await opened(16, START_MS);
      await lost.happen(Array.from({ length: 120 }, (_, index) => START_MS + index * 1_000));
      await lost.settle(20);
      let present = lost;
      const replica = restoredReplica(() => present);
      lost.advanceTo(endOfSecond(lost.nowMs()));
      await agree(lost, replica, 'before');
      await restored.happen(Array.from({ length: events }, (_, index) => START_MS + index * 900));
      await restored.settle(20);
      restored.advanceTo(endOfSecond(lost.nowMs() + HOUR_MS));
      present = restored;
      await sleep(5);
      await agree(restored, replica, 'restored');
    });

  it('round the change of price half up, away from zero', () => {
    const change = (first: bigint | null, last: bigint): bigint =>
      changeInHundredths({
        firstPriceTicks: first,
        lastPriceTicks: last,
        highTicks: null,
        lowTicks: null,
        baseSteps: 0n,
        quoteAtoms: 0n,
        trades: 0,
      });
    expect(change(80_000n, 80_001n), '0.00125 %').to.equal(0n);
    expect(change(20_000n, 20_001n), '0.005 %').to.equal(1n);
    expect(change(20_000n, 19_999n), '-0.005 %').to.equal(-1n);
    expect(change(80_000n, 79_999n), '-0.00125 %').to.equal(0n);
    expect(change(3n, 4n), '33.333… %').to.equal(3_333n);
    expect(change(3n, 5n), '66.666… %').to.equal(6_667n);
    expect(change(1n, 2n ** 53n)).to.equal((2n ** 53n - 1n) * 10_000n);
    expect(change(7n, 7n)).to.equal(0n);
    expect(change(null, 7n)).to.equal(0n);
  });
});
