/** Proves that a repeated client order id returns its order and creates no second one. */

import { expect } from 'chai';
import type { Response } from 'supertest';
import { KEYS } from '../../src/engine/keys.ts';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { type Fixture, openFixture, type Replica, type Trader, traderOf } from './fixture.ts';

/** Nothing listens on this port. */
const NOWHERE = 'postgres://nobody@127.0.0.1:1/nothing';

describe('replaying a client order id', () => {
  let fixture: Fixture;
  let second: Replica;
  let withoutPostgres: Replica;
  let away: Ledger;
  let bidder: Trader;
  let seller: Trader;
  let symbol: string;
  let markets = 0;

  before(async () => {
    fixture = await openFixture();
    second = await fixture.replica();
    away = openLedger({ databaseUrl: NOWHERE });
    withoutPostgres = await fixture.replica({}, { ledger: away });
  });

  beforeEach(async () => {
    markets += 1;
    const base = `R${markets}`;
    ({ symbol } = await fixture.market({ symbol: `${base}/USDC` }));
    bidder = await fixture.trader({ USDC: '10000000' });
    seller = await fixture.trader({ [base]: '1000' });
  });

  after(async () => {
    await away.close();
    await fixture.close();
  });

  const at = (replica: Replica, trader: Trader): Trader => traderOf(replica.app, trader.signer, trader.token);
  const buy = (fields: object = {}, replica: Replica = fixture): Promise<Response> =>
    at(replica, bidder).order({ market: symbol, clientOrderId: 'mine', ...fields });
  const sell = (fields: object = {}): Promise<Response> =>
    seller.order({ market: symbol, side: 'sell', ...fields });
  /** Deletes the claims, as Redis does ten minutes after Postgres has the ids. */
  const forget = async (): Promise<void> => {
    await fixture.settle();
    await fixture.redis.del(...KEYS.claims);
  };
  const listed = async (): Promise<{ id: string }> => (await bidder.get('/v1/orders')).body.orders[0];

  /** Checks that a replay returns the order as the list has it now, whatever the other fields of the request. */
  const expectReplay = async (reply: Response, id: string): Promise<void> => {
    expect(reply.status, reply.text).to.equal(200);
    const { accepted, order, ...own } = reply.body;
    expect(accepted).to.equal(true);
    expect(own).to.deep.equal(order);
    const now = await listed();
    expect(order).to.deep.equal(now);
    expect(now.id).to.equal(id);
  };

  const STATES: Record<string, () => Promise<void>> = {
    'not settled': async () => undefined,
    settled: () => fixture.settle(),
    'forgotten by Redis': forget,
  };
  for (const [name, arrive] of Object.entries(STATES)) {
    it(`returns the order that is ${name}, with its changes since`, async () => {
      const { id } = (await buy({ size: 3 })).body;
      await arrive();
      await expectReplay(await buy({ size: 7, price: 1 }), id);
      await sell({ size: 1 });
      await expectReplay(await buy({ side: 'sell' }, second), id);
      await fixture.settle();
      await sell({ size: 1 });
      const partly = await buy();
      await expectReplay(partly, id);
      expect(partly.body).to.include({ status: 'partially_filled', filledSize: 2 });
      expect(partly.body.fills.length).to.equal(2);
      await bidder.delete(`/v1/orders/${id}`);
      const cancelled = await buy();
      await expectReplay(cancelled, id);
      expect(cancelled.body.status).to.equal('partially_filled_cancelled');
      expect((await bidder.get('/v1/orders')).body.orders.length).to.equal(1);
    });

    it(`returns it for an invalid request when it is ${name}`, async () => {
      const { id } = (await buy()).body;
      await arrive();
      for (const fields of [{ side: 'up' }, { market: 5, size: null }, { account: seller.wallet }]) {
        await expectReplay(await buy(fields), id);
      }
      const bare = await bidder.post('/v1/orders', { clientOrderId: 'mine' });
      await expectReplay(bare, id);
      const unknown = await bidder.post('/v1/orders', { clientOrderId: 'never used' });
      expect([unknown.status, unknown.body.code]).to.deep.equal([400, 'VALIDATION_ERROR']);
    });
  }

  it('returns an order that is no longer among the latest hundred', async () => {
    const { id } = (await buy({ price: 1 })).body;
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(
        Array.from({ length: 11 }, (_, index) => buy({ price: 1, clientOrderId: `${round} ${index}` })),
      );
    }
    for (const arrive of Object.values(STATES)) {
      await arrive();
      const { orders } = (await bidder.get('/v1/orders')).body;
      expect(orders.length).to.equal(100);
      expect(orders.map((order: { id: string }) => order.id)).to.not.include(id);
      const { status, body } = await buy();
      expect([status, body.id, body.status]).to.deep.equal([200, id, 'resting']);
    }
  });

  it('finds only orders of the own wallet', async () => {
    const { id } = (await buy({ price: 1 })).body;
    await forget();
    const other = await fixture.trader({ USDC: '10000' });
    const reply = await other.order({ market: symbol, clientOrderId: 'mine', price: 1 });
    expect(reply.status).to.equal(200);
    expect(reply.body.id).to.not.equal(id);
    expect(reply.body.order.fills).to.deep.equal([]);
  });

  it('is not triggered by a rejected placement, which leaves the id free', async () => {
    expect((await buy({ size: 0 })).body.code).to.equal('INVALID_ORDER');
    expect((await buy({ price: 20_000_000 })).body.code).to.equal('INSUFFICIENT_BALANCE');
    expect((await buy({ side: 'up' })).body.code).to.equal('VALIDATION_ERROR');
    const placed = await buy();
    expect([placed.status, placed.body.status]).to.deep.equal([200, 'resting']);
  });

  for (const [name, arrive] of Object.entries(STATES)) {
    it(`places one of a hundred orders on two replicas, and none of a hundred more when it is ${name}`, async () => {
      const hundred = () =>
        Promise.all(Array.from({ length: 100 }, (_, index) => buy({}, index % 2 === 0 ? fixture : second)));
      const replies = await hundred();
      await arrive();
      replies.push(...(await hundred()));
      expect(new Set(replies.map(({ status }) => status))).to.deep.equal(new Set([200]));
      expect(new Set(replies.map(({ body }) => body.id)).size).to.equal(1);
      expect((await bidder.get('/v1/orders')).body.orders.length).to.equal(1);
      const { balances } = (await bidder.get(`/v1/portfolio/${bidder.wallet}`)).body;
      expect(balances).to.deep.include({
        asset: 'USDC',
        total: 10_000_000,
        reserved: 2000,
        available: 9_998_000,
        amount: 10_000_000,
      });
    });
  }

  describe('while Postgres is unavailable', () => {
    it('lets trading go on, with and without client order ids', async () => {
      const placed = await buy({ size: 2 }, withoutPostgres);
      expect([placed.status, placed.body.status]).to.deep.equal([200, 'resting']);
      const fresh = await buy({ clientOrderId: undefined, size: 1 }, withoutPostgres);
      expect(fresh.status).to.equal(200);
      await sell({ size: 1 });
      const replayed = await buy({}, withoutPostgres);
      expect(replayed.status, replayed.text).to.equal(200);
      expect(replayed.body).to.include({ id: placed.body.id, status: 'partially_filled', filledSize: 1 });
      const cancelled = await at(withoutPostgres, bidder).delete('/v1/orders');
      expect([cancelled.status, cancelled.body.count]).to.deep.equal([200, 2]);
      expect((await at(withoutPostgres, bidder).get(`/v1/portfolio/${bidder.wallet}`)).status).to.equal(200);
    });

    it('returns SERVICE_UNAVAILABLE for an id that only Postgres knows, and places nothing', async () => {
      await buy();
      await forget();
      const replies = [
        await buy({}, withoutPostgres),
        await buy({ side: 'up' }, withoutPostgres),
        await at(withoutPostgres, bidder).get('/v1/orders'),
        await at(withoutPostgres, bidder).get('/v1/trades'),
      ];
      for (const [index, { status, body }] of replies.entries()) {
        expect(status).to.equal(503);
        expect(body.code).to.equal('SERVICE_UNAVAILABLE');
        expect(body.error).to.match(
          index < 2 ? /^clientOrderId: the ledger is/ : /^the ledger is temporarily/,
        );
      }
      expect((await bidder.get('/v1/orders')).body.orders.length).to.equal(1);
      expect(withoutPostgres.log.join('')).to.include('ECONNREFUSED');
    });
  });
});
