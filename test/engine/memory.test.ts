/** Proves that an engine with little memory left refuses orders first to the wallets that have most of them live. */

import { expect } from 'chai';
import type { Command, Redis } from 'ioredis';
import { liveOrdersAt } from '../../src/engine/memory.ts';
import { openRedis } from '../support/redis-server.ts';
import { sharedRedis } from '../support/servers.ts';
import {
  ALICE,
  BOB,
  codeOf,
  type EngineFixture,
  fund,
  limit,
  openEngineFixture,
  place,
  publishPlain,
} from './fixture.ts';

const M = 'ETH/USD';
const LIVE = 100;
/** So much that the last hundredths have room for connections and scripts. */
const BALLAST_BYTES = 64 * 1024 * 1024;

describe('engine: memory for live orders', () => {
  it('lets a wallet have all its orders below 90 % of the memory, and ten until the last byte', () => {
    const shares = [0, 0.9, 0.95, 0.99, 1, 1.2];
    expect(shares.map((share) => liveOrdersAt(share, 10_000))).to.deep.equal([
      10_000, 10_000, 316, 19, 10, 10,
    ]);
    expect(liveOrdersAt(1, 3)).to.equal(3);
  });

  describe('of a Redis', () => {
    let fixture: EngineFixture;
    let first: string;
    /** Runs when the reply of the next script has come, before the engine reads it. */
    let onReply: (() => Promise<void>) | undefined;
    let redis: Redis;
    before(async () => {
      redis = openRedis(await sharedRedis(), 'engine-all');
      const send = redis.sendCommand.bind(redis);
      redis.sendCommand = async (command: Command, ...rest: never[]) => {
        const reply = await send(command, ...rest);
        const act = command.name === 'evalsha' ? onReply : undefined;
        if (act !== undefined) onReply = undefined;
        await act?.();
        return reply;
      };
      fixture = await openEngineFixture({ redis });
      await fixture.redis.setrange('ballast', BALLAST_BYTES - 1, '0');
      await publishPlain(fixture.engine, M);
      for (const wallet of [ALICE, BOB]) await fund(fixture.engine, wallet, { USD: 1_000_000n, ETH: 10n });
      const orders = [];
      for (let index = 0; index < LIVE; index += 1)
        orders.push(await place(fixture.engine, ALICE, limit(M, 'buy', 1, 1)));
      first = orders[0]!.order.id;
    });
    after(async () => {
      await fixture.redis.config('SET', 'maxmemory', '0');
      await fixture.redis.del('ballast');
      fixture.close();
      redis.disconnect();
    });

    /** Makes the present contents take this share of the memory, and lets the engine see it. */
    const fill = async (share: number): Promise<void> => {
      const info = await fixture.redis.info('memory');
      const used = Number(/^used_memory:(\d+)/m.exec(info)![1]);
      const uncounted = Number(/^mem_not_counted_for_evict:(\d+)/m.exec(info)![1]);
      await fixture.redis.config('SET', 'maxmemory', String(Math.round((used - uncounted) / share)));
      await fixture.engine.lifecycle.inspect();
    };

    it('is refused to the wallet with most orders, which may still trade, replace and cancel', async () => {
      const { engine } = fixture;
      const rest = (wallet: string, own = {}) => place(engine, wallet, limit(M, 'buy', 1, 1, own));
      await fill(0.98);
      expect(await codeOf(rest(ALICE))).to.equal('SERVICE_UNAVAILABLE');
      // The limit of the call counts, also when there is room again before its reply is read.
      onReply = () => fill(0.5);
      expect(await codeOf(rest(ALICE))).to.equal('SERVICE_UNAVAILABLE');
      await fill(0.98);
      await rest(ALICE, { timeInForce: 'IOC' });
      await engine.orders.place({ wallet: ALICE, request: limit(M, 'buy', 2, 1), replaces: first });
      for (let index = 0; index < 10; index += 1) await rest(BOB);
      await engine.orders.cancelAll(ALICE, M);
      await rest(ALICE);
      await fill(0.5);
      for (let index = 0; index < LIVE; index += 1) await rest(ALICE);
    });
  });
});
