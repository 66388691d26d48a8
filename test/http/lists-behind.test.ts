/**
 * Proves that lists read no more unsettled events than their page needs, and say the same before and after settlement.
 */

import { expect } from 'chai';
import type { Response } from 'supertest';
import { KEYS } from '../../src/engine/keys.ts';
import { openLedger } from '../../src/ledger/index.ts';
import type { OrderRequest } from '../../src/order/request.ts';
import { atMarket, limit } from '../engine/fixture.ts';
import { type Random, random, runSeed } from '../support/seed.ts';
import { type Fixture, openFixture, type Replica, type Trader, traderOf } from './fixture.ts';

/** Commands and statements of one request. */
interface Cost {
  /** Events that were read from the engine. */
  readonly events: number;
  /** Scripts that found them. */
  readonly scripts: number;
  /** Statements of lists in Postgres. */
  readonly statements: number;
}

describe('lists while settlement is behind', () => {
  const FUNDS = { USDC: '100000000', ETH: '100000', BTC: '10000' };
  let fixture: Fixture;
  let replica: Replica;
  let statements = 0;

  before(async () => {
    fixture = await openFixture();
    const { orders, trades } = fixture.ledger;
    const counted =
      <Args extends unknown[], Result>(read: (...args: Args) => Result) =>
      (...args: Args): Result => {
        statements += 1;
        return read(...args);
      };
    replica = await fixture.replica(
      { maxFillsPerOrder: 4, maxFillsPerReply: 30 },
      {
        ledger: {
          ...fixture.ledger,
          orders: { ...orders, ofWallet: counted(orders.ofWallet), byId: counted(orders.byId) },
          trades: { ...trades, ofWallet: counted(trades.ofWallet) },
        },
      },
    );
  });
  after(() => fixture.close());

  const newTrader = async (): Promise<Trader> => {
    const { signer, token } = await fixture.trader(FUNDS);
    return traderOf(replica.app, signer, token);
  };

  const callsOf = async (command: string): Promise<number> => {
    const found = new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(
      await fixture.redis.info('commandstats'),
    );
    return Number(found?.[1] ?? 0);
  };

  async function costOf(ask: () => Promise<Response>): Promise<{ cost: Cost; reply: Response }> {
    const count = async () => [await callsOf('xrange'), await callsOf('evalsha_ro'), statements] as const;
    const before = await count();
    const reply = await ask();
    const after = await count();
    const [events, scripts, asked] = after.map((calls, at) => calls - before[at]!);
    return { cost: { events: events!, scripts: scripts!, statements: asked! }, reply };
  }

  /** Returns the first pages of a list. */
  async function pagesOf(trader: Trader, path: string): Promise<unknown[]> {
    const pages: unknown[] = [];
    for (let cursor: string | null = ''; cursor !== null && pages.length < 4; ) {
      const { status, body } = await trader.get(cursor === '' ? path : `${path}&cursor=${cursor}`);
      expect(status, path).to.equal(200);
      pages.push(body);
      cursor = body.nextCursor;
    }
    return pages;
  }

  const place = async (wallet: string, request: OrderRequest): Promise<string> => {
    const placement = await fixture.engine.orders.place({ wallet, request });
    if (placement.outcome !== 'placed') throw new Error(`${placement.outcome}, not placed`);
    return placement.order.id;
  };

  /** Places equal orders at the same time. */
  async function placeMany(wallet: string, orders: number, own: Partial<OrderRequest> = {}): Promise<void> {
    const request = limit('ETH/USDC', 'buy', 1_000, '0.01', own);
    for (let left = orders; left > 0; left -= 100)
      await Promise.all(Array.from({ length: Math.min(100, left) }, () => place(wallet, request)));
  }

  /** Returns a wallet with 150 live, 150 cancelled and 150 filled orders, one after the other. */
  async function busyTrader(): Promise<Trader> {
    const trader = await newTrader();
    const taker = await newTrader();
    const sell = (price: number): Promise<string> =>
      place(trader.wallet, limit('ETH/USDC', 'sell', price, '0.01'));
    for (let round = 0; round < 150; round += 1) {
      await sell(9_000);
      await fixture.engine.orders.cancel(trader.wallet, await sell(9_000));
      await sell(2_000);
      await place(taker.wallet, limit('ETH/USDC', 'buy', 2_000, '0.01'));
    }
    return trader;
  }

  describe('for a wallet with hundreds of unsettled orders', () => {
    let trader: Trader;
    /** Has 400 live orders. */
    let resting: Trader;

    before(async () => {
      trader = await busyTrader();
      resting = await newTrader();
      await placeMany(resting.wallet, 400);
    });

    for (const [path, maxEvents] of [
      ['/v1/orders?limit=20', 50],
      ['/v1/orders?limit=100', 200],
      ['/v1/orders?status=live&limit=100', 750],
      ['/v1/orders?status=closed&limit=100', 300],
      ['/v1/trades?limit=20', 150],
      ['/v1/trades?limit=100', 750],
      ['/v1/trades?market=ETH/USDC&limit=20', 150],
    ] as const) {
      it(`${path} reads at most ${maxEvents} events and nothing from Postgres`, async () => {
        const { cost, reply } = await costOf(() => trader.get(path));
        expect(reply.status).to.equal(200);
        expect(cost.events).to.be.at.most(maxEvents);
        expect(cost.statements).to.equal(0);
      });
    }

    it('read 150 of 403 events for the first page of live orders', async () => {
      const { cost } = await costOf(() => resting.get('/v1/orders?status=live'));
      expect(cost).to.deep.equal({ events: 150, scripts: 1, statements: 0 });
    });

    it('read all events and Postgres for a page that is not complete', async () => {
      const { cost } = await costOf(() => resting.get('/v1/orders?status=closed'));
      expect(cost).to.deep.equal({ events: 403, scripts: 2, statements: 1 });
    });

    it('read the events back to that of one order, and nothing from Postgres', async () => {
      const { body } = await resting.get('/v1/orders?limit=5');
      for (const path of [`/v1/orders/${body.orders[4].id}`, `/v1/trades?orderId=${body.orders[4].id}`]) {
        const { cost, reply } = await costOf(() => resting.get(path));
        expect(reply.status, path).to.equal(200);
        expect(cost, path).to.deep.equal({ events: 50, scripts: 1, statements: 0 });
      }
    });

    it('name a next page when the events read so far fill a page exactly', async () => {
      const { wallet, get } = await newTrader();
      const oldest = await place(wallet, limit('ETH/USDC', 'buy', 1, '0.01'));
      await placeMany(wallet, 47, { timeInForce: 'IOC' });
      await placeMany(wallet, 3);
      const { body } = await get('/v1/orders?status=live&limit=3');
      expect(body.orders).to.have.length(3);
      const next = await get(`/v1/orders?status=live&limit=3&cursor=${body.nextCursor}`);
      expect(next.body.orders.map(({ id }: { id: string }) => id)).to.deep.equal([oldest]);
      expect(next.body.nextCursor).to.equal(null);
    });

    it('read Postgres when an event was settled and trimmed before it was read', async () => {
      const [, { id }] = (await resting.get('/v1/orders?limit=2')).body.orders;
      const events = await fixture.engine.outbox.readUnsettled(resting.wallet);
      const { epoch, sequence } = events.find(
        (event) => event.kind === 'order_placed' && event.order.id === id,
      )!;
      const entry = await fixture.redis.xrangeBuffer(KEYS.events, `${epoch}-${sequence}`, '+', 'COUNT', 1);
      expect(entry).to.have.length(1);
      await fixture.settle();
      await fixture.redis.hset(KEYS.engine, 'settled', 0); // as the wallet's index was read before the settlement
      await fixture.redis.xdel(KEYS.events, `${epoch}-${sequence}`);
      const { cost, reply } = await costOf(() => resting.get('/v1/orders?limit=20'));
      expect(cost.statements).to.equal(1);
      expect(reply.body.orders[1].id).to.equal(id);
    });
  });

  describe('while the engine keeps events that are not yet on the disk of Postgres', () => {
    const PATHS = ['/v1/orders?status=closed', '/v1/trades?limit=100', '/v1/orders?limit=3'];
    let trader: Trader;

    before(async () => {
      trader = await newTrader();
      const oldest = await place(trader.wallet, limit('ETH/USDC', 'buy', 1, '0.01'));
      await fixture.engine.orders.cancel(trader.wallet, oldest);
      await placeMany(trader.wallet, 1_500);
      await fixture.settle({ trims: false });
      await placeMany(trader.wallet, 20);
    });

    it('are rejected when Postgres has lost events since it was asked', async () => {
      const { settlement } = fixture.ledger;
      const cursor: typeof settlement.cursor = async () => ({
        ...(await settlement.cursor()),
        sequence: (await fixture.engine.reads.state()).sequence,
      });
      const ledger = { ...fixture.ledger, settlement: { ...settlement, cursor } };
      const replica = await fixture.replica({}, { ledger });
      const { get } = traderOf(replica.app, trader.signer, trader.token);
      for (const path of PATHS.slice(0, 2)) {
        const { status, body } = await get(path);
        expect([status, body.code], path).to.deep.equal([503, 'SERVICE_UNAVAILABLE']);
      }
    });

    it('read at most 1,000 of 1,524 events, and are the same when the engine has none', async () => {
      const answers: unknown[] = [];
      for (const path of PATHS) {
        const { cost, reply } = await costOf(() => trader.get(path));
        expect(reply.status, path).to.equal(200);
        expect(cost.events, path).to.be.at.most(1_000);
        answers.push(reply.body);
      }
      await fixture.settle();
      for (const [at, path] of PATHS.entries())
        expect((await trader.get(path)).body, path).to.deep.equal(answers[at]);
    });
  });

  describe('while Postgres is unavailable', () => {
    let away: Replica;
    let trader: Trader;

    before(async () => {
      const ledger = openLedger({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none' });
      away = await fixture.replica({}, { ledger });
      const { signer, token, wallet } = await fixture.trader(FUNDS);
      trader = traderOf(away.app, signer, token);
      await placeMany(wallet, 1_200);
    });
    after(() => away.services.ledger.close());

    it('return pages that unsettled events complete', async () => {
      const [first] = await pagesOf(trader, '/v1/orders?status=live');
      expect((first as { orders: unknown[] }).orders).to.have.length(100);
      const [{ id }] = (first as { orders: [{ id: string }] }).orders;
      expect((await trader.get(`/v1/orders/${id}`)).status).to.equal(200);
      expect((await trader.get(`/v1/trades?orderId=${id}`)).body).to.deep.equal({
        trades: [],
        nextCursor: null,
      });
    });

    it('are rejected after a thousand events when these do not complete a page', async () => {
      for (const path of ['/v1/orders?status=closed', '/v1/trades', '/v1/trades?market=ETH/USDC']) {
        const { cost, reply } = await costOf(() => trader.get(path));
        expect([reply.status, reply.body.code], path).to.deep.equal([503, 'SERVICE_UNAVAILABLE']);
        expect(cost.events, path).to.equal(1_000);
      }
    });
  });

  describe('before and after settlement', () => {
    const HISTORIES = 3;
    const MARKETS = ['ETH/USDC', 'BTC/USDC'] as const;

    /** Places and cancels orders of the wallets at the engine, some of them at the same time. */
    async function trade(dice: Random, wallets: readonly string[], orders: number): Promise<void> {
      const { orders: placing } = replica.services.engine;
      const placedOrders: { readonly wallet: string; readonly id: string }[] = [];
      for (let left = orders; left > 0; left -= 10) {
        const requests = Array.from({ length: 10 }, () => {
          const price = 1_990 + dice.below(20);
          const market = dice.pick(MARKETS);
          const side = dice.pick(['buy', 'sell'] as const);
          const timeInForce = dice.pick(['GTC', 'GTC', 'GTC', 'GTC', 'IOC', 'FOK'] as const);
          const own = { timeInForce, postOnly: timeInForce === 'GTC' && dice.chance(0.2) };
          const size = dice.chance(0.1) ? 5 : `0.0${1 + dice.below(9)}`;
          const request = dice.chance(0.1)
            ? atMarket(market, side, size)
            : limit(market, side, price, size, own);
          return { wallet: dice.pick(wallets), request };
        });
        for (const placed of await Promise.allSettled(requests.map((request) => placing.place(request)))) {
          if (placed.status === 'fulfilled' && placed.value.outcome === 'placed')
            placedOrders.push(placed.value.order);
        }
        if (dice.chance(0.05)) await placing.cancelAll(dice.pick(wallets), null);
        const cancelled = placedOrders.filter(() => dice.chance(10 / placedOrders.length));
        await Promise.all(
          cancelled.map(({ wallet, id }) => placing.cancel(wallet, id).catch(() => undefined)),
        );
      }
    }

    /** @param own ids of orders of the wallet */
    const queriesOf = (dice: Random, own: readonly string[]): string[] => [
      ...['', 'status=live&', 'status=closed&'].map((of) => `/v1/orders?${of}limit=${1 + dice.below(30)}`),
      ...[
        '',
        'market=ETH/USDC&',
        `orderId=${dice.pick(own)}&`,
        `market=BTC/USDC&orderId=${dice.pick(own)}&`,
      ].map((of) => `/v1/trades?${of}limit=${1 + dice.below(60)}`),
      `/v1/orders/${dice.pick(own)}?`,
      `/v1/orders/${own.at(-1)}?`,
    ];

    for (let history = 0; history < HISTORIES; history += 1) {
      it(`are the same in a random history (${history + 1} of ${HISTORIES})`, async () => {
        const dice = random(runSeed() + history);
        for (const symbol of MARKETS) await fixture.engine.orders.clear(symbol);
        const traders = await Promise.all([newTrader(), newTrader(), newTrader()]);
        const wallets = traders.map(({ wallet }) => wallet);
        await trade(dice, wallets, dice.below(200));
        await fixture.settle({ behind: dice.below(100), trims: dice.chance(0.7) });
        await trade(dice, wallets, 100 + dice.below(300));

        const before: { trader: Trader; path: string; pages: unknown[] }[] = [];
        let asked = 0;
        let fromTheEngine = 0;
        for (const trader of traders) {
          const { body } = await trader.get('/v1/orders?limit=100');
          const ids = body.orders.map(({ id }: { id: string }) => id);
          for (const path of queriesOf(dice, ids)) {
            const read = statements;
            before.push({ trader, path, pages: await pagesOf(trader, path) });
            asked += 1;
            if (read === statements) fromTheEngine += 1;
          }
        }
        expect(fromTheEngine, 'lists without Postgres').to.be.within(1, asked - 1);
        await fixture.settle();
        for (const { trader, path, pages } of before) {
          expect(await pagesOf(trader, path), `${path} of ${trader.wallet}`).to.deep.equal(pages);
        }
      });
    }
  });
});
