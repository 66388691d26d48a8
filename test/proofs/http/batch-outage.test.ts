/**
 * Proves that an order batch asks an engine that does not answer once: none of its orders is sent after a look-up that
 * failed.
 */

import { once } from 'node:events';
import { expect } from 'chai';
import { openEngine } from '../../../src/engine/index.ts';
import { connectRedis } from '../../../src/redis/connections.ts';
import { type Fixture, openFixture, traderOf } from '../../http/fixture.ts';
import { LIMITS } from '../../support/limits.ts';
import { asUser } from '../../support/redis-server.ts';

/** Longer than a command is waited for, and shorter than two. */
const PAUSED_MS = 3_500;

describe('POST /v1/orders/batch, while the engine does not answer', () => {
  let fixture: Fixture;

  before(async () => {
    fixture = await openFixture();
  });
  after(() => fixture.close());

  it('refuses each order after one wait, and places none', async () => {
    const { host, port } = fixture.redis.options;
    const url = asUser('engine-api', `redis://default:test@${host}:${port}`);
    const redis = connectRedis(url, 'batch', () => undefined);
    const engine = openEngine({ redis, ...LIMITS });
    await once(redis, 'ready');
    await engine.lifecycle.open(await fixture.ledger.settlement.cursor());
    const { app } = await fixture.replica({}, { engine });
    const { signer, token } = await fixture.trader({ USDC: '1000000' });
    const trader = traderOf(app, signer, token);
    const bid = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 1000, size: 1 };
    const orders = [bid, { ...bid, clientOrderId: 'named' }];
    expect((await trader.post('/v1/orders/batch', { orders })).body.results[0].status).to.equal(200);

    await fixture.redis.call('CLIENT', 'PAUSE', PAUSED_MS, 'ALL');
    const later = [bid, { ...bid, clientOrderId: 'later' }];
    const { body } = await trader.post('/v1/orders/batch', { orders: later });
    expect(body.results.map(({ code }: { code: string }) => code)).to.deep.equal([
      'SERVICE_UNAVAILABLE',
      'SERVICE_UNAVAILABLE',
    ]);
    await fixture.redis.ping();
    const { body: lists } = await traderOf(fixture.app, signer, token).get('/v1/orders');
    expect(lists.orders).to.have.length(orders.length);
    redis.disconnect();
  });
});
