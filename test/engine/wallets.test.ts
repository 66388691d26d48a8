/** Tests lists and balances of wallets whose bytes are at the ends of the sort order. */

import { expect } from 'chai';
import { liveContents } from '../support/engine-contents.ts';
import { type EngineFixture, fund, held, limit, openEngineFixture, place, publishPlain } from './fixture.ts';

const M = 'ETH/USD';
const wallet = (bytes: string): string => `0x${bytes}`;
const WALLETS = [
  wallet('00'.repeat(20)),
  wallet(`${'00'.repeat(19)}01`),
  wallet(`${'00'.repeat(19)}ff`),
  wallet(`${'00'.repeat(18)}ff00`),
  wallet(`5b${'00'.repeat(19)}`),
  wallet(`28${'ff'.repeat(19)}`),
  wallet(`${'ff'.repeat(19)}00`),
  wallet(`${'ff'.repeat(19)}fe`),
  wallet('ff'.repeat(20)),
] as const;

describe('engine: wallets at the ends of the byte order', () => {
  let fixture: EngineFixture;

  beforeEach(async () => {
    fixture = await openEngineFixture();
    const { engine } = fixture;
    await publishPlain(engine, M);
    await publishPlain(engine, 'SOL/USD');
    for (const one of WALLETS) await fund(engine, one, { ETH: 100n, USD: 1_000n });
  });
  afterEach(() => fixture.close());

  it('cancel, count and hold only their own orders', async () => {
    const { engine } = fixture;
    for (const [index, one] of WALLETS.entries()) {
      await place(engine, one, limit(M, 'sell', 100, 1 + index));
      await place(engine, one, limit(M, 'buy', 50, 1));
      await place(engine, one, limit('SOL/USD', 'buy', 50, 1));
    }
    for (const [index, one] of WALLETS.entries()) {
      expect(await engine.orders.liveCount(one)).to.equal(3);
      expect(await held(engine, one, 'ETH')).to.deep.equal([99n - BigInt(index), 1n + BigInt(index)]);
      const closed = await engine.orders.cancelAll(one, M);
      expect(closed.map((order) => order.wallet)).to.deep.equal([one, one]);
      expect(await held(engine, one, 'ETH')).to.deep.equal([100n, 0n]);
      expect(await held(engine, one, 'USD')).to.deep.equal([950n, 50n]);
      expect((await engine.switches.hold(one)).map((order) => order.market)).to.deep.equal(['SOL/USD']);
      for (const later of WALLETS.slice(index + 1)) {
        expect(await engine.orders.liveCount(later)).to.equal(3);
        expect((await engine.switches.readAccount(later)).held).to.equal(false);
      }
    }
    expect(await liveContents(engine)).to.have.property('size', 0);
  });

  it('find only their own events', async () => {
    const { engine } = fixture;
    const placed = new Map<string, number[]>(WALLETS.map((one) => [one, []]));
    const [first, ...others] = WALLETS;
    for (const one of others) {
      const maker = await place(engine, one, limit(M, 'sell', 100, 2));
      placed.get(one)!.push(maker.order.sequence);
      const taker = await place(engine, first, limit(M, 'buy', 100, 1));
      placed.get(one)!.push(taker.order.sequence);
      placed.get(first)!.push(taker.order.sequence);
      await engine.orders.cancelAll(one, null);
      placed.get(one)!.push(taker.order.sequence + 1);
    }
    for (const one of WALLETS) {
      const events = await engine.outbox.readUnsettled(one);
      const funded = events.filter((event) => event.kind === 'credited');
      expect(funded.map((event) => 'wallet' in event && event.wallet)).to.deep.equal([one, one]);
      const rest = events.filter((event) => event.kind !== 'credited');
      expect(rest.map((event) => event.sequence)).to.deep.equal(placed.get(one));
    }
  });

  it('keep their client order ids apart', async () => {
    const { engine } = fixture;
    const request = limit(M, 'sell', 100, 1, { clientOrderId: 'same' });
    const ids = new Set<string>();
    for (const one of WALLETS) ids.add((await place(engine, one, request)).order.id);
    expect(ids.size).to.equal(WALLETS.length);
    for (const one of WALLETS) {
      expect(await engine.orders.place({ wallet: one, request })).to.deep.include({ outcome: 'claimed' });
      expect(ids.has((await engine.orders.cancelAll(one, null))[0]!.id)).to.equal(true);
    }
  });
});
