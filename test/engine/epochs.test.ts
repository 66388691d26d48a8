/** Servers that come back, and engines that are not what Postgres remembers. */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type Engine, EngineBehind, openEngine } from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { openRedis, type RedisServer } from '../support/redis-server.ts';
import { random, runSeed } from '../support/seed.ts';
import { freshRedisServer } from '../support/servers.ts';
import {
  ALICE,
  BOB,
  codeOf,
  eventsOf,
  expectConserved,
  fund,
  held,
  LIMITS,
  limit,
  openBench,
  place,
  publishPlain,
} from './fixture.ts';

const M = 'ETH/USD';

/** All ids that the events gave out. */
async function idsOf(engine: Engine): Promise<{ orders: string[]; trades: number[] }> {
  const placed = (await eventsOf(engine)).filter((event) => event.kind === 'order_placed');
  return {
    orders: placed.map((event) => event.order.id),
    trades: placed.flatMap((event) => event.trades.map(({ tradeId }) => tradeId)),
  };
}

async function trade(engine: Engine): Promise<void> {
  await place(engine, ALICE, limit(M, 'sell', 10, 3));
  await place(engine, BOB, limit(M, 'buy', 10, 2));
}

describe('engine: epochs', function () {
  this.timeout(60_000);

  describe('of a server that is killed and started again', () => {
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

    it('keeps all that was answered, and never gives an id twice', async () => {
      const seed = runSeed();
      const dice = random(seed);
      const engine = openEngine({ redis, ...LIMITS });
      await engine.open({ epoch: 0, sequence: 0 });
      await publishPlain(engine, M);
      await fund(engine, ALICE, { ETH: 1_000n });
      await fund(engine, BOB, { USD: 10_000n });
      for (let epoch = 1; epoch <= 4; epoch += 1) {
        expect((await engine.state()).epoch).to.equal(epoch);
        for (let trades = dice.below(5); trades >= 0; trades -= 1) await trade(engine);
        const before = { ids: await idsOf(engine), balance: await held(engine, ALICE, 'USD') };
        const { sequence } = await engine.state();

        await restart();
        expect(engine.isOpen()).to.equal(false);
        expect(await codeOf(trade(engine))).to.equal('SERVICE_UNAVAILABLE');
        expect(await codeOf(engine.open(undefined))).to.equal('SERVICE_UNAVAILABLE');
        await engine.open({ epoch, sequence });

        expect(await idsOf(engine)).to.deep.equal(before.ids);
        expect(await held(engine, ALICE, 'USD')).to.deep.equal(before.balance);
        expect((await engine.state()).sequence).to.equal(sequence);
      }
      // The open that follows a new epoch needs no Postgres.
      await engine.open(undefined);
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
    const bench = await openBench();
    try {
      await publishPlain(bench.engine, M);
      const { epoch, sequence } = await bench.engine.state();
      // Another run of the server, as far as the engine can tell.
      const engine = openEngine({ redis: bench.redis, ...LIMITS });
      for (const cursor of [
        { epoch, sequence: sequence + 1 },
        { epoch: epoch + 1, sequence },
      ]) {
        await bench.redis.hset(KEYS.engine, 'run_id', 'of another run');
        const opened = await engine.open(cursor).catch((error: unknown) => error);
        expect(opened).to.be.instanceOf(EngineBehind);
        expect(engine.isOpen()).to.equal(false);
        expect(await codeOf(engine.pause())).to.equal('SERVICE_UNAVAILABLE');
      }
      await engine.open({ epoch, sequence });
      expect(await engine.state()).to.deep.include({ epoch: epoch + 1, sequence });
    } finally {
      bench.close();
    }
  });

  it('refuses to trade on a server that has lost everything while it ran', async () => {
    const bench = await openBench();
    try {
      await publishPlain(bench.engine, M);
      const { epoch, sequence } = await bench.engine.state();
      await bench.redis.flushdb();
      expect(await codeOf(trade(bench.engine))).to.equal('SERVICE_UNAVAILABLE');
      const opened = await bench.engine.open({ epoch, sequence }).catch((error: unknown) => error);
      expect(opened).to.be.instanceOf(EngineBehind);
      expect(await bench.redis.exists(KEYS.events, KEYS.live)).to.equal(0);
    } finally {
      bench.close();
    }
  });

  it('goes on under an epoch that another replica began on the same server', async () => {
    const bench = await openBench();
    try {
      const { engine } = bench;
      await publishPlain(engine, M);
      await fund(engine, ALICE, { ETH: 100n });
      await fund(engine, BOB, { USD: 1_000n });
      await trade(engine);
      await bench.redis.hset(KEYS.engine, 'run_id', 'of another run');
      const { sequence } = await engine.state();
      const other = openEngine({ redis: bench.redis, ...LIMITS });
      await other.open({ epoch: 1, sequence });
      await trade(engine);
      await trade(other);
      const { orders, trades } = await idsOf(engine);
      expect(new Set(orders).size).to.equal(orders.length);
      const [first, ...later] = trades.map((id) => Math.floor(id / 2 ** 37));
      expect([first, new Set(later)]).to.deep.equal([1, new Set([2])]);
      expect((await eventsOf(engine)).map((event) => event.sequence)).to.deep.equal(
        Array.from({ length: sequence + 4 }, (_, index) => index + 1),
      );
    } finally {
      bench.close();
    }
  });

  it('sends a script again that the server has forgotten', async () => {
    const bench = await openBench();
    try {
      const { engine, redis } = bench;
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
    } finally {
      bench.close();
    }
  });
});
