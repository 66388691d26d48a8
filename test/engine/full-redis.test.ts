/** Proves that a full Redis accepts no new orders, but everything that frees memory or only reads. */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { walletBytes } from '../../src/engine/codec.ts';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { assetContents } from '../support/engine-contents.ts';
import { LIMITS } from '../support/limits.ts';
import { openRedis, type RedisServer } from '../support/redis-server.ts';
import { freshRedisServer } from '../support/servers.ts';
import {
  ALICE,
  BOB,
  eventsOf,
  expectConserved,
  fund,
  held,
  limit,
  movement,
  place,
  publishPlain,
  refusedWithoutWriting,
} from './fixture.ts';

const M = 'ETH/USD';

describe('engine: a Redis whose memory is full', () => {
  let server: RedisServer;
  let redis: Redis;
  let connection: Redis;
  let engine: Engine;

  before(async () => {
    server = await freshRedisServer();
    redis = openRedis(server.url);
    connection = openRedis(server.url, 'engine-all');
    engine = openEngine({ redis: connection, ...LIMITS });
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 100n });
    await fund(engine, BOB, { USD: 1_000n });
    for (const price of [10, 11, 12]) await place(engine, ALICE, limit(M, 'sell', price, 5));
    await redis.config('SET', 'maxmemory', '1');
  });
  after(async () => {
    for (const one of [redis, connection]) one.disconnect();
    await server.stop();
  });

  it('rejects a placement before it writes anything', async () => {
    for (const request of [
      limit(M, 'buy', 10, 1),
      limit(M, 'buy', 1, 1, { clientOrderId: 'full' }),
      limit(M, 'buy', 20, 15, { timeInForce: 'FOK' }),
    ]) {
      const code = await refusedWithoutWriting(redis, () => place(engine, BOB, request));
      expect(code).to.equal('SERVICE_UNAVAILABLE');
    }
  });

  it('still reads, cancels, debits, holds, pauses and trims', async () => {
    const { resting } = await assetContents(engine, 'ETH');
    expect((await engine.orders.cancel(ALICE, resting[0]!.id)).status).to.equal('cancelled');
    await engine.funds.move(movement('debited', BOB, 'USD', 1n));
    expect(await engine.switches.hold(ALICE)).to.have.length(2);
    await engine.switches.release(ALICE);
    await engine.switches.pause();
    await engine.switches.resume();
    await engine.markets.change(M, { feeBps: 1 });
    expect(await held(engine, ALICE, 'ETH')).to.deep.equal([100n, 0n]);
    expect(await engine.outbox.readUnsettled(ALICE)).to.not.deep.equal([]);
    expect(await engine.orders.find(BOB, 'full')).to.deep.equal({ outcome: 'unclaimed' });
    const { epoch, sequence } = await engine.reads.state();
    await engine.outbox.trim({ epoch, sequence });
    expect(await eventsOf(engine)).to.have.length(sequence);
  });

  it('still keeps dead-man switches and fires them', async () => {
    expect(await engine.dueCancels.set(ALICE, 5_000)).to.be.a('number');
    expect(await engine.dueCancels.set(BOB, 5_000)).to.be.a('number');
    await redis.config('SET', 'maxmemory', '0');
    await place(engine, ALICE, limit(M, 'sell', 10, 1));
    await redis.zincrby(KEYS.cancelAfter, -5_000, walletBytes(ALICE));
    await redis.config('SET', 'maxmemory', '1');
    const { taken } = await engine.dueCancels.take(10, 1_000);
    expect(taken.map(({ wallet }) => wallet)).to.deep.equal([ALICE]);
    await engine.dueCancels.cancelPage(taken[0]!, null);
    await engine.dueCancels.lease(taken[0]!, null);
    expect(await engine.dueCancels.set(BOB, 0)).to.equal(null);
  });

  it('accepts placements again when there is room', async () => {
    await redis.config('SET', 'maxmemory', '0');
    const request = limit(M, 'sell', 10, 1, { clientOrderId: 'full' });
    expect((await place(engine, ALICE, request)).order.status).to.equal('resting');
    await expectConserved(engine, 'ETH');
    await expectConserved(engine, 'USD');
  });
});
