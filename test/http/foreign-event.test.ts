/** Tests the answers while the engine's stream has an entry that somebody added by hand: 503, with nothing changed. */

import { expect } from 'chai';
import request from 'supertest';
import { KEYS } from '../../src/engine/keys.ts';
import { entryRemoval } from '../support/guide.ts';
import { type Fixture, openFixture, type Trader } from './fixture.ts';

describe('an entry that was added to the stream by hand', () => {
  let fixture: Fixture;
  let trader: Trader;

  before(async () => {
    fixture = await openFixture();
    trader = await fixture.trader({ USDC: '100000', ETH: '100' });
  });
  after(() => fixture.close());

  it('rejects orders and cancels until it is removed, but not market data and lists', async () => {
    const { redis, engine, app, log } = fixture;
    const { body: resting } = await trader.order();
    await fixture.settle();
    const { epoch, sequence } = await engine.reads.state();
    await redis.xadd(KEYS.events, `${epoch}-${sequence + 1}`, 'by', 'hand');

    const order = { clientOrderId: 'by hand' };
    for (const reply of [
      await trader.order(order),
      await trader.delete(`/v1/orders/${resting.id}`),
      await trader.delete('/v1/orders'),
    ]) {
      expect([reply.status, reply.body.code]).to.deep.equal([503, 'SERVICE_UNAVAILABLE']);
      expect(reply.body.error).to.include('nothing was done');
    }
    expect(log.join(''))
      .to.match(/refused because of an internal failure/)
      .and.match(/specified in XADD/);
    const { body } = await trader.get('/v1/orders');
    expect(body.orders.map(({ id }: { id: string }) => id)).to.deep.equal([resting.id]);
    expect((await request(app).get('/v1/markets')).status).to.equal(200);
    expect((await trader.post('/v1/orders/cancel-after', { timeoutMs: 0 })).status).to.equal(200);

    for (const command of entryRemoval({ epoch, sequence })) await redis.call(...command);
    const { body: placed } = await trader.order(order);
    expect(placed.clientOrderId).to.equal('by hand');
    expect((await trader.delete('/v1/orders')).body.count).to.equal(2);
    await fixture.settle();
  });
});
