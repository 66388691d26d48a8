/** Tests two replicas on one Redis: rules changed by the other replica, and concurrent commands. */

import { expect } from 'chai';
import type { Engine } from '../../src/engine/index.ts';
import { assetContents } from '../support/engine-contents.ts';
import {
  ALICE,
  BOB,
  codeOf,
  type EngineFixture,
  eventsOf,
  expectConserved,
  fund,
  limit,
  movement,
  openEngineFixture,
  place,
  publishPlain,
} from './fixture.ts';

const M = 'ETH/USD';

describe('engine: several replicas', () => {
  let fixture: EngineFixture;
  let one: Engine;
  let other: Engine;

  beforeEach(async () => {
    fixture = await openEngineFixture();
    one = fixture.engine;
    await publishPlain(one, M);
    other = await fixture.replica();
    await fund(one, ALICE, { ETH: 100_000n, USD: 100_000n });
    await fund(one, BOB, { ETH: 100_000n, USD: 100_000n });
    // Both replicas have now read the rules.
    await place(one, ALICE, limit(M, 'sell', 100, 50));
    await place(other, BOB, limit(M, 'buy', 100, 1));
  });
  afterEach(() => fixture.close());

  it('place orders under a fee that another replica has just set', async () => {
    for (const feeBps of [1000, 0, 333]) {
      await one.markets.change(M, { feeBps });
      const { trades } = await place(other, BOB, limit(M, 'buy', 100, 3));
      expect(trades.map(({ feeAtoms }) => feeAtoms)).to.deep.equal([
        BigInt(Math.ceil((300 * feeBps) / 10_000)),
      ]);
    }
  });

  it('reject orders in a market that another replica has just closed, and accept them once it is open', async () => {
    const placing = (size: number): Promise<unknown> => place(other, BOB, limit(M, 'buy', 100, size));
    await one.markets.change(M, { status: 'halted' });
    expect(await codeOf(placing(1))).to.equal('MARKET_NOT_TRADING');
    await one.markets.change(M, { status: 'active' });
    await placing(1);
    await one.markets.change(M, { minOrderSize: '3' });
    expect(await codeOf(placing(2))).to.equal('ORDER_BELOW_MIN_SIZE');
    await one.markets.change(M, { minOrderSize: null });
    await placing(2);
    await one.markets.change(M, { status: 'pre_open' });
    expect(await codeOf(placing(1))).to.equal('MARKET_PRE_OPEN');
    await one.markets.change(M, { status: 'active', selfTrade: 'expire_both' });
    await place(other, ALICE, limit(M, 'buy', 100, 1));
    expect(await one.orders.liveCount(ALICE)).to.equal(0);
  });

  it('know a market that another replica has just published', async () => {
    await publishPlain(one, 'SOL/USD');
    await fund(one, ALICE, { SOL: 10n });
    const { order } = await place(other, ALICE, limit('SOL/USD', 'sell', 1, 10));
    expect((await other.orders.cancel(ALICE, order.id)).market).to.equal('SOL/USD');
  });

  it('change one market at the same time without losing a change', async () => {
    const changes = [
      one.markets.change(M, { feeBps: 5 }),
      other.markets.change(M, { minOrderSize: '2' }),
      one.markets.change(M, { visible: false }),
      other.markets.change(M, { referencePrice: '99' }),
    ];
    const versions = (await Promise.all(changes)).map(({ version }) => version);
    expect(new Set(versions).size).to.equal(4);
    const [market] = await one.markets.all();
    expect(market?.version).to.equal(Math.max(...versions));
    expect(market).to.deep.include({
      feeBps: 5,
      minOrderSize: '2',
      visible: false,
      referencePrice: '99',
    });
  });

  it('place one of a hundred orders that carry the same client order id', async () => {
    const request = limit(M, 'buy', 100, 2, { clientOrderId: '\u{1f40b}'.repeat(128) });
    const replicas = [one, other];
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => replicas[index % 2]!.orders.place({ wallet: BOB, request })),
    );
    const placed = answers.filter((answer) => answer.outcome === 'placed');
    expect(placed).to.have.length(1);
    const ids = new Set(
      answers.map((answer) => ('order' in answer ? answer.order.id : 'orderId' in answer && answer.orderId)),
    );
    expect(ids.size).to.equal(1);
  });

  it('count one of a hundred movements that carry the same reference', async () => {
    const credit = movement('credited', ALICE, 'USD', 7n, 'once');
    const { supplyAtoms } = await assetContents(one, 'USD');
    const replicas = [one, other];
    await Promise.all(Array.from({ length: 100 }, (_, index) => replicas[index % 2]!.funds.move(credit)));
    expect((await assetContents(one, 'USD')).supplyAtoms).to.equal(supplyAtoms + 7n);
    // A debit may carry the reference of a credit.
    expect((await one.funds.move({ ...credit, kind: 'debited' })).outcome).to.equal('moved');
  });

  it('trade with each other without gaps in the events', async () => {
    const placings = Array.from({ length: 300 }, (_, index) => {
      const side = index % 3 === 0 ? ('sell' as const) : ('buy' as const);
      const wallet = index % 2 === 0 ? ALICE : BOB;
      const engine = index % 5 < 2 ? one : other;
      return index % 17 === 0
        ? engine.orders.cancelAll(wallet, M)
        : place(engine, wallet, limit(M, side, 95 + (index % 10), 1 + (index % 7)));
    });
    await Promise.all(placings);
    const sequences = (await eventsOf(one)).map((event) => event.sequence);
    expect(sequences).to.deep.equal(Array.from({ length: sequences.length }, (_, index) => index + 1));
    await expectConserved(one, 'ETH');
    await expectConserved(one, 'USD');
  });
});
