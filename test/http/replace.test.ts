/** Tests `POST /v1/orders/replace`: its answers, and the orders as lists show them before and after settlement. */

import { expect } from 'chai';
import request from 'supertest';
import { instead } from '../support/instead.ts';
import { type Fixture, openFixture, type Trader } from './fixture.ts';

const ROUTE = '/v1/orders/replace';

describe(`POST ${ROUTE}`, () => {
  let fixture: Fixture;
  let trader: Trader;
  let other: Trader;

  before(async () => {
    fixture = await openFixture();
  });
  beforeEach(async () => {
    trader = await fixture.trader({ USDC: '10000', ETH: '10' });
    other = await fixture.trader({ USDC: '10000', ETH: '10' });
  });
  afterEach(async () => {
    for (const one of [trader, other]) await one.delete('/v1/orders');
  });
  after(() => fixture.close());

  const bid = (fields: object = {}) => ({
    market: 'ETH/USDC',
    side: 'buy',
    type: 'limit',
    price: 1000,
    size: 10,
    ...fields,
  });
  const replace = async (fields: object, by = trader) => {
    const { status, body } = await by.post(ROUTE, bid(fields));
    return { status, body };
  };

  it('answers as placing does, with the item of a cancel, by either id of the old order', async () => {
    const { body: first } = await trader.order(bid({ clientOrderId: 'first' }));
    const { status, body } = await replace({ orderId: first.id, price: 999, clientOrderId: 'second' });
    expect(status).to.equal(200);
    const { replaced, ...rest } = body;
    expect(replaced).to.deep.equal({
      id: first.id,
      clientOrderId: 'first',
      market: 'ETH/USDC',
      status: 'cancelled',
      reason: 'replaced',
    });
    expect(rest).to.include({ status: 'resting', accepted: true, price: 999 });
    const again = await replace({ orderId: first.id, price: 'ignored', clientOrderId: 'second' });
    expect([again.status, again.body]).to.deep.equal([200, rest]);
    const third = await replace({ replacesClientOrderId: 'second', price: 998 });
    expect(third.body.replaced.id).to.equal(body.id);
    const listed = async () => {
      const { orders } = (await trader.get('/v1/orders')).body;
      return orders.map((order: { status: string; reason: string | null }) => [order.status, order.reason]);
    };
    const expected = [
      ['resting', null],
      ['cancelled', 'replaced'],
      ['cancelled', 'replaced'],
    ];
    expect(await listed()).to.deep.equal(expected);
    await fixture.settle();
    expect(await listed()).to.deep.equal(expected);
  });

  it('refuses an order that is not live, or of another wallet, and places nothing', async () => {
    const { body: ended } = await trader.order(bid({ clientOrderId: 'ended' }));
    await trader.delete(`/v1/orders/${ended.id}`);
    const { body: foreign } = await other.order(bid());
    for (const old of [
      { orderId: ended.id },
      { orderId: foreign.id },
      { orderId: 'nonsense' },
      { replacesClientOrderId: 'ended' },
      { replacesClientOrderId: 'never used' },
    ]) {
      const { status, body } = await replace({ ...old, clientOrderId: 'unused' });
      expect([status, body.code], JSON.stringify(old)).to.deep.equal([400, 'ORDER_NOT_FOUND']);
    }
    expect((await trader.get('/v1/orders/by-client-id/unused')).status).to.equal(404);
    for (const old of [{}, { orderId: 'a', replacesClientOrderId: 'b' }, { orderId: 7 }, { orderId: '' }])
      expect((await replace(old)).body.code, JSON.stringify(old)).to.equal('VALIDATION_ERROR');
  });

  it('answers CONFLICT and changes nothing when the old order has filled another amount than the client says', async () => {
    const { body: old } = await trader.order(bid({ clientOrderId: 'old' }));
    await other.order(bid({ side: 'sell', size: '4' }));
    const before = (await trader.get('/v1/orders')).body;
    for (const named of [{ orderId: old.id }, { replacesClientOrderId: 'old' }])
      for (const filledSize of [0, 3.9999, '4.00001', '1e30', 10]) {
        const { status, body } = await replace({ ...named, filledSize, size: 6, clientOrderId: 'unused' });
        expect([status, body.code], `${filledSize}`).to.deep.equal([409, 'CONFLICT']);
      }
    expect((await trader.get('/v1/orders')).body).to.deep.equal(before);
    expect((await trader.get('/v1/orders/by-client-id/unused')).status).to.equal(404);
    for (const filledSize of [-1, '', 'x', true, [4]])
      expect((await replace({ orderId: old.id, filledSize })).body.code, `${filledSize}`).to.equal(
        'VALIDATION_ERROR',
      );
    const moved = await replace({ orderId: old.id, filledSize: '4.0', size: 6, clientOrderId: 'moved' });
    expect([moved.status, moved.body.replaced.status]).to.deep.equal([200, 'partially_filled_cancelled']);
    const again = await replace({ orderId: old.id, filledSize: 0, size: 6, clientOrderId: 'moved' });
    expect([again.status, again.body.id]).to.deep.equal([200, moved.body.id]);
    const unguarded = await replace({ orderId: moved.body.id, filledSize: null, size: 6 });
    expect(unguarded.status).to.equal(200);
  });

  it('leaves the old order when the new one is refused or rejected', async () => {
    await other.order(bid({ side: 'sell', price: 1100, size: 1 }));
    const { body: old } = await trader.order(bid({ clientOrderId: 'old' }));
    const refused = await replace({ orderId: old.id, size: 10.001 });
    expect([refused.status, refused.body.code]).to.deep.equal([400, 'INSUFFICIENT_BALANCE']);
    const rejected = await replace({ orderId: old.id, price: 1100, size: 9, postOnly: true });
    expect(rejected.status).to.equal(200);
    expect(rejected.body).to.include({ accepted: false, rejectCode: 'POST_ONLY_WOULD_CROSS' });
    expect(rejected.body).to.not.have.property('replaced');
    const { body } = await trader.get(`/v1/orders/${old.id}`);
    expect(body.order).to.deep.equal(old.order);
    const { body: accepted } = await replace({ orderId: old.id, price: 1000, size: 9 });
    expect(accepted.replaced.id).to.equal(old.id);
  });

  it('is refused, as cancels are, while nobody can tell the order of a client order id', async () => {
    const { body: old } = await trader.order(bid({ clientOrderId: 'hidden' }));
    const { engine } = fixture.services;
    const orders = instead(engine.orders, { find: () => new Promise(() => undefined) });
    const { app } = await fixture.replica({}, { engine: { ...engine, orders } });
    const as = <Sent extends request.Test>(sent: Sent): Sent => sent.auth(trader.token, { type: 'bearer' });
    const replies = await Promise.all([
      as(request(app).post(ROUTE)).send(bid({ replacesClientOrderId: 'hidden', clientOrderId: 'new' })),
      as(request(app).delete('/v1/orders/by-client-id/hidden')),
      as(request(app).post('/v1/orders/cancel-batch')).send({ clientOrderIds: ['hidden'] }),
    ]);
    for (const { status, body } of replies)
      expect([status, body.error]).to.deep.equal([
        503,
        'the order of this client order id cannot be looked up, and nothing was done: try again',
      ]);
    const { body } = await trader.get(`/v1/orders/${old.id}`);
    expect(body.order.status).to.equal('resting');
  });
});
