/** Tests ORDERS_PER_MINUTE over two replicas: what counts, what is refused, and what never is. */

import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import type { Response } from 'supertest';
import { orderLog } from '../../src/http/limits/keys.ts';
import { type Fixture, openFixture, type Trader, traderOf } from './fixture.ts';

const LIMIT = 60;
const ORDER = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 1, size: 0.01 };

describe('a limit of orders in a minute', () => {
  let fixture: Fixture;
  let apps: RequestListener[];
  let traders: Trader[];

  before(async () => {
    fixture = await openFixture({ ordersPerMinute: LIMIT });
    apps = [fixture.app, (await fixture.replica()).app];
  });
  after(() => fixture.close());
  beforeEach(async () => {
    const trader = await fixture.trader({ USDC: '1000' });
    traders = apps.map((app) => traderOf(app, trader.signer, trader.token));
  });

  const order = (own: object = {}, at = 0): Promise<Response> =>
    traders[at]!.post('/v1/orders', { ...ORDER, ...own });
  const batch = (orders: readonly object[], at = 0): Promise<Response> =>
    traders[at]!.post('/v1/orders/batch', { orders });
  const numbers = ({ headers }: Response): number[] =>
    ['ratelimit-limit', 'ratelimit-remaining'].map((name) => Number(headers[name]));
  const fill = async (): Promise<void> => {
    expect((await batch(Array(50).fill(ORDER))).status).to.equal(200);
    for (let left = LIMIT - 50; left > 0; left -= 1) expect((await order({}, left % 2)).status).to.equal(200);
  };

  it('counts orders, also refused ones, those of order batches and replacements, at all replicas', async () => {
    const first = await order({ clientOrderId: 'first' });
    expect(numbers(first)).to.deep.equal([LIMIT, LIMIT - 1]);
    const reset = Number(first.headers['ratelimit-reset']);
    expect(reset - Date.parse(first.headers.date!) / 1_000).to.be.within(55, 65);
    expect(numbers(await order({ size: 'none' }, 1))).to.deep.equal([LIMIT, LIMIT - 2]);
    expect(numbers(await batch([ORDER, {}, ORDER]))).to.deep.equal([LIMIT, LIMIT - 5]);
    const replacement = { ...ORDER, replacesClientOrderId: 'first', price: 2 };
    const replaced = await traders[1]!.post('/v1/orders/replace', replacement);
    expect([replaced.status, ...numbers(replaced)]).to.deep.equal([200, LIMIT, LIMIT - 6]);
  });

  it('refuses more with the seconds to wait, before it looks at them, and records nothing', async () => {
    await fill();
    const refused = await order({ size: 'none' }, 1);
    expect([refused.status, refused.body.code, ...numbers(refused)]).to.deep.equal([
      429,
      'RATE_LIMITED',
      LIMIT,
      0,
    ]);
    expect(Number(refused.headers['retry-after'])).to.be.within(1, 61);
    expect((await batch([ORDER])).status).to.equal(429);
    expect((await fixture.redis.getBuffer(orderLog(traders[0]!.wallet)))!.length % 7).to.equal(0);
    const other = await fixture.trader({ USDC: '1000' });
    expect((await other.post('/v1/orders', ORDER)).status, 'of another wallet').to.equal(200);
  });

  it('refuses an order batch that it has no room for as a whole, and takes a smaller one', async () => {
    expect((await batch(Array(30).fill(ORDER))).status).to.equal(200);
    expect((await batch(Array(31).fill(ORDER))).status).to.equal(429);
    expect(numbers(await batch(Array(30).fill(ORDER)))).to.deep.equal([LIMIT, 0]);
  });

  it('never refuses cancels, lists, or repeated orders', async () => {
    const named = { clientOrderId: 'named' };
    const { id } = (await order(named)).body;
    await batch(Array(49).fill(ORDER));
    await batch(Array(10).fill(ORDER));
    expect((await order()).status).to.equal(429);
    const again = await order({ ...named, size: 'whatever' }, 1);
    expect([again.status, again.body.id]).to.deep.equal([200, id]);
    expect((await batch([named, named], 1)).status).to.equal(200);
    expect((await batch([named, ORDER], 1)).status).to.equal(429);
    expect((await traders[0]!.delete(`/v1/orders/${id}`)).status).to.equal(200);
    expect((await traders[1]!.get('/v1/orders')).status).to.equal(200);
    expect((await traders[1]!.delete('/v1/orders')).body.count).to.equal(LIMIT - 1);
  });

  it('lets each order count for the minute after it, and no longer', async () => {
    await fill();
    const log = orderLog(traders[0]!.wallet);
    const bytes = (await fixture.redis.getBuffer(log))!;
    /** Makes all orders of the log older. */
    const age = async (seconds: number): Promise<void> => {
      const older = Buffer.from(bytes);
      for (let at = 0; at < older.length; at += 7) older.writeUInt32BE(older.readUInt32BE(at) - seconds, at);
      await fixture.redis.set(log, older);
    };
    await age(30);
    const refused = await order();
    expect(refused.status).to.equal(429);
    expect(Number(refused.headers['retry-after'])).to.be.within(1, 31);
    await age(62);
    expect(numbers(await order())).to.deep.equal([LIMIT, LIMIT - 1]);
  });

  it('serves orders without a limit while Redis cannot count them', async () => {
    await fill();
    await fixture.redis.del(orderLog(traders[0]!.wallet));
    await fixture.redis.hset(orderLog(traders[0]!.wallet), 'of', 'another type');
    const reply = await order();
    expect([reply.status, reply.headers['ratelimit-limit']]).to.deep.equal([200, undefined]);
  });
});
