/** Proves that each trade of a market is listed once, before, during and after its settlement. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Refusal } from '../../src/domain/errors.ts';
import { type PublicTrade, publicTradeOf, type Trade } from '../../src/domain/order.ts';
import type { MarketData, TradeFilter } from '../../src/market-data/index.ts';
import { ALICE, BOB, limit, place } from '../engine/fixture.ts';
import { random, runSeed } from '../support/seed.ts';
import { freshRedisServer } from '../support/servers.ts';
import { openStage, type Stage } from './stage.ts';

const idsOf = (trades: readonly Pick<Trade, 'tradeId'>[]): number[] => trades.map(({ tradeId }) => tradeId);
const ALL: TradeFilter = { limit: 500 };

/** A trade of the ledger or of the engine, with its counts as digits. */
const inDigits = (trade: PublicTrade): PublicTrade => ({
  ...trade,
  priceTicks: String(trade.priceTicks),
  sizeSteps: String(trade.sizeSteps),
  notionalAtoms: String(trade.notionalAtoms),
});

/** Returns the expected list, computed from all executions. */
function listed(executed: readonly Trade[], market: string, filter: TradeFilter): Trade[] {
  const { side, limit: max, fromSeconds = 0, toSeconds = Number.POSITIVE_INFINITY } = filter;
  return executed
    .filter((trade) => trade.market === market && (side ?? trade.takerSide) === trade.takerSide)
    .filter(({ timeMs }) => timeMs >= fromSeconds * 1000 && timeMs < (toSeconds + 1) * 1000)
    .sort((one, other) => other.tradeId - one.tradeId)
    .slice(0, max);
}

describe('the trades of a market', () => {
  describe('before, during and after settlement', () => {
    let stage: Stage;
    let replicas: MarketData[];
    const executed: Trade[] = [];

    /** Compares all fields of all trades for every useful filter at both replicas. */
    const agree = async (where: string): Promise<void> => {
      const seconds = [...new Set(executed.map(({ timeMs }) => Math.floor(timeMs / 1000)))];
      const first = Math.min(...seconds);
      const last = Math.max(...seconds);
      const times = [
        {},
        { fromSeconds: last },
        { toSeconds: first },
        { fromSeconds: first, toSeconds: first },
      ];
      for (const market of ['A/Q', 'B/Q']) {
        for (const side of [undefined, 'buy', 'sell'] as const) {
          for (const time of times) {
            for (const max of [1, 7, 500]) {
              const filter = { side, limit: max, ...time };
              for (const data of replicas) {
                const read = await data.trades(market, filter);
                const what = `${where}, ${market} ${JSON.stringify(filter)}`;
                const expected = listed(executed, market, filter).map(publicTradeOf);
                expect(read.map(inDigits), what).to.deep.equal(expected.map(inDigits));
              }
            }
          }
        }
      }
    };

    before(async () => {
      stage = await openStage();
      replicas = [stage.replica(), stage.replica()];
      for (const side of ['buy', 'sell'] as const) {
        executed.push(...(await stage.trade('A/Q', side, [10, 12, 11, 13])));
        executed.push(...(await stage.trade('B/Q', side, [20, 21])));
        await sleep(1_005 - (Date.now() % 1_000));
      }
    });

    after(() => stage.close());

    it('are listed before anything is settled', () => agree('unsettled'));

    it('are listed once while some are settled', async () => {
      for (const behind of [20, 17, 16, 9, 3, 1]) {
        await stage.settle(behind);
        await agree(`all but ${behind} events settled`);
      }
    });

    it('are listed when all are settled', async () => {
      await stage.settle();
      await agree('settled');
    });

    it('are listed when the engine has dropped them', async () => {
      const { epoch, sequence } = await stage.ledger.settlement.cursor();
      await stage.redis.xtrim('{redbook}:events', 'MINID', `${epoch}-${sequence}`);
      await agree('trimmed');
      executed.push(...(await stage.trade('A/Q', 'sell', [9])));
      replicas.push(stage.replica());
      await agree('trimmed, and one more');
    });

    it('have ids that rise in the order of execution, over all markets', () => {
      const ids = idsOf(executed);
      expect(ids).to.deep.equal([...new Set(ids)].sort((one, other) => one - other));
    });
  });

  it('are listed once as soon as their order is acknowledged, while settlement runs', async () => {
    const stage = await openStage();
    const dice = random(runSeed());
    const answered: Trade[] = [];
    let isOver = false;
    const settling = (async () => {
      while (!isOver) {
        await stage.settle(dice.below(12));
        await sleep(dice.below(8));
      }
    })();
    const reader = async (data: MarketData): Promise<number> => {
      let reads = 0;
      for (; !isOver; reads += 1) {
        const before = [...answered];
        const ids = idsOf(await data.trades('A/Q', ALL));
        expect(ids).to.deep.equal([...new Set(ids)].sort((one, other) => other - one));
        expect(ids).to.include.members(idsOf(before).slice(-400));
      }
      return reads;
    };
    const writer = async (): Promise<void> => {
      for (let count = 0; count < 150; count += 1) {
        await place(stage.engine, ALICE, limit('A/Q', 'sell', 10, 1));
        const { trades } = await place(stage.engine, BOB, limit('A/Q', 'buy', 10, 1));
        answered.push(...trades);
      }
    };
    const data = stage.replica();
    const readers = [reader(data), reader(data), reader(stage.replica())];
    await Promise.all([writer(), writer()]);
    isOver = true;
    await settling;
    const reads = (await Promise.all(readers)).reduce((sum, count) => sum + count, 0);
    expect(idsOf(await data.trades('A/Q', ALL))).to.deep.equal(idsOf(listed(answered, 'A/Q', ALL)));
    expect(answered.length).to.equal(300);
    expect(reads).to.be.above(30);
    await stage.close();
  });

  it('continue with higher ids after the engine was killed, and are rejected while it is away', async () => {
    const server = await freshRedisServer();
    const stage = await openStage(server.url);
    const data = stage.replica();
    const before = await stage.trade('A/Q', 'buy', [10, 11]);
    await stage.settle(2);
    expect(idsOf(await data.trades('A/Q', ALL))).to.deep.equal(idsOf(before).reverse());
    await server.kill();
    const error = await data.trades('A/Q', ALL).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(Refusal).with.property('code', 'SERVICE_UNAVAILABLE');
    await server.start();
    while (!stage.engine.lifecycle.isOpen()) {
      await stage.engine.lifecycle.open(await stage.ledger.settlement.cursor()).catch(() => sleep(50));
    }
    expect(idsOf(await data.trades('A/Q', ALL))).to.deep.equal(idsOf(before).reverse());
    const after = await stage.trade('A/Q', 'sell', [9]);
    expect(after[0]!.tradeId - before[1]!.tradeId).to.be.above(2 ** 36);
    const all = idsOf([...before, ...after]).reverse();
    expect(idsOf(await data.trades('A/Q', ALL))).to.deep.equal(all);
    await stage.settle();
    expect(idsOf(await data.trades('A/Q', ALL))).to.deep.equal(all);
    await stage.close();
  });
});
