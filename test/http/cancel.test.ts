/** Proves that one order and all orders of a wallet are cancelled once, and that their funds are released. */

import { expect } from 'chai';
import request from 'supertest';
import { instead } from '../support/instead.ts';
import { type Fixture, openFixture, type Trader } from './fixture.ts';

const NOT_FOUND = {
  error: 'the order does not exist, belongs to another wallet, or is already closed',
  code: 'ORDER_NOT_FOUND',
};

describe('cancelling', () => {
  let fixture: Fixture;
  let trader: Trader;
  let other: Trader;

  before(async () => {
    fixture = await openFixture();
  });

  beforeEach(async () => {
    trader = await fixture.trader({ USDC: '100000', ETH: '100' });
    other = await fixture.trader({ USDC: '100000', ETH: '100' });
  });

  afterEach(async () => {
    await fixture.engine.switches.resume();
    for (const symbol of ['ETH/USDC', 'BTC/USDC']) await fixture.engine.orders.clear(symbol);
  });

  after(() => fixture.close());

  it('writes the reply once for all callers who share the cancel of all orders', async () => {
    const { engine } = fixture.services;
    let written = 0;
    const order = {
      id: '0'.repeat(34),
      wallet: trader.wallet,
      market: 'ETH/USDC',
      ...({ status: 'partially_filled_cancelled', reason: 'user_cancelled' } as const),
      get clientOrderId(): string {
        written += 1;
        return 'a "quoted" id';
      },
    };
    const closed = [order];
    const orders = instead(engine.orders, { cancelAll: async () => closed });
    const replica = await fixture.replica({}, { engine: { ...engine, orders } });
    const cancel = () =>
      request(replica.app).delete('/v1/orders').set('Authorization', `Bearer ${trader.token}`);
    const replies = await Promise.all(Array.from({ length: 5 }, cancel));
    expect(written).to.equal(1);
    const { id, market, status, reason } = order;
    const cancelled = [{ id, clientOrderId: 'a "quoted" id', market, status, reason }];
    for (const { body } of replies) expect(body).to.deep.equal({ cancelled, count: 1 });
  });

  const balance = async (asset: string): Promise<object> =>
    (await trader.get(`/v1/portfolio/${trader.wallet}`)).body.balances.find(
      (item: { asset: string }) => item.asset === asset,
    );

  describe('by name', () => {
    it('cancels the live order of a client order id', async () => {
      const { body: order } = await trader.order({ clientOrderId: 'a/b' });
      await other.order({ clientOrderId: 'theirs' });
      const { status, body } = await trader.delete('/v1/orders/by-client-id/a%2Fb');
      expect([status, body.id, body.status]).to.deep.equal([200, order.id, 'cancelled']);
      for (const id of ['a%2Fb', 'theirs', 'never']) {
        const reply = await trader.delete(`/v1/orders/by-client-id/${id}`);
        expect([reply.status, reply.body], id).to.deep.equal([400, NOT_FOUND]);
      }
    });

    it('cancels each named order once, in two markets, while trading is paused', async () => {
      const { body: one } = await trader.order({ clientOrderId: 'one' });
      const { body: two } = await trader.order({ market: 'BTC/USDC', clientOrderId: 'two' });
      const { body: kept } = await trader.order();
      const { body: foreign } = await other.order({ clientOrderId: 'foreign' });
      await fixture.engine.switches.pause();
      const { status, body } = await trader.post('/v1/orders/cancel-batch', {
        orderIds: [one.id, foreign.id, 'nonsense', one.id],
        clientOrderIds: ['two', 'one', 'foreign'],
      });
      expect(status).to.equal(200);
      const item = (order: { id: string; market: string }, clientOrderId: string) => {
        const rest = { id: order.id, clientOrderId, market: order.market, reason: 'user_cancelled' };
        return { ...rest, status: 200, order: { ...rest, status: 'cancelled' } };
      };
      const missing = { status: 400, ...NOT_FOUND };
      expect(body.results).to.deep.equal([
        item(one, 'one'),
        missing,
        missing,
        missing,
        item(two, 'two'),
        missing,
        missing,
      ]);
      const { orders } = (await trader.get('/v1/orders?status=live')).body;
      expect(orders.map(({ id }: { id: string }) => id)).to.deep.equal([kept.id]);
    });

    it('refuses no ids, more than 100, and members that it does not know', async () => {
      const ids = (count: number): string[] => Array.from({ length: count }, (_none, at) => `id-${at}`);
      for (const body of [
        {},
        { orderIds: [] },
        { orderIds: ids(101) },
        { orderIds: ids(60), clientOrderIds: ids(41) },
        { orderIds: 'id-1' },
        { clientOrderIds: [''] },
        { orderIds: ids(1), market: 'ETH/USDC' },
      ]) {
        const reply = await trader.post('/v1/orders/cancel-batch', body);
        expect([reply.status, reply.body.code], JSON.stringify(body)).to.deep.equal([
          400,
          'VALIDATION_ERROR',
        ]);
      }
      const { status, body } = await trader.post('/v1/orders/cancel-batch', {
        orderIds: ids(60),
        clientOrderIds: ids(40),
      });
      expect(status, JSON.stringify(body)).to.equal(200);
      expect(body.results).to.have.length(100);
    });
  });

  describe('one order', () => {
    it('returns the same item as cancel-all, and releases the funds', async () => {
      const { body: order } = await trader.order({ clientOrderId: 'mine' });
      expect(await balance('USDC')).to.include({ reserved: 2000, available: 98_000 });
      const { status, body } = await trader.delete(`/v1/orders/${order.id}`);
      expect(status).to.equal(200);
      expect(body).to.deep.equal({
        id: order.id,
        clientOrderId: 'mine',
        market: 'ETH/USDC',
        status: 'cancelled',
        reason: 'user_cancelled',
      });
      expect(await balance('USDC')).to.include({ reserved: 0, available: 100_000 });
    });

    it('returns the same error for every id that is no live order of the wallet', async () => {
      const { body: foreign } = await other.order({ price: 1500 });
      const { body: cancelled } = await trader.order();
      await trader.delete(`/v1/orders/${cancelled.id}`);
      const { body: expired } = await trader.order({ price: 1, timeInForce: 'IOC' });
      const { body: rejected } = await trader.order({ price: 1, timeInForce: 'FOK' });
      const { body: filled } = await trader.order({ price: 1500, side: 'sell' });
      expect([expired.status, rejected.status, filled.status]).to.deep.equal([
        'expired',
        'rejected',
        'filled',
      ]);
      const { body: live } = await other.order({ price: 1400 });
      const ids = [
        foreign.id,
        cancelled.id,
        expired.id,
        rejected.id,
        filled.id,
        live.id,
        '0',
        '0'.repeat(34),
        'f'.repeat(34),
        live.id.toUpperCase(),
        `${live.id}0`,
        live.id.slice(1),
        '%00',
        '..%2f..',
        '%F0%9F%90%8B',
        'ETH%2FUSDC',
        '*',
        '__proto__',
        'a'.repeat(2000),
      ];
      for (const id of ids) {
        const { status, body } = await trader.delete(`/v1/orders/${id}`);
        expect(status, id).to.equal(400);
        expect(body, id).to.deep.equal(NOT_FOUND);
      }
      expect((await other.get('/v1/orders')).body.orders[0].status).to.equal('resting');
    });

    it('works while trading is paused', async () => {
      const { body: order } = await trader.order();
      await fixture.engine.switches.pause();
      expect((await trader.order()).body.code).to.equal('OPERATIONAL_PAUSED');
      expect((await trader.delete(`/v1/orders/${order.id}`)).status).to.equal(200);
    });

    it('cancels once when many requests come at the same time', async () => {
      const { body: order } = await trader.order();
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => trader.delete(`/v1/orders/${order.id}`)),
      );
      expect(replies.filter(({ status }) => status === 200).length).to.equal(1);
      expect(replies.filter(({ body }) => body.code === 'ORDER_NOT_FOUND').length).to.equal(19);
      expect(await balance('USDC')).to.include({ reserved: 0, available: 100_000 });
    });
  });

  describe('all orders', () => {
    it('cancels the orders of every market, and none of another wallet', async () => {
      await fixture.credit(trader.wallet, { BTC: '10' });
      const placed = [
        (await trader.order({ clientOrderId: 'a' })).body,
        (await trader.order({ side: 'sell', price: 3000 })).body,
        (await trader.order({ market: 'BTC/USDC', side: 'sell', price: 50_000 })).body,
      ];
      await other.order({ side: 'sell', price: 2000, size: 0.25 });
      const { body: foreign } = await other.order({ price: 1000 });
      await fixture.engine.switches.pause();
      const { status, body } = await trader.delete('/v1/orders');
      expect(status).to.equal(200);
      expect(Object.keys(body)).to.deep.equal(['cancelled', 'count']);
      expect(body.count).to.equal(3);
      const ended = {
        clientOrderId: null,
        market: 'ETH/USDC',
        status: 'cancelled',
        reason: 'user_cancelled',
      };
      expect(body.cancelled).to.have.deep.members([
        { ...ended, id: placed[0].id, clientOrderId: 'a', status: 'partially_filled_cancelled' },
        { ...ended, id: placed[1].id },
        { ...ended, id: placed[2].id, market: 'BTC/USDC' },
      ]);
      expect((await trader.delete('/v1/orders')).body).to.deep.equal({ cancelled: [], count: 0 });
      expect((await other.get('/v1/orders')).body.orders[0]).to.include({
        id: foreign.id,
        status: 'resting',
      });
    });

    it('cancels the orders of one market', async () => {
      const { body: stays } = await trader.order({ market: 'BTC/USDC', price: 10 });
      const { body: goes } = await trader.order();
      const { body } = await trader.delete('/v1/orders?market=ETH%2FUSDC');
      expect(body.cancelled.map(({ id }: { id: string }) => id)).to.deep.equal([goes.id]);
      expect((await trader.delete('/v1/orders?market=BTC/USDC')).body.cancelled[0].id).to.equal(stays.id);
    });

    it('rejects a filter that it does not understand, and cancels nothing', async () => {
      const { body: order } = await trader.order();
      const refusals = [
        ['market=', 'VALIDATION_ERROR'],
        ['market', 'VALIDATION_ERROR'],
        ['market=ETH/USDC&market=BTC/USDC', 'VALIDATION_ERROR'],
        ['market=ETH/USDC&market=', 'VALIDATION_ERROR'],
        ['market[]=BTC/USDC', 'VALIDATION_ERROR'],
        ['Market=BTC/USDC', 'VALIDATION_ERROR'],
        ['symbol=BTC/USDC', 'VALIDATION_ERROR'],
        ['market=NO/NE', 'MARKET_NOT_FOUND'],
        ['market=btc/usdc', 'MARKET_NOT_FOUND'],
        ['market=%20', 'MARKET_NOT_FOUND'],
        ['market=%00', 'MARKET_NOT_FOUND'],
        ['market=__proto__', 'MARKET_NOT_FOUND'],
      ];
      for (const [query, code] of refusals) {
        const reply = await trader.delete(`/v1/orders?${query}`);
        expect([reply.status, reply.body.code], query).to.deep.equal([400, code]);
      }
      expect((await trader.get('/v1/orders')).body.orders[0]).to.include({ id: order.id, status: 'resting' });
    });
  });
});
