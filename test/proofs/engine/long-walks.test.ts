/**
 * Tests orders that meet many makers: across the pages that a script reads, up to the bound, and up to the settings'
 * maximum.
 */

import { expect } from 'chai';
import type { Engine } from '../../../src/engine/index.ts';
import {
  ALICE,
  atMarket,
  BOB,
  type EngineFixture,
  expectConserved,
  fund,
  limit,
  movement,
  openEngineFixture,
  place,
  publishPlain,
  spend,
} from '../../engine/fixture.ts';
import type { LIMITS } from '../../support/limits.ts';

const M = 'ETH/USD';
/** Upper limit of the MAX_MAKERS setting. */
const MAX_MAKERS_OF_SETTINGS = 5_000;

const maker = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;

/** Places one ask of one step from each of `count` wallets; the price rises every ten. */
async function quote(engine: Engine, count: number): Promise<void> {
  for (let first = 0; first < count; first += 100) {
    const wallets = Array.from({ length: Math.min(100, count - first) }, (_, index) => first + index);
    await Promise.all(
      wallets.map((index) => engine.funds.move(movement('credited', maker(index), 'ETH', 1n))),
    );
    for (const index of wallets) {
      await place(engine, maker(index), limit(M, 'sell', 100 + Math.floor(index / 10), 1));
    }
  }
}

describe('engine: orders that match many makers', () => {
  let fixture: EngineFixture | undefined;
  afterEach(() => fixture?.close());

  const open = async (options: Partial<typeof LIMITS>): Promise<Engine> => {
    fixture = await openEngineFixture(options);
    await publishPlain(fixture.engine, M);
    await fund(fixture.engine, BOB, { USD: 10n ** 12n });
    return fixture.engine;
  };

  for (const count of [7, 8, 9, 263, 264, 265, 520]) {
    it(`fills ${count} makers in price-time order and rests behind the last`, async () => {
      const engine = await open({});
      await quote(engine, count);
      const { order, trades } = await place(engine, BOB, limit(M, 'buy', 10_000, count + 1));
      expect([order.status, order.filledSteps]).to.deep.equal(['partially_filled', BigInt(count)]);
      expect(trades.map(({ makerWallet }) => makerWallet)).to.deep.equal(
        Array.from({ length: count }, (_, index) => maker(index)),
      );
      await expectConserved(engine, 'ETH');
      await expectConserved(engine, 'USD');
    });
  }

  it('drops the remainder when it reaches the maximum of makers', async () => {
    const engine = await open({ maxMakers: 5 });
    await quote(engine, 24);
    const statuses: unknown[] = [];
    for (const request of [
      limit(M, 'buy', 200, 5),
      limit(M, 'buy', 200, 6),
      atMarket(M, 'buy', 6),
      limit(M, 'buy', 200, 6, { timeInForce: 'FOK' }),
      spend(M, 100_000),
    ]) {
      const { order } = await place(engine, BOB, request);
      statuses.push([order.status, order.filledSteps]);
    }
    expect(statuses).to.deep.equal([
      ['filled', 5n],
      ['partially_filled_cancelled', 5n],
      ['partially_filled_cancelled', 5n],
      ['rejected', 0n],
      ['filled', 5n],
    ]);
    // Four makers are left, not more than the bound, so the rest of the order may rest.
    const { order } = await place(engine, BOB, limit(M, 'buy', 200, 6));
    expect([order.status, order.filledSteps]).to.deep.equal(['partially_filled', 4n]);
    expect(await engine.orders.liveCount(BOB)).to.equal(1);
  });

  it('matches as many makers as the settings allow', async () => {
    const engine = await open({ maxMakers: MAX_MAKERS_OF_SETTINGS });
    await quote(engine, MAX_MAKERS_OF_SETTINGS);
    const { order, trades } = await place(engine, BOB, atMarket(M, 'buy', MAX_MAKERS_OF_SETTINGS));
    expect([order.status, trades.length]).to.deep.equal(['filled', MAX_MAKERS_OF_SETTINGS]);
    await expectConserved(engine, 'ETH');
    await expectConserved(engine, 'USD');
  });

  it('cancels thousands of orders of one wallet', async () => {
    const engine = await open({});
    await fund(engine, ALICE, { ETH: 5_000n });
    for (let orders = 0; orders < 2_500; orders += 1) {
      await place(engine, ALICE, limit(M, 'sell', 100 + (orders % 13), 2));
    }
    expect(await engine.orders.cancelAll(ALICE, null)).to.have.length(2_500);
    expect(await engine.orders.liveCount(ALICE)).to.equal(0);
    await expectConserved(engine, 'ETH');
  });

  it('rejects an order at the cap of live orders, and accepts one when another has ended', async () => {
    const engine = await open({ maxLiveOrders: 3 });
    await fund(engine, ALICE, { ETH: 10n });
    const placing = (): Promise<string> =>
      place(engine, ALICE, limit(M, 'sell', 100, 1)).then(
        ({ order }) => order.status,
        (error) => error.code,
      );
    const statuses = [await placing(), await placing(), await placing(), await placing()];
    expect(statuses).to.deep.equal(['resting', 'resting', 'resting', 'BAD_REQUEST']);
    // The limit of live orders applies only to orders that rest.
    const { order } = await place(engine, ALICE, limit(M, 'sell', 100, 1, { timeInForce: 'IOC' }));
    expect(order.status).to.equal('expired');
    await place(engine, BOB, atMarket(M, 'buy', 1));
    expect(await placing()).to.equal('resting');
  });
});
