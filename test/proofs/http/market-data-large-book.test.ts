/** Tests the public routes on a book of 40,000 orders, as aggregators read it. */

import { expect } from 'chai';
import request from 'supertest';
import type { Side } from '../../../src/domain/order.ts';
import { parseDecimal } from '../../../src/domain/units.ts';
import type { OrderRequest } from '../../../src/order/request.ts';
import { type Fixture, openFixture } from '../../http/fixture.ts';
import { assetContents } from '../../support/engine-contents.ts';
import { random, runSeed } from '../../support/seed.ts';

const ORDERS = 40_000;
/** Enough wallets for each to stay below its limit of live orders. */
const WALLETS = Array.from({ length: 20 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`);
const IN_FLIGHT = 500;
/** Prices of each side, in ticks of 0.01; the bids end below the asks. */
const PRICES = 2_000;
const MID_TICKS = 200_000;

type Sums = Map<number, number>;

const decimal = (value: number, places: number): string =>
  String(Number((value / 10 ** places).toFixed(places)));

describe('a book of 40,000 orders', () => {
  let fixture: Fixture;
  /** Resting size in steps by price in ticks, computed independently. */
  const resting: Record<Side, Sums> = { buy: new Map(), sell: new Map() };
  const dice = random(runSeed());

  const place = async (wallet: string, side: Side, ticks: number, steps: number): Promise<string> => {
    const order: OrderRequest = {
      market: 'BTC/USDC',
      side,
      type: 'limit',
      timeInForce: 'GTC',
      clientOrderId: null,
      leverage: null,
      postOnly: false,
      reduceOnly: false,
      price: parseDecimal(decimal(ticks, 2))!,
      size: parseDecimal(decimal(steps, 3))!,
    };
    const placement = await fixture.engine.orders.place({ wallet, request: order });
    if (placement.outcome !== 'placed') throw new Error(placement.outcome);
    return placement.order.id;
  };
  const rest = (side: Side, ticks: number, steps: number): void => {
    const sum = (resting[side].get(ticks) ?? 0) + steps;
    if (sum === 0) resting[side].delete(ticks);
    else resting[side].set(ticks, sum);
  };

  const levels = (side: Side): [string, string][] =>
    [...resting[side]]
      .sort(([one], [other]) => (side === 'buy' ? other - one : one - other))
      .map(([ticks, steps]) => [decimal(ticks, 2), decimal(steps, 3)]);

  const expectBook = async (): Promise<void> => {
    for (const [depth, eachSide] of [
      [500, 250],
      [0, 250],
      [100, 50],
      [2, 1],
    ]) {
      const { body } = await request(fixture.app).get(`/v1/market-data/orderbook/BTC_USDC?depth=${depth}`);
      expect(body.bids).to.deep.equal(levels('buy').slice(0, eachSide));
      expect(body.asks).to.deep.equal(levels('sell').slice(0, eachSide));
    }
  };

  before(async () => {
    fixture = await openFixture();
    for (const wallet of WALLETS) await fixture.credit(wallet, { BTC: '20000', USDC: '20000000' });
    const lane = async (wallet: string, count: number): Promise<void> => {
      for (let index = 0; index < count; index += 1) {
        const side = dice.pick(['buy', 'sell'] as const);
        const away = 1 + dice.below(PRICES);
        const ticks = side === 'buy' ? MID_TICKS - away : MID_TICKS + away;
        const steps = 1 + dice.below(3);
        rest(side, ticks, steps);
        await place(wallet, side, ticks, steps);
      }
    };
    const lanes = Array.from({ length: IN_FLIGHT }, (_, index) => WALLETS[index % WALLETS.length]!);
    await Promise.all(lanes.map((wallet) => lane(wallet, ORDERS / IN_FLIGHT)));
  });

  after(() => fixture.close());

  it('returns the best levels of every depth, each with the whole size at its price', async () => {
    expect(resting.buy.size + resting.sell.size).to.be.above(3_900);
    await expectBook();
  });

  it('stays right as orders are placed, filled and cancelled', async () => {
    const taker = `0x${'f'.repeat(40)}`;
    await fixture.credit(taker, { BTC: '1000', USDC: '2000000' });
    for (let round = 0; round < 20; round += 1) {
      const side = dice.pick(['buy', 'sell'] as const);
      const opposite = side === 'buy' ? 'sell' : 'buy';
      const best = [...resting[opposite]].sort(([one], [other]) =>
        side === 'buy' ? one - other : other - one,
      );
      let steps = 1 + dice.below(300);
      await place(taker, side, best[40]![0], steps);
      for (const [ticks, there] of best) {
        const filled = Math.min(steps, there);
        steps -= filled;
        if (filled > 0) rest(opposite, ticks, -filled);
        if (steps === 0) break;
      }
      const id = await place(WALLETS[0]!, 'buy', MID_TICKS - PRICES - 1 - round, 7);
      await fixture.engine.orders.cancel(WALLETS[0]!, id);
      await expectBook();
    }
  });

  it('has levels that sum its orders', async () => {
    for (const [asset, side] of [
      ['BTC', 'sell'],
      ['USDC', 'buy'],
    ] as const) {
      const sums: Sums = new Map();
      const snapshot = await assetContents(fixture.engine, asset);
      for (const order of snapshot.resting) {
        const ticks = Number(order.priceTicks);
        sums.set(ticks, (sums.get(ticks) ?? 0) + Number(order.remainingSteps));
      }
      expect(snapshot.resting.length).to.be.above(16_000);
      expect([...sums].sort()).to.deep.equal([...resting[side]].sort());
    }
  });
});
