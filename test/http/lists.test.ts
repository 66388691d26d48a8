/**
 * Proves that lists of orders and trades are the same before, during and after settlement, and stay bounded under load.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import pg from 'pg';
import request from 'supertest';
import { writePlace } from '../../src/contract/list-cursor.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { LISTS_AT_ONCE } from '../../src/ledger/index.ts';
import { query } from '../ledger/tables.ts';
import { eventually } from '../support/eventually.ts';
import { random, runSeed } from '../support/seed.ts';
import { type Fixture, openFixture, type Trader, traderOf } from './fixture.ts';

interface Listed {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly clientOrderId: string | null;
  readonly filledSize: number;
  readonly fills: readonly { readonly id: string; readonly size: number }[];
}

interface Changes {
  readonly changes: readonly unknown[];
  readonly cursor: string;
  readonly more: boolean;
}

describe('lists of orders and trades', () => {
  let fixture: Fixture;
  let alice: Trader;
  let bob: Trader;
  const FUNDS = { USDC: '10000000', ETH: '1000', BTC: '100' };

  before(async () => {
    fixture = await openFixture();
  });

  beforeEach(async () => {
    for (const symbol of ['ETH/USDC', 'BTC/USDC']) await fixture.engine.orders.clear(symbol);
    [alice, bob] = await Promise.all([fixture.trader(FUNDS), fixture.trader(FUNDS)]);
  });

  after(() => fixture.close());

  const ordersOf = async (trader: Trader): Promise<Listed[]> => (await trader.get('/v1/orders')).body.orders;

  it('are empty for a new wallet', async () => {
    const stranger = await fixture.trader();
    expect((await stranger.get('/v1/orders')).body).to.deep.equal({ orders: [], nextCursor: null });
    expect((await stranger.get('/v1/trades')).body).to.deep.equal({ trades: [], nextCursor: null });
  });

  it('return the latest hundred orders, newest first, settled or not', async () => {
    const ids: string[] = [];
    for (let count = 1; count <= 130; count += 1) {
      ids.unshift((await alice.order({ price: count, size: 0.01 })).body.id);
      if (count === 60 || count === 95) await fixture.settle();
    }
    expect((await ordersOf(alice)).map(({ id }) => id)).to.deep.equal(ids.slice(0, 100));
    await alice.delete('/v1/orders');
    expect(new Set((await ordersOf(alice)).map(({ status }) => status))).to.deep.equal(
      new Set(['cancelled']),
    );
    await fixture.settle();
    expect((await ordersOf(alice)).map(({ id }) => id)).to.deep.equal(ids.slice(0, 100));
  });

  it('return how and why each order ended, in every reply, settled or not', async () => {
    await alice.order({ side: 'sell', price: 2100, clientOrderId: 'live' });
    await alice.order({ price: 2000, size: 0.5, clientOrderId: 'filled' });
    await bob.order({ side: 'sell', price: 2000, size: 0.5 });
    const endings: Readonly<
      Record<string, readonly [status: string, order: object, end?: (id: string) => Promise<unknown>]>
    > = {
      user_cancelled: ['cancelled', {}, (id) => alice.delete(`/v1/orders/${id}`)],
      operator_voided: ['failed', {}, (id) => fixture.engine.orders.void(id)],
      market_cleared: ['cancelled', { market: 'BTC/USDC' }, () => fixture.engine.orders.clear('BTC/USDC')],
      self_trade_prevented: ['cancelled', { price: 2100, size: 2 }],
      ioc_remainder: ['expired', { timeInForce: 'IOC' }],
      POST_ONLY_WOULD_CROSS: ['rejected', { price: 2100, postOnly: true }],
      FOK_NOT_FILLED: ['rejected', { price: 2100, size: 2, timeInForce: 'FOK' }],
    };
    const ends: Record<string, readonly [status: string, reason: string | null]> = {
      live: ['resting', null],
      filled: ['filled', null],
    };
    for (const [reason, [status, order, end]] of Object.entries(endings)) {
      const { body } = await alice.order({ ...order, clientOrderId: reason });
      expect(body.reason, reason).to.equal(end === undefined ? reason : null);
      await end?.(body.id);
      ends[reason] = [status, reason];
    }
    await fixture.engine.switches.hold(alice.wallet);
    await fixture.engine.switches.release(alice.wallet);
    ends.live = ['cancelled', 'custody_hold'];
    for (const settles of [false, true]) {
      if (settles) await fixture.settle();
      const listed = (await ordersOf(alice)).map((one) => [one.clientOrderId, [one.status, one.reason]]);
      expect(Object.fromEntries(listed)).to.deep.equal(ends);
      for (const [clientOrderId, end] of Object.entries(ends)) {
        const { order } = (await alice.get(`/v1/orders/by-client-id/${clientOrderId}`)).body;
        expect([order.status, order.reason], clientOrderId).to.deep.equal(end);
        const { body } = await alice.order({ clientOrderId });
        expect([body.status, body.reason], clientOrderId).to.deep.equal(end);
      }
    }
  });

  it('show each wallet its own orders at once while settlement runs', async () => {
    const dice = random(runSeed());
    let isRunning = true;
    const settlement = (async () => {
      while (isRunning) {
        const cursor = await fixture.ledger.settlement.cursor();
        const events = await fixture.engine.outbox.readEvents(cursor, 1 + dice.below(5));
        await fixture.engine.outbox.trim(await fixture.ledger.settlement.settle(events));
      }
    })();
    let trades = 0;
    for (let round = 0; round < 100; round += 1) {
      const [taker, maker] = dice.chance(0.5) ? [alice, bob] : [bob, alice];
      const size = (1 + dice.below(20)) / 10;
      const { body: resting } = await maker.order({ side: 'sell', price: 2000 + round, size: size + 0.5 });
      const { body: taken } = await taker.order({ price: 2000 + round, size });
      trades += taken.fills.length;
      const [first] = await ordersOf(taker);
      expect(first).to.deep.equal(taken.order);
      const made = (await ordersOf(maker)).find(({ id }) => id === resting.id)!;
      expect(made.fills.map((fill) => fill.id)).to.deep.equal(taken.fills.map(({ id }: Listed) => id));
      expect(made.filledSize).to.equal(size);
      const [trade] = (await taker.get('/v1/trades?limit=1')).body.trades;
      expect(trade).to.include({ id: taken.fills.at(-1).id, orderId: taken.id, counterparty: maker.wallet });
      await maker.delete(`/v1/orders/${resting.id}`);
      const closed = (await ordersOf(maker)).find(({ id }) => id === resting.id)!;
      expect(closed.status).to.equal('partially_filled_cancelled');
    }
    isRunning = false;
    await settlement;
    await fixture.settle();
    expect((await alice.get('/v1/trades?limit=500')).body.trades.length).to.equal(trades);
  });

  describe('changes', () => {
    const changesAfter = async (trader: Trader, cursor: string, more = ''): Promise<Changes> => {
      const { status, body } = await trader.get(`/v1/orders/changes?after=${cursor}${more}`);
      expect(status, JSON.stringify(body)).to.equal(200);
      return body;
    };
    const present = async (trader: Trader): Promise<string> => {
      const { body } = await trader.get('/v1/orders/changes');
      expect(body).to.deep.include({ changes: [], more: false });
      return body.cursor;
    };

    it('tell placements, fills and endings once, also while trading is paused, settled or not', async () => {
      const start = await present(alice);
      const { body: maker } = await alice.order({ side: 'sell', price: 2000, size: 3 });
      const { body: taker } = await bob.order({ price: 2000, size: 1 });
      await fixture.engine.switches.pause();
      await alice.delete(`/v1/orders/${maker.id}`);
      const told: unknown[] = [];
      for (const settles of [false, true]) {
        if (settles) await fixture.settle();
        const { changes, cursor, more } = await changesAfter(alice, start, '&limit=2');
        expect(more).to.equal(true);
        const { changes: rest, ...end } = await changesAfter(alice, cursor);
        const { order } = (await alice.get(`/v1/orders/${maker.id}`)).body;
        const [fill] = order.fills;
        expect([...changes, ...rest]).to.deep.equal([
          { at: maker.createdAt, order, fills: [] },
          { at: fill.createdAt, order, fills: [fill] },
          { at: order.updatedAt, order, fills: [] },
        ]);
        expect(await changesAfter(alice, end.cursor)).to.deep.equal({ changes: [], ...end });
        told.push([changes, cursor, rest, end]);
      }
      expect(told[1]).to.deep.equal(told[0]);
      expect((await changesAfter(bob, await present(bob))).changes).to.deep.equal([]);
      await fixture.engine.switches.resume();
      expect(taker.fills).to.have.length(1);
    });

    const waiting = async (count: number): Promise<void> =>
      eventually(`${count} wait`, () => fixture.services.changeWaits.count === count);

    it('answer a request that waits when an order changes, on one connection for all that wait', async () => {
      const connections = async (): Promise<number> =>
        String(await fixture.redis.client('LIST')).match(/cmd=xread/g)?.length ?? 0;
      const { body: maker } = await alice.order({ side: 'sell', price: 2000, size: 3 });
      const start = await present(alice);
      const others = await present(bob);
      const told = Promise.all(
        ['&wait=25', '&wait=25&limit=1', '&wait=25&limit=2'].map((more) => changesAfter(alice, start, more)),
      );
      const other = changesAfter(bob, others, '&wait=25');
      await waiting(4);
      await eventually('one connection follows', async () => (await connections()) === 1);
      const { body: taker } = await bob.order({ price: 2000, size: 1 });
      for (const { changes } of await told)
        expect(changes).to.deep.equal([
          {
            at: taker.fills[0].createdAt,
            order: (await alice.get(`/v1/orders/${maker.id}`)).body.order,
            fills: [{ ...taker.fills[0], orderId: maker.id, role: 'maker', feeAmount: 0 }],
          },
        ]);
      expect((await other).changes).to.have.length(1);
      await waiting(0);
      await eventually('none follows', async () => (await connections()) === 0);
    });

    it('end a wait after its time, which no metric of latency counts', async () => {
      const start = await present(alice);
      const { changes } = await changesAfter(alice, start, '&wait=2');
      expect(changes).to.deep.equal([]);
      const metrics = await fixture.services.metrics.text();
      const buckets = metrics.split('\n').filter((line) => line.includes('route="/v1/orders/changes"'));
      const countOf = (name: string): string | undefined =>
        buckets.find((line) => line.includes(name) && line.includes('status="200"'))?.split(' ')[1];
      expect(countOf('le="1"')).to.equal(countOf('_count'));
    });

    it('refuse an eleventh wait of a wallet, forget a client that hangs up, and end all waits at a stop', async () => {
      const { app, services } = await fixture.replica();
      const server = createServer(app).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const start = await present(alice);
      const headers = { authorization: `Bearer ${alice.token}` };
      const wait = (signal?: AbortSignal): Promise<Response> =>
        fetch(`http://127.0.0.1:${port}/v1/orders/changes?after=${start}&wait=25`, {
          headers,
          ...(signal && { signal }),
        });
      const hangUp = new AbortController();
      const waits = Array.from({ length: 10 }, (_, at) => wait(at === 0 ? hangUp.signal : undefined));
      const countIs = (count: number) =>
        eventually(`${count} wait`, () => services.changeWaits.count === count);
      const gone = waits[0]!.catch(({ name }: Error) => name);
      await countIs(10);
      expect((await wait()).status).to.equal(503);
      hangUp.abort();
      await countIs(9);
      services.changeWaits.stop();
      expect(await gone).to.equal('AbortError');
      for (const answer of [...(await Promise.all(waits.slice(1))), await wait()])
        expect(await answer.json()).to.deep.include({ changes: [], more: false });
      server.close();
    });

    it('are refused after an unknown, foreign or malformed cursor', async () => {
      const foreign = await present(bob);
      const ahead = writePlace({ list: 'changes', wallet: alice.wallet }, [1, 2 ** 40, 2 ** 32]);
      for (const cursor of [foreign, ahead, 'x', `${foreign.slice(0, -1)}-`, '']) {
        const { status, body } = await alice.get(`/v1/orders/changes?after=${cursor}`);
        expect([status, body.code], cursor).to.deep.equal([400, 'VALIDATION_ERROR']);
        expect(body.error).to.match(/^after: /);
      }
      for (const query of ['wait=26', 'wait=-1', 'wait=1.5', 'limit=0', 'limit=101'])
        expect((await alice.get(`/v1/orders/changes?${query}`)).status, query).to.equal(400);
    });
  });

  describe('trades', () => {
    it('show the own side of each trade, as maker or taker', async () => {
      const { body: maker } = await alice.order({ side: 'sell', price: 2000, size: 1 });
      const { body: taker } = await bob.order({ price: 2100, size: 1 });
      const [fill] = taker.fills;
      const shared = {
        id: fill.id,
        market: 'ETH/USDC',
        price: 2000,
        size: 1,
        notional: 2000,
        createdAt: fill.createdAt,
      };
      const [own] = (await bob.get('/v1/trades')).body.trades;
      expect(Object.keys(own)).to.deep.equal([
        'id',
        'orderId',
        'market',
        'side',
        'role',
        'price',
        'size',
        'notional',
        'feeAmount',
        'feeAsset',
        'counterparty',
        'createdAt',
      ]);
      expect(own).to.deep.equal({
        ...shared,
        orderId: taker.id,
        side: 'buy',
        role: 'taker',
        feeAmount: 2,
        feeAsset: 'USDC',
        counterparty: alice.wallet,
      });
      expect((await alice.get('/v1/trades')).body.trades).to.deep.equal([
        {
          ...shared,
          orderId: maker.id,
          side: 'sell',
          role: 'maker',
          feeAmount: 0,
          feeAsset: 'USDC',
          counterparty: bob.wallet,
        },
      ]);
    });

    it('come newest first, of one market or of all, up to the limit', async () => {
      for (let count = 1; count <= 12; count += 1) {
        const market = count % 3 === 0 ? 'BTC/USDC' : 'ETH/USDC';
        await alice.order({ market, side: 'sell', price: 1000 + count, size: 0.1 });
        await bob.order({ market, price: 1000 + count, size: 0.1 });
        if (count === 7) await fixture.settle();
      }
      const prices = async (query: string): Promise<number[]> =>
        (await alice.get(`/v1/trades${query}`)).body.trades.map(
          ({ price }: { price: number }) => price - 1000,
        );
      const all = [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];
      expect(await prices('')).to.deep.equal(all);
      expect(await prices('?market=BTC%2FUSDC')).to.deep.equal([12, 9, 6, 3]);
      expect(await prices('?market=ETH/USDC&limit=6')).to.deep.equal([11, 10, 8, 7, 5, 4]);
      for (const limit of ['1', '0', '-0', '-7', `-${'9'.repeat(400)}`, '0001']) {
        expect(await prices(`?limit=${limit}`), limit).to.deep.equal([12]);
      }
      for (const limit of ['500', '501', '9'.repeat(400)]) {
        expect(await prices(`?limit=${limit}`), limit).to.deep.equal(all);
      }
    });

    it('are rejected when limit or market is invalid', async () => {
      const refusals = [
        ['limit=', 'VALIDATION_ERROR'],
        ['limit=ten', 'VALIDATION_ERROR'],
        ['limit=1.5', 'VALIDATION_ERROR'],
        ['limit=1e2', 'VALIDATION_ERROR'],
        ['limit=0x10', 'VALIDATION_ERROR'],
        ['limit=NaN', 'VALIDATION_ERROR'],
        ['limit=%2B5', 'VALIDATION_ERROR'],
        ['limit=5&limit=5', 'VALIDATION_ERROR'],
        ['limit=٣', 'VALIDATION_ERROR'],
        ['market=', 'VALIDATION_ERROR'],
        ['market=ETH/USDC&market=ETH/USDC', 'VALIDATION_ERROR'],
        ['market=NO/NE', 'MARKET_NOT_FOUND'],
        ['market=eth/usdc', 'MARKET_NOT_FOUND'],
        ['market=NO/NE&limit=x', 'VALIDATION_ERROR'],
      ];
      for (const [query, code] of refusals) {
        const { status, body } = await alice.get(`/v1/trades?${encodeURI(query!).replaceAll('%25', '%')}`);
        expect([status, body.code], query).to.deep.equal([400, code]);
      }
    });

    it('default to a hundred', async () => {
      await alice.order({ side: 'sell', price: 900, size: 2 });
      for (let count = 0; count < 105; count += 1) await bob.order({ price: 900, size: 0.002 });
      expect((await alice.get('/v1/trades')).body.trades.length).to.equal(100);
      expect((await alice.get('/v1/trades?limit=104')).body.trades.length).to.equal(104);
      expect((await alice.get('/v1/trades?limit=500')).body.trades.length).to.equal(105);
      const [order] = await ordersOf(alice);
      expect(order!.fills.length).to.equal(105);
    });
  });

  describe('requested by many at once', () => {
    /** A replica that counts its list reads, and its traders. */
    const counting = async () => {
      let lists = 0;
      const { ledger } = fixture;
      const replica = await fixture.replica(
        {},
        {
          ledger: {
            ...ledger,
            orders: {
              ...ledger.orders,
              ofWallet: (...args) => {
                lists += 1;
                return ledger.orders.ofWallet(...args);
              },
            },
          },
        },
      );
      const at = (trader: Trader): Trader => traderOf(replica.app, trader.signer, trader.token);
      return { at, count: () => lists };
    };

    it('are read once for all waiting requests, and include what was done before each asked', async () => {
      const { at, count } = await counting();
      const { body: order } = await alice.order({ price: 1 });
      const replies = await Promise.all(Array.from({ length: 300 }, () => at(alice).get('/v1/orders')));
      for (const { status, body } of replies) {
        expect([status, body.orders[0].id]).to.deep.equal([200, order.id]);
      }
      // Clients start at different times, so there are several rounds.
      expect(count()).to.be.below(100);
    });

    it('are rejected when 64 different ones of a wallet wait, and not for other wallets', async () => {
      const { at, count } = await counting();
      const lock = await locked('lock table orders in access exclusive mode');
      const asked = Array.from({ length: 100 }, (_, at100) => at(alice).get(`/v1/orders?limit=${at100 + 1}`));
      const limited = (await Promise.race([
        Promise.any(asked.map(async (reply) => ((await reply).status === 503 ? reply : Promise.reject()))),
        Promise.all(asked).then(() => undefined),
      ])) as Awaited<(typeof asked)[number]>;
      expect(limited.body.code).to.equal('SERVICE_UNAVAILABLE');
      expect(limited.headers['retry-after']).to.equal('1');
      const other = at(bob).get('/v1/orders');
      await lock.release();
      expect((await other).status).to.equal(200);
      const statuses = (await Promise.all(asked)).map(({ status }) => status);
      // A wait also ends when it has taken too long for an answer.
      expect(statuses.filter((status) => status === 503).length).to.be.at.least(100 - 65);
      expect(count()).to.be.at.most(66);
    });
  });

  describe('while all connections for lists are blocked', () => {
    /** Number of cursor reads that wait for a lock. Every list begins with one; other work does not have them. */
    const BLOCKED = `
      alter table engine_cursor rename to kept_cursor;
      create function lists_wait() returns boolean language plpgsql volatile as $$ begin
        if current_setting('application_name') = 'redbook lists' then
          perform pg_advisory_xact_lock_shared(1);
        end if;
        return true;
      end $$;
      create view engine_cursor as select * from kept_cursor where lists_wait()`;
    const UNBLOCKED =
      'drop view engine_cursor; drop function lists_wait; alter table kept_cursor rename to engine_cursor';

    it('do not delay market data, placing and single orders of other wallets', async () => {
      const wallets = await Promise.all(Array.from({ length: 8 }, () => fixture.trader()));
      await alice.order({ side: 'sell', price: 2000, size: 1, clientOrderId: 'maker' });
      const { body: taken } = await bob.order({ price: 2000, size: 1, clientOrderId: 'taker' });
      await fixture.settle();
      await query(fixture.databaseUrl, BLOCKED);
      const lock = await locked('select pg_advisory_xact_lock(1)');
      try {
        const blocked = wallets.flatMap((wallet) => [wallet.get('/v1/orders'), wallet.get('/v1/trades')]);
        await untilBlocked(LISTS_AT_ONCE);
        // Without the claims in Redis, each of these asks Postgres.
        await fixture.redis.del(...KEYS.claims);
        const others = await Promise.all([
          request(fixture.app).get('/v1/market-data/trades?ticker_id=ETH_USDC'),
          request(fixture.app).get('/v1/market-data/tickers'),
          bob.order({ price: 1, clientOrderId: 'fresh' }),
          bob.order({ price: 1, clientOrderId: 'taker' }),
          alice.post('/v1/orders', { clientOrderId: 'maker' }),
          alice.get('/v1/orders/by-client-id/maker'),
          bob.get(`/v1/orders/${taken.id}`),
        ]);
        expect(others.map(({ status }) => status)).to.deep.equal(others.map(() => 200));
        expect(others[3]!.body.id).to.equal(taken.id);
        const codes = (await Promise.all(blocked)).map(({ body }) => body.code);
        expect(new Set(codes)).to.deep.equal(new Set(['SERVICE_UNAVAILABLE']));
      } finally {
        await lock.release();
        await query(fixture.databaseUrl, UNBLOCKED);
      }
      expect((await ordersOf(alice)).length).to.equal(1);
    });
  });

  /** Opens another transaction that holds its lock until it is released. */
  const locked = async (sql: string): Promise<{ release(): Promise<void> }> => {
    const client = new pg.Client({ connectionString: fixture.databaseUrl });
    await client.connect();
    await client.query(`begin; ${sql}`);
    return { release: () => client.end() };
  };

  const untilBlocked = async (connections: number): Promise<void> => {
    const waiting = `select 1 from pg_stat_activity
      where datname = current_database() and application_name = 'redbook lists' and wait_event_type = 'Lock'`;
    while ((await query(fixture.databaseUrl, waiting)).length < connections);
  };
});
