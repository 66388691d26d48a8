/** Tests where market buys by quote amount end. */

import { expect } from 'chai';
import {
  ALICE,
  BOB,
  type EngineFixture,
  fund,
  held,
  limit,
  openEngineFixture,
  place,
  publishPlain,
  spend,
} from './fixture.ts';

describe('engine: quote amounts', () => {
  let fixture: EngineFixture;

  beforeEach(async () => {
    fixture = await openEngineFixture();
  });
  afterEach(() => fixture.close());

  for (const selfTrade of ['expire_maker', 'expire_both'] as const) {
    it(`keeps own asks that the amount no longer reaches (${selfTrade})`, async () => {
      const { engine } = fixture;
      await publishPlain(engine, 'ETH/USD', { selfTrade });
      await fund(engine, ALICE, { ETH: 5n });
      await fund(engine, BOB, { ETH: 5n, USD: 100n });
      await place(engine, ALICE, limit('ETH/USD', 'sell', 10, 5));
      await place(engine, BOB, limit('ETH/USD', 'sell', 11, 5));
      const { order } = await place(engine, BOB, spend('ETH/USD', 59));
      expect([order.status, order.sizeSteps]).to.deep.equal(['filled', 5n]);
      expect(await engine.orders.liveCount(BOB)).to.equal(1);
      expect(await held(engine, BOB, 'ETH')).to.deep.equal([5n, 5n]);
    });
  }
});
