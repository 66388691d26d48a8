/** Tests `POST /v1/orders/batch`: its results, their order, and its share of the engine. */

import { expect } from 'chai';
import { type Fixture, openFixture, type Trader } from './fixture.ts';

const ROUTE = '/v1/orders/batch';

interface Result {
  readonly status: number;
  readonly code?: string;
  readonly id: string;
  readonly fillCount: number;
  readonly fills: readonly object[];
  readonly order: { readonly id: string; readonly status: string };
}

describe(`POST ${ROUTE}`, () => {
  let fixture: Fixture;
  let trader: Trader;
  let other: Trader;

  before(async () => {
    fixture = await openFixture({ maxFillsPerReply: 50 });
  });
  beforeEach(async () => {
    trader = await fixture.trader({ USDC: '1000000', ETH: '1000' });
    other = await fixture.trader({ USDC: '1000000', ETH: '1000' });
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
    size: 1,
    ...fields,
  });
  const placed = async (orders: readonly unknown[], by = trader): Promise<Result[]> => {
    const { status, body } = await by.post(ROUTE, { orders });
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.results).to.have.length(orders.length);
    return body.results;
  };

  it('answers each order as its own request would be answered', async () => {
    const { body: known } = await trader.order({ price: 1001, clientOrderId: 'known' });
    const orders = [
      bid({ clientOrderId: 'new' }),
      bid({ price: 'x' }),
      bid({ market: 'NO/SUCH' }),
      bid({ clientOrderId: 'known', price: 'ignored' }),
      bid({ clientOrderId: 'new', price: 7 }),
      bid({ market: 'BTC/USDC', price: 5 }),
      bid({ account: other.wallet }),
      bid({ size: 100_000 }),
      bid({ expiresAfter: 1 }),
      bid({ timeInForce: 'FOK' }),
      null,
      [bid()],
      'an order',
    ];
    const results = await placed(orders);
    expect(results.map(({ status, code, order }) => code ?? `${status} ${order.status}`)).to.deep.equal([
      '200 resting',
      'VALIDATION_ERROR',
      'MARKET_NOT_FOUND',
      '200 resting',
      '200 resting',
      '200 resting',
      'FORBIDDEN',
      'ORDER_ABOVE_MAX_SIZE',
      'BAD_REQUEST',
      '200 rejected',
      'VALIDATION_ERROR',
      'VALIDATION_ERROR',
      'VALIDATION_ERROR',
    ]);
    expect(results[6]!.status).to.equal(403);
    expect(results[3]!.id).to.equal(known.id);
    expect(results[4]!.id).to.equal(results[0]!.id);
    for (const [index, result] of results.entries()) {
      const body = orders[index];
      if (index >= 10) continue;
      // Orders without an id would be placed again.
      if (result.status === 200 && !('clientOrderId' in (body as object))) continue;
      const { status, body: alone } = await trader.post('/v1/orders', body as object);
      const { status: _own, ...rest } = alone;
      expect(result, JSON.stringify(body)).to.deep.equal({ ...rest, status });
    }
  });

  it('places the orders of a market in the order given, also when ids are looked up in Postgres', async () => {
    for (const round of [1, 2, 3]) {
      const orders = Array.from({ length: 50 }, (_none, at) =>
        bid({ price: 900 + at, size: 0.01, clientOrderId: at % 3 === 0 ? `o${round}-${at}` : undefined }),
      );
      const results = await placed(orders);
      const sequences = results.map(({ id }) => id.slice(-12));
      expect(sequences).to.deep.equal([...sequences].sort());
      expect(new Set(sequences).size).to.equal(50);
      await trader.delete('/v1/orders');
    }
  });

  it('takes turns with other wallets, and begins no order after 200 makers of one call', async () => {
    const asks = Array.from({ length: 50 }, () => bid({ side: 'sell', price: 2000, size: 0.01 }));
    for (let at = 0; at < 6; at += 1) await placed(asks, other);
    const third = await fixture.trader({ USDC: '1000' });
    const first = placed(Array.from({ length: 50 }, () => bid({ price: 2000, size: 0.06 })));
    const second = third.order({ price: 500, size: 0.01 });
    const [results, { body: single }] = await Promise.all([first, second]);
    const met = results.reduce((sum, { fillCount }) => sum + fillCount, 0);
    expect(met).to.equal(300);
    const shown = results.reduce((sum, { fills }) => sum + fills.length, 0);
    expect(shown, 'fills in the reply').to.equal(50);
    const before = results.filter(({ id }) => id.slice(-12) < single.id.slice(-12));
    expect(before.length, 'orders of the order batch before that of another wallet').to.be.below(34);
  });

  it('refuses more orders of a wallet than may wait, and nothing else', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, () =>
        placed(Array.from({ length: 50 }, () => bid({ price: 10, size: 0.01 }))),
      ),
    );
    const results = replies.flat();
    const refused = results.filter(({ status }) => status === 503);
    for (const { code } of refused) expect(code).to.equal('SERVICE_UNAVAILABLE');
    const { body } = await trader.get('/v1/orders?status=live&limit=1');
    expect(body.orders).to.have.length(1);
    expect(await fixture.engine.orders.liveCount(trader.wallet)).to.equal(results.length - refused.length);
  });

  it('refuses a body that is no list of 1 to 50 orders, or larger than 64 KB', async () => {
    for (const body of [{}, { orders: [] }, { orders: {} }, { orders: Array(51).fill(bid()) }]) {
      const reply = await trader.post(ROUTE, body);
      expect([reply.status, reply.body.code]).to.deep.equal([400, 'VALIDATION_ERROR']);
    }
    const wide = (bytes: number) =>
      `{"orders":[${JSON.stringify(bid({ price: 10 }))}],"x":"${'x'.repeat(bytes)}"}`;
    expect((await trader.post(ROUTE, wide(60_000))).status).to.equal(200);
    expect((await trader.post(ROUTE, wide(66_000))).status).to.equal(413);
    expect((await trader.post(ROUTE, '{"orders":[')).body.code).to.equal('EXPRESS_ERR_INVALID_JSON');
    const full = Array.from({ length: 50 }, (_none, at) => ({
      ...bid({ price: 10, size: 0.01, clientOrderId: `full ${at}`, timeInForce: 'GTC', postOnly: true }),
      reduceOnly: false,
      leverage: 1,
      account: trader.wallet,
      expiresAfter: Date.now() + 60_000,
      quoteAmount: null,
      tag: 'mine',
    }));
    for (const { status } of await placed(full)) expect(status).to.equal(200);
  });
});
