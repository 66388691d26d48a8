/** Tests servers that restart, and engines that differ from what Postgres has. */

import { readdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type Engine, EngineBehind, openEngine } from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { eventually } from '../support/eventually.ts';
import { LIMITS } from '../support/limits.ts';
import { copyOf, putBack } from '../support/redis-copy.ts';
import { openRedis, type RedisServer } from '../support/redis-server.ts';
import { random, runSeed } from '../support/seed.ts';
import { freshRedisServer } from '../support/servers.ts';
import {
  ALICE,
  BOB,
  changeState,
  codeOf,
  dump,
  type EngineFixture,
  eventsOf,
  expectConserved,
  fund,
  held,
  limit,
  movement,
  openEngineFixture,
  place,
  publishPlain,
  spec,
} from './fixture.ts';

const M = 'ETH/USD';

/** Returns all ids that the events issued. */
async function idsOf(engine: Engine): Promise<{ orders: string[]; trades: number[] }> {
  const placed = (await eventsOf(engine)).filter((event) => event.kind === 'order_placed');
  return {
    orders: placed.map((event) => event.order.id),
    trades: placed.flatMap((event) => event.trades.map(({ tradeId }) => tradeId)),
  };
}

/** The part of the append-only file that is written now. */
async function appendedFile(redis: Redis): Promise<string> {
  const [, folder] = (await redis.config('GET', 'dir')) as [string, string];
  const parts = readdirSync(join(folder, 'appendonlydir')).filter((name) => name.endsWith('.incr.aof'));
  return join(folder, 'appendonlydir', parts.sort().at(-1)!);
}

async function untilRewritten(redis: Redis): Promise<void> {
  await eventually('the file is rewritten', async () =>
    (await redis.info('persistence')).includes('aof_rewrite_in_progress:0'),
  );
}

async function trade(engine: Engine): Promise<void> {
  await place(engine, ALICE, limit(M, 'sell', 10, 3));
  await place(engine, BOB, limit(M, 'buy', 10, 2));
}

