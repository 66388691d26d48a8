/**
 * Tests a match that cannot be paid because a reservation is missing: nothing moves, the order is recorded, the market
 * halts.
 */

import { expect } from 'chai';
import type { Side } from '../../src/domain/order.ts';
import { balancesKey } from '../../src/engine/keys.ts';
import { assetContents } from '../support/engine-contents.ts';
import {
  ALICE,
  BOB,
  CAROL,
  codeOf,
  type EngineFixture,
  eventsOf,
  expectConserved,
  fund,
  limit,
  openEngineFixture,
  place,
  publishPlain,
  refusedWithoutWriting,
} from './fixture.ts';

const M = 'ETH/USD';
const opposite = (side: Side): Side => (side === 'buy' ? 'sell' : 'buy');

describe('engine: a match that cannot be settled', () => {
  let fixture: EngineFixture;

  beforeEach(async () => {
    fixture = await openEngineFixture();
    const { engine } = fixture;
    await publishPlain(engine, M, { feeBps: 7, selfTrade: 'expire_maker' });
    for (const wallet of [ALICE, BOB, CAROL]) await fund(engine, wallet, { USD: 1_000n, ETH: 1_000n });
  });
  afterEach(() => fixture.close());

  /** Removes atoms of a reservation, which no command can do. */
  const damage = (wallet: string, asset: string, atoms: bigint): Promise<unknown> => {
    const field = Buffer.concat([Buffer.from(wallet.slice(2), 'hex'), Buffer.from('r')]);
    return fixture.redis.hincrby(balancesKey(asset), field, (-atoms).toString());
  };

  const balances = async (): Promise<unknown> => {
    const { engine } = fixture;
    const assets = ['ETH', 'USD'];
    return Promise.all(
      assets.map(async (asset) => {
        const { balances, resting } = await assetContents(engine, asset);
        return [Object.fromEntries(balances), resting.map(({ id, remainingSteps }) => [id, remainingSteps])];
      }),
    );
  };

  for (const side of ['buy', 'sell'] as const) {
    const asset = side === 'buy' ? 'ETH' : 'USD';

    it(`moves nothing when the ${asset} of a maker is missing`, async () => {
      const { engine } = fixture;
      await place(engine, BOB, limit(M, opposite(side), 10, 5));
      const maker = await place(engine, ALICE, limit(M, opposite(side), 10, 5));
      await damage(ALICE, asset, 1n);
      const before = await balances();
      const sequence = (await engine.reads.state()).sequence;

      const request = limit(M, side, 10, 12, { clientOrderId: 'fails' });
      expect(await codeOf(place(engine, CAROL, request))).to.equal('SETTLEMENT_FAILED');

      expect(await balances()).to.deep.equal(before);
      const [placed, changed, ...more] = (await eventsOf(engine)).filter(
        (event) => event.sequence > sequence,
      );
      expect(more).to.deep.equal([]);
      if (placed?.kind !== 'order_placed') throw new Error('the order is not recorded');
      expect(placed.status).to.equal('rejected');
      expect(placed.reason).to.equal('SETTLEMENT_FAILED');
      expect([placed.filledSteps, placed.trades, placed.expired]).to.deep.equal([0n, [], []]);
      if (changed?.kind !== 'market_changed') throw new Error('the market is not halted');
      expect([changed.market.symbol, changed.market.status]).to.deep.equal([M, 'halted']);
      expect((await engine.markets.all())[0]).to.deep.equal(changed.market);

      // Its id is used, the order is not live, and nobody trades until an operator has intervened.
      expect(await engine.orders.place({ wallet: CAROL, request })).to.deep.equal({
        outcome: 'claimed',
        orderId: placed.order.id,
      });
      expect(await codeOf(engine.orders.cancel(CAROL, placed.order.id))).to.equal('ORDER_NOT_FOUND');
      expect(await engine.orders.liveCount(CAROL)).to.equal(0);
      const refused = (): Promise<unknown> => place(engine, CAROL, limit(M, side, 9, 1));
      expect(await refusedWithoutWriting(fixture.redis, refused)).to.equal('MARKET_NOT_TRADING');

      await damage(ALICE, asset, -1n);
      await engine.markets.change(M, { status: 'active' });
      const { trades } = await place(engine, CAROL, limit(M, side, 10, 10));
      expect(trades.map(({ makerWallet }) => makerWallet)).to.deep.equal([BOB, ALICE]);
      expect(trades[1]?.makerOrderId).to.equal(maker.order.id);
      await expectConserved(engine, 'ETH');
      await expectConserved(engine, 'USD');
    });
  }

  it('moves nothing when an own order that should expire has lost its reservation', async () => {
    const { engine } = fixture;
    const own = await place(engine, ALICE, limit(M, 'sell', 10, 5));
    await place(engine, BOB, limit(M, 'sell', 10, 5));
    await damage(ALICE, 'ETH', 5n);
    const before = await balances();
    expect(await codeOf(place(engine, ALICE, limit(M, 'buy', 10, 5)))).to.equal('SETTLEMENT_FAILED');
    expect(await balances()).to.deep.equal(before);
    await damage(ALICE, 'ETH', -5n);
    await engine.markets.change(M, { status: 'active' });
    const closed = await engine.orders.cancel(ALICE, own.order.id);
    expect(closed.status).to.equal('cancelled');
  });

  it('halts a market whose texts hold any characters', async () => {
    const { engine } = fixture;
    await engine.markets.create({
      symbol: 'SOL/USD',
      status: 'active',
      sellEnabled: true,
      visible: true,
      feeBps: 0,
      tickSize: '1',
      sizeStep: '1',
      minOrderSize: null,
      maxOrderSize: null,
      selfTrade: 'expire_taker',
      referencePrice: null,
      networkId: '","status":"active","version":9,"%1%"',
    });
    const [, before] = await engine.markets.all();
    await fund(engine, ALICE, { SOL: 10n ** 9n });
    await place(engine, ALICE, limit('SOL/USD', 'sell', 1, 5));
    await damage(ALICE, 'SOL', 1n);
    expect(await codeOf(place(engine, BOB, limit('SOL/USD', 'buy', 1, 5)))).to.equal('SETTLEMENT_FAILED');
    const [, after] = await engine.markets.all();
    expect(after!.version).to.be.above(before!.version);
    expect(after).to.deep.equal({ ...before, status: 'halted', version: after!.version });
    await engine.markets.change('SOL/USD', { tradingEnabled: true });
    expect(await codeOf(place(engine, BOB, limit('SOL/USD', 'buy', 1, 5)))).to.equal('MARKET_NOT_TRADING');
  });

  it('cancels nothing when a reservation is missing', async () => {
    const { engine } = fixture;
    await place(engine, ALICE, limit(M, 'sell', 10, 5));
    await place(engine, ALICE, limit(M, 'buy', 9, 5));
    await damage(ALICE, 'USD', 1n);
    const before = await balances();
    const outcome = await engine.orders.cancelAll(ALICE, M).then(
      () => 'cancelled',
      (error: Error) => error.message,
    );
    expect(outcome).to.match(/reservation of ETH\/USD is missing/);
    expect(await balances()).to.deep.equal(before);
  });
});
