/** Proves that a wallet can read all of its orders and trades by pages and one by one, and nothing else. */

import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import request from 'supertest';
import { writeCursor } from '../../../src/contract/list-cursor.ts';
import { KEYS } from '../../../src/engine/keys.ts';
import { type Fixture, openFixture, type Replica, type Trader, traderOf } from '../../http/fixture.ts';
import { random, runSeed } from '../../support/seed.ts';

interface Listed {
  readonly id: string;
  readonly status: string;
  readonly orderId: string;
  readonly fillCount: number;
  readonly fills: readonly { readonly id: string }[];
}

const FUNDS = { USDC: '10000000', ETH: '1000', BTC: '100' };
const LIVE = ['open', 'resting', 'partially_filled'];

describe('pages of orders and trades', () => {
  let fixture: Fixture;
  let alice: Trader;
  let bob: Trader;

  before(async () => {
    fixture = await openFixture();
  });

  beforeEach(async () => {
    for (const symbol of ['ETH/USDC', 'BTC/USDC']) await fixture.engine.orders.clear(symbol);
    [alice, bob] = await Promise.all([fixture.trader(FUNDS), fixture.trader(FUNDS)]);
  });

  after(() => fixture.close());

  const page = async (trader: Trader, path: string): Promise<{ items: Listed[]; next: string | null }> => {
    const { status, body } = await trader.get(path);
    expect(status, JSON.stringify(body)).to.equal(200);
    return { items: body.orders ?? body.trades, next: body.nextCursor };
  };

  /** Reads every page of a list, and runs a function between two pages. */
  const pages = async (
    trader: Trader,
    path: string,
    between: () => Promise<unknown> = async () => undefined,
  ): Promise<Listed[]> => {
    const items: Listed[] = [];
    let next: string | null = null;
    do {
      const cursor: string = next === null ? '' : `cursor=${next}`;
      const found = await page(trader, `${path}${path.includes('?') ? '&' : '?'}${cursor || 'unknown=1'}`);
      items.push(...found.items);
      next = found.next;
      if (next !== null) await between();
    } while (next !== null);
    return items;
  };

  const idsOf = (items: readonly Listed[]): string[] => items.map(({ id }) => id);

  /** Places resting orders and returns their ids in order of placement. */
  const rest = async (trader: Trader, count: number, fields: object = {}): Promise<string[]> => {
    const ids: string[] = [];
    for (let at = 1; at <= count; at += 1) {
      ids.push((await trader.order({ price: at, size: 0.01, ...fields })).body.id);
    }
    return ids;
  };

  it('reach live orders that are older than a thousand closed ones, settled or not', async () => {
    const live = (await rest(alice, 120)).reverse();
    const closed: string[] = [];
    for (let at = 0; at < 10; at += 1) {
      const placed = await Promise.all(
        Array.from({ length: 100 }, () => alice.order({ price: 1, size: 0.01, timeInForce: 'IOC' })),
      );
      closed.push(...placed.map(({ body }) => body.id));
      if (at === 5) await fixture.settle();
    }
    for (const settle of [async () => undefined, () => fixture.settle()]) {
      await settle();
      expect(idsOf(await pages(alice, '/v1/orders?status=live&limit=50'))).to.deep.equal(live);
      expect(idsOf(await pages(alice, '/v1/orders?status=closed'))).to.have.members(closed);
      const all = idsOf(await pages(alice, '/v1/orders?limit=100'));
      expect(all)
        .to.have.members([...closed, ...live])
        .and.to.have.length(1_120);
      expect(all.slice(-120)).to.deep.equal(live);
    }
  });

  it('end with null, also when the last page is full', async () => {
    const ids = (await rest(alice, 4)).reverse();
    for (const status of ['', '&status=live']) {
      const first = await page(alice, `/v1/orders?limit=2${status}`);
      expect(idsOf(first.items)).to.deep.equal(ids.slice(0, 2));
      const second = await page(alice, `/v1/orders?limit=2${status}&cursor=${first.next}`);
      expect([idsOf(second.items), second.next]).to.deep.equal([ids.slice(2), null]);
    }
    expect((await page(alice, '/v1/orders')).next).to.equal(null);
    expect(await page(alice, '/v1/orders?status=closed')).to.deep.equal({ items: [], next: null });
  });

  it('contain each order once while orders are placed, filled, cancelled and settled', async () => {
    const dice = random(runSeed());
    for (const status of ['live', 'closed', undefined]) {
      const resting = await rest(alice, 24);
      for (const id of resting.slice(0, 8)) await alice.delete(`/v1/orders/${id}`);
      const before = await pages(alice, status === undefined ? '/v1/orders' : `/v1/orders?status=${status}`);
      const between = async (): Promise<void> => {
        await alice.order({ price: 1, size: 0.01 });
        await alice.order({ price: 1, size: 0.01, timeInForce: 'IOC' });
        await alice.delete(`/v1/orders/${dice.pick(resting)}`);
        await bob.order({ side: 'sell', type: 'market', price: undefined, size: 0.015 });
        if (dice.chance(0.5)) await fixture.settle();
      };
      const path = status === undefined ? '/v1/orders?limit=5' : `/v1/orders?limit=5&status=${status}`;
      const shown = await pages(alice, path, between);
      const after = new Map((await pages(alice, '/v1/orders')).map((order) => [order.id, order]));
      const ids = idsOf(shown);
      expect(new Set(ids).size, status).to.equal(ids.length);
      const isStill = ({ id }: Listed): boolean =>
        status === undefined || LIVE.includes(after.get(id)!.status) === (status === 'live');
      expect(ids, status).to.include.members(idsOf(before.filter(isStill)));
      for (const order of shown) {
        if (status !== undefined) expect(LIVE.includes(order.status)).to.equal(status === 'live');
      }
      await alice.delete('/v1/orders');
    }
  });

  it('of live orders show at once what was cancelled, filled and placed', async () => {
    const [first, second, third] = await rest(alice, 3);
    await fixture.settle();
    await alice.delete(`/v1/orders/${first}`);
    await bob.order({ side: 'sell', price: 3, size: 0.01 });
    const { body: fourth } = await alice.order({ price: 1, size: 0.01 });
    for (const settle of [async () => undefined, () => fixture.settle()]) {
      await settle();
      expect(idsOf((await page(alice, '/v1/orders?status=live')).items)).to.deep.equal([fourth.id, second]);
      const closed = (await page(alice, '/v1/orders?status=closed')).items;
      expect(closed.map(({ id, status }) => [id, status])).to.deep.equal([
        [third, 'filled'],
        [first, 'cancelled'],
      ]);
    }
  });

  it('of one market leave out other markets, live or closed, settled or not', async () => {
    const place = (market: string, timeInForce: string): Promise<string> =>
      alice.order({ market, price: 1, size: 0.01, timeInForce }).then(({ body }) => body.id);
    const live: string[] = [];
    const closed: string[] = [];
    for (let at = 0; at < 12; at += 1) {
      // The other market has most of the orders, around those that are asked for.
      for (let other = 0; other < 3; other += 1) await place('ETH/USDC', other === 0 ? 'GTC' : 'IOC');
      if (at % 2 === 0) live.unshift(await place('BTC/USDC', 'GTC'));
      else closed.unshift(await place('BTC/USDC', 'IOC'));
      if (at === 6) await fixture.settle();
    }
    const [cancelled] = live.splice(1, 1);
    await alice.delete(`/v1/orders/${cancelled}`);
    for (const settle of [async () => undefined, () => fixture.settle()]) {
      await settle();
      const ofBtc = (query: string) => pages(alice, `/v1/orders?market=BTC/USDC&${query}`).then(idsOf);
      expect(await ofBtc('status=live&limit=2')).to.deep.equal(live);
      expect(await ofBtc('status=closed&limit=3')).to.have.members([...closed, cancelled]);
      const all = await ofBtc('limit=5');
      expect(all).to.deep.equal(await ofBtc('limit=100'));
      expect(all).to.have.length(12);
      expect(await pages(alice, '/v1/orders?market=ETH%2FUSDC&limit=10')).to.have.length(36);
    }
    const { next } = await page(alice, '/v1/orders?market=BTC/USDC&limit=1');
    for (const path of [
      '/v1/orders?',
      '/v1/orders?market=ETH/USDC&',
      '/v1/orders?market=BTC/USDC&status=live&',
    ]) {
      const { status, body } = await alice.get(`${path}cursor=${next}`);
      expect([status, body.code], path).to.deep.equal([400, 'VALIDATION_ERROR']);
    }
  });

  it('are rejected for an invalid market', async () => {
    for (const [query, code] of [
      ['market=NO/SUCH', 'MARKET_NOT_FOUND'],
      ['market=eth/usdc', 'MARKET_NOT_FOUND'],
      ['market=', 'VALIDATION_ERROR'],
      ['market=ETH/USDC&market=ETH/USDC', 'VALIDATION_ERROR'],
    ] as const) {
      const { status, body } = await alice.get(`/v1/orders?${query}`);
      expect([status, body.code], query).to.deep.equal([400, code]);
    }
  });

  it('of trades contain every trade, of one order or of one market, settled or not', async () => {
    const { body: maker } = await alice.order({ side: 'sell', price: 2000, size: 1 });
    const { body: other } = await alice.order({ market: 'BTC/USDC', side: 'sell', price: 2000, size: 1 });
    const fills: string[] = [];
    for (let at = 0; at < 12; at += 1) {
      const market = at % 4 === 0 ? 'BTC/USDC' : 'ETH/USDC';
      fills.unshift((await bob.order({ market, price: 2000, size: 0.01 })).body.fills[0].id);
      if (at === 6) await fixture.settle();
    }
    const inBtc = fills.filter((_, at) => (11 - at) % 4 === 0);
    const inEth = fills.filter((id) => !inBtc.includes(id));
    const expectLists = async (): Promise<void> => {
      expect(idsOf(await pages(alice, '/v1/trades?limit=5'))).to.deep.equal(fills);
      expect(idsOf(await pages(alice, '/v1/trades?limit=3&market=ETH/USDC'))).to.deep.equal(inEth);
      expect(idsOf(await pages(alice, `/v1/trades?limit=2&orderId=${maker.id}`))).to.deep.equal(inEth);
      expect(idsOf(await pages(alice, `/v1/trades?orderId=${other.id}&market=BTC/USDC`))).to.deep.equal(
        inBtc,
      );
      for (const none of [
        `orderId=${maker.id}&market=BTC/USDC`,
        `orderId=${'0'.repeat(34)}`,
        'orderId=nothing',
        'orderId=%00',
        `orderId=${'9'.repeat(3_000)}`,
      ]) {
        expect(await page(alice, `/v1/trades?${none}`), none).to.deep.equal({ items: [], next: null });
      }
      expect((await page(bob, `/v1/trades?orderId=${maker.id}`)).items).to.deep.equal([]);
    };
    await expectLists();
    await fixture.settle();
    await expectLists();
  });

  it('reject an invalid cursor, and one of another wallet, list or filter', async () => {
    await rest(alice, 3);
    await rest(bob, 3);
    for (let at = 0; at < 2; at += 1) {
      await alice.order({ side: 'sell', price: 2000, size: 0.01 });
      await bob.order({ price: 2000, size: 0.01 });
    }
    const { next: orders } = await page(alice, '/v1/orders?limit=1');
    const { next: live } = await page(alice, '/v1/orders?limit=1&status=live');
    const { next: others } = await page(bob, '/v1/orders?limit=1');
    const { next: trades } = await page(alice, '/v1/trades?limit=1');
    const { next: ofEth } = await page(alice, '/v1/trades?limit=1&market=ETH/USDC');
    const scope = { list: 'orders', wallet: alice.wallet, status: undefined };
    const bytes = Buffer.from(orders!, 'base64url');
    const garbled = Array.from({ length: bytes.length }, (_, at) => {
      const other = Buffer.from(bytes);
      other[at]! ^= 1;
      return other.toString('base64url');
    });
    const wrong: [path: string, cursors: readonly (string | null)[]][] = [
      ['/v1/orders?', [live, others, trades, ofEth, ...garbled]],
      [
        '/v1/orders?',
        ['', 'x', '%00', '1', `${orders}x`, orders!.slice(1), 'a'.repeat(8_000), '%F0%9F%98%80'],
      ],
      ['/v1/orders?', [writeCursor(scope, Number.MAX_SAFE_INTEGER + 1), `${orders}&cursor=${orders}`]],
      ['/v1/orders?status=live&', [orders]],
      ['/v1/orders?market=ETH/USDC&', [orders, live, ofEth]],
      ['/v1/orders?status=closed&', [orders, live]],
      ['/v1/trades?', [orders, ofEth]],
      ['/v1/trades?market=BTC/USDC&', [trades, ofEth]],
      [`/v1/trades?orderId=${'0'.repeat(34)}&`, [trades, ofEth]],
    ];
    for (const [path, cursors] of wrong) {
      for (const cursor of cursors) {
        const { status, body } = await alice.get(`${path}cursor=${cursor}`);
        expect([status, body.code], `${path}cursor=${cursor}`).to.deep.equal([400, 'VALIDATION_ERROR']);
        expect(body.error).to.match(/^cursor: /);
      }
    }
    expect((await page(alice, `/v1/orders?cursor=${orders}&limit=2`)).items).to.have.length(2);
  });

  it('reject invalid and repeated values, and ignore unknown parameters', async () => {
    for (const query of [
      'status=',
      'status=open',
      'status=LIVE',
      'status=live&status=live',
      'status=live,closed',
      'limit=',
      'limit=0',
      'limit=101',
      'limit=-1',
      'limit=1.5',
      'limit=1e1',
      'limit=ten',
      'limit=5&limit=5',
    ]) {
      const { status, body } = await alice.get(`/v1/orders?${query}`);
      expect([status, body.code], query).to.deep.equal([400, 'VALIDATION_ERROR']);
      expect(body.error, query).to.match(/^(status|limit): /);
    }
    for (const query of ['orderId=', 'orderId=a&orderId=a', 'limit=x']) {
      const { status, body } = await alice.get(`/v1/trades?${query}`);
      expect([status, body.code], query).to.deep.equal([400, 'VALIDATION_ERROR']);
    }
    const [id] = await rest(alice, 1);
    for (const query of [
      'unknown=1&unknown=2',
      'status[]=x',
      'Limit=0',
      'limit=100',
      'limit=001&orderId=NO',
    ]) {
      expect(idsOf((await page(alice, `/v1/orders?${query}`)).items), query).to.deep.equal([id]);
    }
  });

  describe('of one order', () => {
    const IDS = [
      'plain',
      'a/b',
      '/',
      '//',
      '%2F',
      '%',
      '%00',
      '+',
      'a b',
      '?',
      '#',
      'a?b=c#d',
      '&=',
      ';',
      'a;b=c',
      '.hidden',
      '...',
      'by-client-id',
      'by-client-id/x',
      'cancel-after',
      '\u{1f40b}'.repeat(128),
      'é',
      'e\u0301',
      '\u202eright',
      '\t\n',
      '"',
      "'; drop table orders; --",
      'null',
      '0',
      ':orderId',
      'x'.repeat(128),
    ];

    const pathOf = (clientOrderId: string): string =>
      `/v1/orders/by-client-id/${encodeURIComponent(clientOrderId)}`;

    it('return the order by its id and by any client order id, settled, forgotten or not', async () => {
      const placed = new Map<string, string>();
      for (const clientOrderId of IDS) {
        placed.set(clientOrderId, (await alice.order({ price: 1, size: 0.01, clientOrderId })).body.id);
      }
      const listed = new Map((await page(alice, '/v1/orders')).items.map((order) => [order.id, order]));
      const forget = async (): Promise<void> => {
        await fixture.redis.del(...KEYS.claims);
      };
      for (const arrive of [async () => undefined, () => fixture.settle(), forget]) {
        await arrive();
        for (const [clientOrderId, id] of placed) {
          const found = await alice.get(pathOf(clientOrderId));
          expect([found.status, found.body], clientOrderId).to.deep.equal([200, { order: listed.get(id) }]);
          expect((await alice.get(`/v1/orders/${id}`)).body).to.deep.equal({ order: listed.get(id) });
        }
      }
    });

    it('return an order whose client order id has dots, for clients that send the path as it is', async () => {
      for (const clientOrderId of ['.', '..']) {
        const { body } = await alice.order({ price: 1, size: 0.01, clientOrderId });
        const server = fixture.app;
        const reply = await raw(server, `/v1/orders/by-client-id/${clientOrderId}`, alice.token);
        expect(JSON.parse(reply.text).order.id).to.equal(body.id);
        const lookup = await alice.post('/v1/orders', { clientOrderId });
        expect([lookup.status, lookup.body.id]).to.deep.equal([200, body.id]);
      }
    });

    it('show a change of the order at once', async () => {
      const { body: maker } = await alice.order({ side: 'sell', price: 2000, size: 1, clientOrderId: 'one' });
      const now = async () => (await alice.get(`/v1/orders/${maker.id}`)).body.order;
      for (const settle of [async () => undefined, () => fixture.settle()]) {
        await settle();
        const { body: taken } = await bob.order({ price: 2000, size: 0.1 });
        const order = await now();
        expect(order.fills.at(-1).id).to.equal(taken.fills[0].id);
        expect((await alice.get(pathOf('one'))).body.order).to.deep.equal(order);
      }
      expect(await now()).to.include({ filledSize: 0.2, fillCount: 2 });
      await alice.delete(`/v1/orders/${maker.id}`);
      expect((await now()).status).to.equal('partially_filled_cancelled');
    });

    it('return NOT_FOUND for an unknown order and for that of another wallet', async () => {
      const { body: order } = await alice.order({ price: 1, size: 0.01, clientOrderId: 'mine' });
      const NOT_FOUND = { error: 'the wallet has no such order', code: 'NOT_FOUND' };
      for (const settle of [async () => undefined, () => fixture.settle()]) {
        await settle();
        for (const [trader, path] of [
          [bob, `/v1/orders/${order.id}`],
          [bob, '/v1/orders/by-client-id/mine'],
          [alice, '/v1/orders/by-client-id/Mine'],
          [alice, `/v1/orders/${'0'.repeat(34)}`],
          [alice, `/v1/orders/${order.id.toUpperCase()}x`],
          [alice, '/v1/orders/1234'],
          [alice, '/v1/orders/%00'],
          [alice, '/v1/orders/by-client-id'],
          [alice, '/v1/orders/cancel-after'],
        ] as const) {
          const { status, body, headers } = await trader.get(path);
          expect([status, body], path).to.deep.equal([404, NOT_FOUND]);
          expect(headers['cache-control']).to.equal('no-store');
        }
      }
    });

    it('require a session and a valid id, reject parameters, and have no request limit', async () => {
      for (const path of ['/v1/orders/1', '/v1/orders/by-client-id/1']) {
        const { status, body } = await request(fixture.app).get(path);
        expect([status, body.code]).to.deep.equal([401, 'UNAUTHORIZED']);
      }
      for (const id of ['x'.repeat(129), 'a\0b']) {
        const { status, body } = await alice.get(pathOf(id));
        expect([status, body.code]).to.deep.equal([400, 'VALIDATION_ERROR']);
      }
      expect((await alice.get('/v1/orders/by-client-id/%ED%A0%80')).status).to.equal(400);
      const { body: order } = await alice.order({ price: 1, size: 0.01, clientOrderId: 'mine' });
      const { headers } = await alice.get(`/v1/orders/${order.id}?unknown=1&unknown=2`);
      expect(headers['cache-control']).to.equal('no-store');
      expect(Object.keys(headers).filter((name) => name.startsWith('ratelimit'))).to.deep.equal([]);
    });
  });

  describe('with many fills', () => {
    const LIMITS = { maxFillsPerOrder: 3, maxFillsPerReply: 5 };
    let bounded: Replica;

    before(async () => {
      bounded = await fixture.replica(LIMITS);
    });

    const at = (trader: Trader): Trader => traderOf(bounded.app, trader.signer, trader.token);

    /** Creates orders of alice with the given numbers of fills as maker, in order of placement. */
    const filled = async (counts: readonly number[]): Promise<string[]> => {
      const ids: string[] = [];
      for (const [index, count] of counts.entries()) {
        const { body } = await alice.order({ side: 'sell', price: 2000 + index, size: 1 });
        for (let fill = 0; fill < count; fill += 1) await bob.order({ price: 2000 + index, size: 0.01 });
        await alice.delete(`/v1/orders/${body.id}`);
        ids.push(body.id);
      }
      return ids;
    };

    it('show the newest fills of each order, and end when the reply has no room for more', async () => {
      const ids = (await filled([2, 1, 2, 0, 5])).reverse();
      const every = (await page(alice, '/v1/orders')).items;
      for (const settle of [async () => undefined, () => fixture.settle()]) {
        await settle();
        const first = await page(at(alice), '/v1/orders');
        expect(idsOf(first.items)).to.deep.equal(ids.slice(0, 3));
        const items = await pages(at(alice), '/v1/orders');
        expect(idsOf(items)).to.deep.equal(ids);
        expect(items.map(({ fillCount }) => fillCount)).to.deep.equal([5, 0, 2, 1, 2]);
        expect(items.map(({ fills }) => fills.length)).to.deep.equal([3, 0, 2, 1, 2]);
        expect(items.map(({ fills }) => fills)).to.deep.equal(every.map(({ fills }) => fills.slice(-3)));
        for (const [index, id] of ids.entries()) {
          const { order } = (await at(alice).get(`/v1/orders/${id}`)).body;
          expect(order).to.deep.equal(items[index]);
        }
        expect(idsOf(await pages(at(alice), '/v1/orders?limit=2'))).to.deep.equal(ids);
        expect(await pages(at(alice), `/v1/trades?limit=2&orderId=${ids[0]}`)).to.have.length(5);
      }
    });

    it('show at least one order, also when it has more fills than a reply shows', async () => {
      const { app } = await fixture.replica({ maxFillsPerOrder: 4, maxFillsPerReply: 2 });
      const reader = traderOf(app, alice.signer, alice.token);
      const ids = (await filled([3, 1, 1, 3])).reverse();
      for (const settle of [async () => undefined, () => fixture.settle()]) {
        await settle();
        const sizes: number[] = [];
        const first = await page(reader, '/v1/orders');
        expect(idsOf(first.items)).to.deep.equal([ids[0]]);
        const items = await pages(reader, '/v1/orders', async () => void sizes.push(1));
        expect(idsOf(items)).to.deep.equal(ids);
        expect(sizes, 'further pages').to.have.length(2);
        expect(items.map(({ fills }) => fills.length)).to.deep.equal([2, 1, 1, 2]);
        const { order } = (await reader.get(`/v1/orders/${ids[0]}`)).body;
        expect(order).to.deep.equal(items[0]);
      }
    });

    it('join settled and unsettled fills', async () => {
      const { body: maker } = await alice.order({ side: 'sell', price: 2000, size: 1 });
      const fills: string[] = [];
      for (let count = 1; count <= 6; count += 1) {
        fills.push((await bob.order({ price: 2000, size: 0.01 })).body.fills[0].id);
        if (count === 2 || count === 5) await fixture.settle();
        const { order } = (await at(alice).get(`/v1/orders/${maker.id}`)).body;
        expect(order.fillCount).to.equal(count);
        expect(order.fills.map(({ id }: { id: string }) => id)).to.deep.equal(fills.slice(-3));
        expect((await page(at(alice), '/v1/orders')).items[0]).to.deep.equal(order);
      }
    });

    it('show the same fills in placing, replay, list and lookup', async () => {
      for (let count = 0; count < 6; count += 1)
        await alice.order({ side: 'sell', price: 2000 + count, size: 0.1 });
      const taker = { price: 2100, size: 0.6, clientOrderId: 'sweep' };
      const placed = await at(bob).order(taker);
      expect(placed.body).to.include({ status: 'filled', filledSize: 0.6, fillCount: 6 });
      expect(placed.body.fills.map(({ price }: { price: number }) => price)).to.deep.equal([
        2003, 2004, 2005,
      ]);
      for (const settle of [async () => undefined, () => fixture.settle()]) {
        await settle();
        expect((await at(bob).order(taker)).body).to.deep.equal(placed.body);
        expect((await at(bob).post('/v1/orders', { clientOrderId: 'sweep' })).body).to.deep.equal(
          placed.body,
        );
        expect((await page(at(bob), '/v1/orders')).items[0]).to.deep.equal(placed.body.order);
        expect((await at(bob).get(pathOfSweep)).body.order).to.deep.equal(placed.body.order);
      }
    });

    const pathOfSweep = '/v1/orders/by-client-id/sweep';
  });
});

/** Sends a request with an unnormalized path. */
async function raw(app: Fixture['app'], path: string, token: string): Promise<{ text: string }> {
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    return await new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path, headers: { authorization: `Bearer ${token}` } };
      get(options, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ text }));
      }).on('error', reject);
    });
  } finally {
    server.close();
  }
}