describe('engine: epochs', () => {
  let fixture: EngineFixture;

  beforeEach(async () => {
    fixture = await openEngineFixture();
  });
  afterEach(() => fixture.close());

  describe('when the server is killed and started again', () => {
    let server: RedisServer;
    let redis: Redis;

    beforeEach(async () => {
      server = await freshRedisServer();
      redis = openRedis(server.url, 'engine-all', { enableOfflineQueue: false, retryStrategy: () => 20 });
      redis.on('error', () => undefined); // it is killed on purpose
      await ready();
    });
    afterEach(async () => {
      redis.disconnect();
      await server.stop();
    });

    const ready = async (): Promise<void> => {
      if (redis.status !== 'ready') await new Promise((resolve) => redis.once('ready', resolve));
    };

    const restart = async (): Promise<void> => {
      await server.kill();
      while (redis.status === 'ready') await new Promise((resolve) => setTimeout(resolve, 5));
      await server.start();
      await ready();
    };

    it('applies no part of an order whose record was cut off, at the first start and at later ones', async () => {
      const engine = openEngine({ redis, ...LIMITS });
      await engine.lifecycle.open({ epoch: 0, sequence: 0 });
      await publishPlain(engine, M, { feeBps: 1 });
      await fund(engine, ALICE, { ETH: 1_000n });
      const log = await appendedFile(redis);
      const before = statSync(log).size;
      await place(engine, ALICE, limit(M, 'sell', 10, 3));
      await server.kill();
      // Within the second command of the transaction: its place in the book is in the file, its level is not.
      const written = readFileSync(log, 'latin1').slice(before);
      truncateSync(log, before + written.indexOf('XADD') + 20);
      await server.start();
      await ready();
      await engine.lifecycle.open({ epoch: 1, sequence: 0 });
      await untilRewritten(redis);
      const { order } = await place(engine, ALICE, limit(M, 'sell', 11, 2));
      await restart();
      await engine.lifecycle.open({ epoch: 2, sequence: 0 });
      const book = await engine.reads.book(M, 10);
      expect(book?.asks.map(({ priceTicks }) => priceTicks)).to.deep.equal([11n]);
      await engine.orders.cancel(ALICE, order.id);
      expect(await held(engine, ALICE, 'ETH')).to.deep.equal([1_000n, 0n]);
    });

    it('forgets the markets of a server that was replaced by another one at its address', async () => {
      const engine = openEngine({ redis, ...LIMITS });
      await engine.lifecycle.open({ epoch: 0, sequence: 0 });
      await publishPlain(engine, M, { feeBps: 1 });
      await publishPlain(engine, 'SOL/USD', { feeBps: 1 });
      await fund(engine, ALICE, { ETH: 1_000n });
      const { order } = await place(engine, ALICE, limit(M, 'sell', 10, 1));

      await restart();
      const admin = openRedis(server.url);
      const replacing = openEngine({ redis: admin, ...LIMITS });
      try {
        await admin.flushall();
        await replacing.lifecycle.open({ epoch: 0, sequence: 0 });
        await publishPlain(replacing, 'DOGE/USD');
        await publishPlain(replacing, M, { feeBps: 1000 });
        await fund(replacing, ALICE, { ETH: 1_000n, DOGE: 10n });
        await fund(replacing, BOB, { USD: 10_000n });
        await place(replacing, ALICE, limit(M, 'sell', 10, 1));

        await engine.lifecycle.open({ epoch: 0, sequence: 0 });
        expect(await codeOf(place(engine, ALICE, limit('SOL/USD', 'sell', 10, 1)))).to.equal(
          'MARKET_NOT_FOUND',
        );
        expect(await codeOf(engine.orders.cancel(ALICE, order.id))).to.equal('ORDER_NOT_FOUND');
        const { trades } = await place(engine, BOB, limit(M, 'buy', 10, 1));
        expect(trades.map(({ feeAtoms }) => feeAtoms)).to.deep.equal([1n]);
        expect((await place(engine, ALICE, limit('DOGE/USD', 'sell', 10, 1))).order.market).to.equal(
          'DOGE/USD',
        );
        expect(await engine.markets.all()).to.deep.equal(await replacing.markets.all());
      } finally {
        admin.disconnect();
      }
    });

    it('keeps everything that was acknowledged, and never issues an id twice', async () => {
      const seed = runSeed();
      const dice = random(seed);
      const engine = openEngine({ redis, ...LIMITS });
      await engine.lifecycle.open({ epoch: 0, sequence: 0 });
      await publishPlain(engine, M);
      await fund(engine, ALICE, { ETH: 1_000n });
      await fund(engine, BOB, { USD: 10_000n });
      for (let epoch = 1; epoch <= 4; epoch += 1) {
        expect((await engine.reads.state()).epoch).to.equal(epoch);
        for (let trades = dice.below(5); trades >= 0; trades -= 1) await trade(engine);
        const before = { ids: await idsOf(engine), balance: await held(engine, ALICE, 'USD') };
        const { sequence } = await engine.reads.state();

        await restart();
        expect(engine.lifecycle.isOpen()).to.equal(false);
        expect(await codeOf(trade(engine))).to.equal('SERVICE_UNAVAILABLE');
        expect(await codeOf(engine.lifecycle.open(undefined))).to.equal('SERVICE_UNAVAILABLE');
        await engine.lifecycle.open({ epoch, sequence });

        expect(await idsOf(engine)).to.deep.equal(before.ids);
        expect(await held(engine, ALICE, 'USD')).to.deep.equal(before.balance);
        expect((await engine.reads.state()).sequence).to.equal(sequence);
      }
      // Opening again after a new epoch does not need Postgres.
      await engine.lifecycle.open(undefined);
      await trade(engine);
      const { orders, trades } = await idsOf(engine);
      expect(new Set(orders).size).to.equal(orders.length);
      expect(trades).to.deep.equal([...new Set(trades)].sort((a, b) => a - b));
      expect(trades.every((id) => Number.isSafeInteger(id))).to.equal(true);
      expect(trades.at(-1)).to.be.greaterThan(5 * 2 ** 37);
      await expectConserved(engine, 'ETH');
      await expectConserved(engine, 'USD');
    });
  });

  it('opens only when it has every event that Postgres has', async () => {
    await publishPlain(fixture.engine, M);
    const { epoch, sequence } = await fixture.engine.reads.state();
    // Looks like another run of the server to the engine.
    const engine = openEngine({ redis: fixture.redis, ...LIMITS });
    for (const cursor of [
      { epoch, sequence: sequence + 1 },
      { epoch: epoch + 1, sequence },
    ]) {
      await fixture.redis.hset(KEYS.engine, 'server', 'of another run');
      const opened = await engine.lifecycle.open(cursor).catch((error: unknown) => error);
      expect(opened).to.be.instanceOf(EngineBehind);
      expect(engine.lifecycle.isOpen()).to.equal(false);
      expect(await codeOf(engine.switches.pause())).to.equal('SERVICE_UNAVAILABLE');
    }
    await engine.lifecycle.open({ epoch, sequence });
    expect(await engine.reads.state()).to.deep.include({ epoch: epoch + 1, sequence });
  });

  it('does not open again on a server whose data became older while it ran', async () => {
    await publishPlain(fixture.engine, M);
    const { epoch, sequence } = await fixture.engine.reads.state();
    // The copy names the server as the one that its epoch began on.
    const copy = await copyOf(fixture.redis);
    await fund(fixture.engine, ALICE, { ETH: 100n });
    await fixture.engine.lifecycle.confirm();
    await putBack(fixture.redis, copy);
    for (const cursor of [
      { epoch, sequence: sequence + 1 },
      { epoch: epoch + 1, sequence },
    ]) {
      const opened = await openEngine({ redis: fixture.redis, ...LIMITS })
        .lifecycle.open(cursor)
        .catch((error: unknown) => error);
      expect(opened).to.be.instanceOf(EngineBehind);
    }
    expect(await codeOf(fixture.engine.lifecycle.confirm())).to.equal('SERVICE_UNAVAILABLE');
    expect(fixture.engine.lifecycle.isOpen()).to.equal(false);
  });

  it('does not stay open on a server whose data became older than what Postgres has', async () => {
    await publishPlain(fixture.engine, M);
    await fixture.engine.lifecycle.confirm();
    const copy = await copyOf(fixture.redis);
    await fund(fixture.engine, ALICE, { ETH: 100n });
    const settled = await fixture.engine.reads.state();
    await fixture.engine.lifecycle.inspect(settled);
    await putBack(fixture.redis, copy);
    // This replica has not looked since the copy was made.
    const other = await fixture.replica();
    await other.lifecycle.confirm();
    expect(await codeOf(other.lifecycle.confirm(settled))).to.equal('SERVICE_UNAVAILABLE');
    expect(other.lifecycle.isOpen()).to.equal(false);
  });

  it('writes nothing on a server whose data became older than what a replica has seen', async () => {
    const { engine, redis } = fixture;
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 100n });
    const resting = await place(engine, ALICE, limit(M, 'sell', 11, 1));
    const older = await copyOf(redis);
    const attempts: Record<string, () => Promise<unknown>> = {
      order: () => place(engine, ALICE, limit(M, 'sell', 10, 1)),
      cancel: () => engine.orders.cancel(ALICE, resting.order.id),
    };
    for (const [name, attempt] of Object.entries(attempts)) {
      await place(engine, ALICE, limit(M, 'sell', 12, 1));
      const newer = await copyOf(redis);
      await putBack(redis, older);
      const before = await dump(redis);
      expect(await codeOf(attempt()), name).to.equal('SERVICE_UNAVAILABLE');
      expect(await dump(redis), name).to.deep.equal(before);
      expect(engine.lifecycle.isOpen(), name).to.equal(false);
      await putBack(redis, newer);
      await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    }
    for (const attempt of Object.values(attempts)) await attempt();
  });

  it('refuses to trade on a server that lost all its data while it ran', async () => {
    await publishPlain(fixture.engine, M);
    const { epoch, sequence } = await fixture.engine.reads.state();
    await fixture.redis.flushdb();
    expect(await codeOf(trade(fixture.engine))).to.equal('SERVICE_UNAVAILABLE');
    const opened = await fixture.engine.lifecycle.open({ epoch, sequence }).catch((error: unknown) => error);
    expect(opened).to.be.instanceOf(EngineBehind);
    expect(await fixture.redis.exists(KEYS.events, KEYS.live)).to.equal(0);
  });

  it('continues under an epoch that another replica began on the same server', async () => {
    const { engine } = fixture;
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 100n });
    await fund(engine, BOB, { USD: 1_000n });
    await trade(engine);
    await fixture.redis.hset(KEYS.engine, 'server', 'of another run');
    const { sequence } = await engine.reads.state();
    const other = openEngine({ redis: fixture.redis, ...LIMITS });
    await other.lifecycle.open({ epoch: 1, sequence });
    await trade(engine);
    await trade(other);
    const { orders, trades } = await idsOf(engine);
    expect(new Set(orders).size).to.equal(orders.length);
    const [first, ...later] = trades.map((id) => Math.floor(id / 2 ** 37));
    expect([first, new Set(later)]).to.deep.equal([1, new Set([2])]);
    expect((await eventsOf(engine)).map((event) => event.sequence)).to.deep.equal(
      Array.from({ length: sequence + 4 }, (_, index) => index + 1),
    );
  });

  /** Leaves the state of a rebuild: a much later epoch, and nothing of the lost engine. */
  const replaceEngine = async (epoch: number): Promise<Engine> => {
    await fixture.redis.flushdb();
    await changeState(fixture.redis, { epoch });
    const next = openEngine({ redis: fixture.redis, ...LIMITS });
    await next.lifecycle.open({ epoch, sequence: 0 });
    return next;
  };

  it('reports an emptied engine to replicas whose connections stayed open, and must be opened again', async () => {
    const { engine } = fixture;
    await publishPlain(engine, M);
    let lost = 0;
    const stop = engine.lifecycle.onLost(() => {
      lost += 1;
    });
    await fixture.redis.flushdb();
    expect(await codeOf(engine.lifecycle.confirm())).to.equal('SERVICE_UNAVAILABLE');
    expect([engine.lifecycle.isOpen(), lost]).to.deep.equal([false, 1]);
    expect(await codeOf(engine.lifecycle.confirm())).to.equal('SERVICE_UNAVAILABLE');
    stop();
    expect(lost).to.equal(1);
    // A rebuilt engine that is not open yet has an epoch, but no trade ids to issue.
    await changeState(fixture.redis, { epoch: 105 });
    expect(await codeOf(engine.orders.cancelAll(ALICE, null))).to.equal('SERVICE_UNAVAILABLE');
    await engine.lifecycle.open({ epoch: 105, sequence: 0 });
    expect((await engine.reads.state()).epoch).to.equal(106);
    expect(await engine.orders.cancelAll(ALICE, null)).to.deep.equal([]);
  });

  it('does not report a live order or a market as unknown while the engine is empty', async () => {
    const { engine } = fixture;
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 100n });
    const { order } = await place(engine, ALICE, limit(M, 'sell', 10, 3));
    await fixture.redis.flushdb();
    for (const _time of ['before the replica notices', 'afterwards'])
      expect(await codeOf(engine.orders.cancel(ALICE, order.id))).to.equal('SERVICE_UNAVAILABLE');
    expect(await codeOf(engine.markets.all())).to.equal('SERVICE_UNAVAILABLE');
    expect(await codeOf(engine.markets.bySymbol(M))).to.equal('SERVICE_UNAVAILABLE');
  });

  it('has neither empty balances nor unknown assets for a replica that has not noticed that it was emptied', async () => {
    await publishPlain(fixture.engine, M);
    await fund(fixture.engine, ALICE, { ETH: 100n });
    const replicas = await Promise.all([1, 2, 3].map(() => fixture.replica()));
    await fixture.redis.flushdb();
    const [listing, reading, moving] = replicas;
    expect(await codeOf(listing!.assets.all())).to.equal('SERVICE_UNAVAILABLE');
    expect(await codeOf(reading!.funds.readBalances(ALICE))).to.equal('SERVICE_UNAVAILABLE');
    expect(await codeOf(fund(moving!, ALICE, { ETH: 1n }))).to.equal('SERVICE_UNAVAILABLE');
  });

  it('cancels all orders of an engine that was rebuilt between the read of them and its confirmation', async () => {
    const { redis, engine: other } = fixture;
    await publishPlain(other, M);
    await fund(other, ALICE, { ETH: 100n });
    await place(other, ALICE, limit(M, 'sell', 10, 3));
    const engine = openEngine({ redis, ...LIMITS });
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    for (const key of [KEYS.engine, KEYS.live]) await redis.rename(key, `${key}:aside`);
    const confirm = redis.hmgetBuffer.bind(redis);
    redis.hmgetBuffer = (async (...fields: Parameters<typeof confirm>) => {
      redis.hmgetBuffer = confirm;
      for (const key of [KEYS.engine, KEYS.live]) await redis.rename(`${key}:aside`, key);
      const { epoch } = await other.reads.state();
      await changeState(redis, { epoch: epoch + 1 });
      return confirm(...fields);
    }) as typeof confirm;
    expect(await engine.orders.cancelAll(ALICE, null)).to.have.length(1);
  });

  it('applies no rules of an emptied engine under the same epoch, number and symbol', async () => {
    const { engine } = fixture;
    await publishPlain(engine, M, { feeBps: 1 });
    const other = await fixture.replica();
    const [remembered] = await other.markets.all();
    const next = await replaceEngine(0);
    await publishPlain(next, M, { feeBps: 1000 });
    const [market] = await next.markets.all();
    expect([market?.number, (await next.reads.state()).epoch]).to.deep.equal([0, 1]);
    expect(market!.version).to.not.equal(remembered!.version);
    await fund(next, ALICE, { ETH: 100n });
    await fund(next, BOB, { USD: 1_000n });
    await place(next, ALICE, limit(M, 'sell', 10, 3));
    const { trades } = await place(other, BOB, limit(M, 'buy', 10, 3));
    expect(trades.map(({ feeAtoms }) => feeAtoms)).to.deep.equal([3n]);
  });

  it('reads events with the markets of the engine that wrote them', async () => {
    await publishPlain(fixture.engine, M);
    const reader = await fixture.replica();
    await fund(fixture.engine, ALICE, { ETH: 100n });
    await place(fixture.engine, ALICE, limit(M, 'sell', 10, 3));
    expect((await eventsOf(reader)).at(-1)).to.have.nested.property('order.market', M);
    const next = await replaceEngine(105);
    await publishPlain(next, 'DOGE/USD');
    await fund(next, ALICE, { DOGE: 100n });
    const { order } = await place(next, ALICE, limit('DOGE/USD', 'sell', 10, 3));
    const [event] = (await eventsOf(reader)).slice(-1);
    expect(event).to.have.nested.property('order.market', 'DOGE/USD');
    expect(event).to.have.nested.property('order.units.base', 'DOGE');
    // The reader's connection is unchanged, and it remembers another market under the number.
    expect(await codeOf(place(reader, ALICE, limit(M, 'sell', 10, 3)))).to.equal('MARKET_NOT_FOUND');
    expect((await reader.orders.cancel(ALICE, order.id)).market).to.equal('DOGE/USD');
  });

  it('shows no book and no quotes of a market that is gone or whose rules were lost', async () => {
    await publishPlain(fixture.engine, M);
    const reader = await fixture.replica();
    await fund(fixture.engine, ALICE, { ETH: 100n });
    await place(fixture.engine, ALICE, limit(M, 'sell', 10, 3));
    expect((await reader.reads.book(M, 5))?.asks).to.have.length(1);
    const next = await replaceEngine(105);
    await next.markets.create(spec('DOGE/USD', { tickSize: '5' }));
    expect(await reader.reads.book(M, 5)).to.equal(undefined);
    const { markets, quotes } = await reader.reads.quotes((all) => all);
    expect(markets.map(({ symbol, tick }) => [symbol, tick])).to.deep.equal([['DOGE/USD', '5']]);
    expect([...quotes.keys()]).to.deep.equal(['DOGE/USD']);
    expect((await reader.reads.book('DOGE/USD', 5))?.market.tick).to.equal('5');
  });

  it('ignores lookups in Postgres that were made under an earlier epoch', async () => {
    const { engine } = fixture;
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 100n });
    const request = limit(M, 'sell', 10, 1, { clientOrderId: 'once' });
    const other = await fixture.replica();
    await place(engine, ALICE, request);
    // The rebuilt engine knows only that the id may have been used.
    await fixture.redis.del(...KEYS.claims);
    const unchecked = await other.orders.place({ wallet: ALICE, request });
    if (unchecked.outcome !== 'unchecked') throw new Error(`${unchecked.outcome}, not unchecked`);
    await fixture.redis.hset(KEYS.engine, 'server', 'of another run');
    const { epoch, sequence } = await engine.reads.state();
    await engine.lifecycle.open({ epoch, sequence });
    const again = await other.orders.place({ wallet: ALICE, request, checked: unchecked.moment });
    if (again.outcome !== 'unchecked') throw new Error(`${again.outcome}, not unchecked`);
    expect(again.moment.epoch).to.equal(epoch + 1);
    expect((await other.orders.place({ wallet: ALICE, request, checked: again.moment })).outcome).to.equal(
      'placed',
    );
  });

  it('moves no amount that was converted with a scale of a lost engine', async () => {
    const { engine } = fixture;
    await engine.assets.set({ symbol: 'USD', scale: 2 });
    const credit = movement('credited', ALICE, 'USD', 150n);
    const next = await replaceEngine(105);
    await next.assets.set({ symbol: 'USD', scale: 6 });
    expect(await codeOf(engine.funds.move(credit, undefined, 2))).to.equal('SCALE_CHANGED');
    expect((await engine.funds.move(credit, undefined, 6)).outcome).to.equal('moved');
  });

  it('accepts any number as the version of a market, and rejects that of another symbol', async () => {
    const { engine, redis } = fixture;
    await publishPlain(engine, M);
    await publishPlain(engine, 'DOGE/USD');
    for (const [number, symbol] of [M, 'DOGE/USD'].entries()) {
      const record = (await redis.hget(KEYS.markets, symbol))!;
      await redis.hset(KEYS.markets, symbol, record.replace(/"version":\d+/, `"version":${number + 1}`));
      await redis.hset(KEYS.engine, `rules:${number}`, `${number + 1} ${symbol}`);
    }
    const other = await fixture.replica();
    await fund(engine, ALICE, { ETH: 100n, DOGE: 100n });
    await fund(engine, BOB, { USD: 10_000n });
    await trade(other);
    expect((await other.reads.book(M, 5))?.asks).to.have.length(1);
    expect((await other.reads.quotes((all) => all)).quotes.get(M)?.lastTicks).to.equal(10n);
    expect(await other.orders.cancelAll(ALICE, M)).to.have.length(1);
    const { version } = await engine.markets.change(M, { feeBps: 1000 });
    expect(version).to.be.above(2 ** 37);
    const { trades } = await (async () => {
      await place(other, ALICE, limit(M, 'sell', 10, 1));
      return place(other, BOB, limit(M, 'buy', 10, 1));
    })();
    expect(trades[0]?.feeAtoms).to.equal(1n);
    expect((await engine.markets.change(M, { feeBps: 0 })).version).to.be.above(version);
    // A number of another symbol is invalid for this symbol.
    await redis.hset(KEYS.engine, 'rules:1', `2 ${M}`);
    expect(await codeOf(place(other, ALICE, limit('DOGE/USD', 'sell', 10, 1)))).to.equal(
      'SERVICE_UNAVAILABLE',
    );
  });

  it('sends a script again when the server has forgotten it', async () => {
    const { engine, redis } = fixture;
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 1_000n });
    await fund(engine, BOB, { USD: 100_000n });
    for (let rounds = 0; rounds < 5; rounds += 1) {
      await redis.script('FLUSH');
      await Promise.all(Array.from({ length: 10 }, () => trade(engine)));
    }
    const { orders, trades } = await idsOf(engine);
    expect([orders.length, trades.length >= 50]).to.deep.equal([100, true]);
    await expectConserved(engine, 'ETH');
  });
});
