/**
 * Proves that the dead-man switch worker fires by the engine's clock, continues after failures of single orders, and
 * survives an engine outage.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { walletBytes } from '../../src/engine/codec.ts';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { type EngineGate, keepEngineOpen } from '../../src/roles/engine-gate.ts';
import { type DueCancelsWorker, startDueCancels } from '../../src/workers/due-cancels.ts';
import { ALICE, BOB, CAROL, fund, limit, place, publishPlain } from '../engine/fixture.ts';
import { eventually } from '../support/eventually.ts';
import { instead } from '../support/instead.ts';
import { LIMITS } from '../support/limits.ts';
import { openRedis, type RedisServer } from '../support/redis-server.ts';
import { freshRedisServer } from '../support/servers.ts';

const M = 'ETH/USD';
const HOUR_MS = 3_600_000;
const NOTHING_SETTLED = { epoch: 0, sequence: 0, digest: null, timeMs: null, settledAtMs: null };
const EMPTY = { epoch: 0, sequence: 0 };
const walletOf = (index: number): string => `0x${(index + 1).toString(16).padStart(40, '0')}`;

interface Replica {
  readonly engine: Engine;
  /** Scripts that the worker ran. */
  readonly scripts: string[];
  /** Peak number of concurrent pages, for first pages and for later pages. */
  readonly maxTogether: { first: number; later: number };
  /** Log lines of the worker. */
  readonly lines: { readonly msg: string; readonly [field: string]: unknown }[];
  start(methods?: Partial<Engine['dueCancels']>): DueCancelsWorker;
}

describe('the worker of dead-man switches', () => {
  let server: RedisServer;
  let redis: Redis;
  let one: Replica;
  let other: Replica;
  const connections: Redis[] = [];
  const gates: EngineGate[] = [];
  const workers: DueCancelsWorker[] = [];

  const openReplica = async (): Promise<Replica> => {
    const connection = openRedis(server.url, 'engine-api', {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 50,
      lazyConnect: true,
    });
    connection.on('error', () => undefined);
    await connection.connect();
    connections.push(connection);
    const scripts: string[] = [];
    const engine = openEngine({ redis: connection, ...LIMITS, observe: (script) => scripts.push(script) });
    const lines: Replica['lines'] = [];
    const write = (line: string): unknown => lines.push(JSON.parse(line));
    const log = pino({ base: null, timestamp: false }, { write });
    const ledger = { epochs: { position: async () => ({ ...NOTHING_SETTLED, begun: null }) } };
    gates.push(keepEngineOpen({ redis: connection, engine, ledger, logger: pino({ level: 'silent' }) }));
    await eventually('the engine is open', async () => engine.lifecycle.isOpen());
    const replica: Replica = {
      engine,
      scripts,
      lines,
      maxTogether: { first: 0, later: 0 },
      start(methods = {}) {
        const together = { first: 0, later: 0 };
        const cancelPage: Engine['dueCancels']['cancelPage'] = async (due, after) => {
          const lane = after === null ? 'first' : 'later';
          together[lane] += 1;
          replica.maxTogether[lane] = Math.max(replica.maxTogether[lane], together[lane]);
          return engine.dueCancels.cancelPage(due, after).finally(() => {
            together[lane] -= 1;
          });
        };
        const worker = startDueCancels({
          engine: { ...engine, dueCancels: instead(engine.dueCancels, { cancelPage, ...methods }) },
          log,
          wakeSettlement: () => undefined,
          leaseMs: 1_000,
        });
        workers.push(worker);
        return worker;
      },
    };
    return replica;
  };

  before(async () => {
    server = await freshRedisServer();
    redis = openRedis(server.url);
    const admin = openRedis(server.url, 'engine-all');
    for (const connection of [redis, admin]) {
      connection.on('error', () => undefined);
      connections.push(connection);
    }
    const operating = openEngine({ redis: admin, ...LIMITS });
    await operating.lifecycle.open(EMPTY);
    await publishPlain(operating, M);
    for (const wallet of [ALICE, BOB, CAROL]) await fund(operating, wallet, { ETH: 1_000_000n });
    await Promise.all(
      Array.from({ length: 150 }, (_, index) => fund(operating, walletOf(index), { ETH: 10n })),
    );
    one = await openReplica();
    other = await openReplica();
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
    for (const replica of [one, other]) replica.lines.length = 0;
  });
  after(() => {
    for (const gate of gates) gate.stop();
    for (const connection of connections) connection.disconnect();
  });

  /** Sets a switch that is due `ms` from now by Redis' clock; negative values are in the past. */
  const setDueIn = async (wallet: string, ms: number): Promise<void> => {
    await one.engine.dueCancels.set(wallet, HOUR_MS);
    await redis.zincrby(KEYS.cancelAfter, ms - HOUR_MS, walletBytes(wallet));
  };
  const rest = async (wallet: string, count: number): Promise<void> => {
    for (let price = 1; price <= count; price += 1)
      await place(one.engine, wallet, limit(M, 'sell', price, 1));
  };
  const untilCancelled = (...wallets: string[]): Promise<void> =>
    eventually('the orders are cancelled', async () => {
      if (!one.engine.lifecycle.isOpen()) return false;
      const counts = await Promise.all(wallets.map((wallet) => one.engine.orders.liveCount(wallet)));
      return counts.every((count) => count === 0);
    });
  const untilNothingIsTaken = (): Promise<void> =>
    eventually('every taken switch is ended', async () => (await redis.exists(KEYS.cancelAfterLeases)) === 0);

  it('cancels when a switch is due, not before, and logs it once', async () => {
    const worker = one.start();
    await rest(ALICE, 120);
    await rest(BOB, 1);
    await setDueIn(ALICE, 800);
    await setDueIn(BOB, HOUR_MS);
    const dueMs = Number(await redis.zscore(KEYS.cancelAfter, walletBytes(ALICE)));
    await untilCancelled(ALICE);
    await untilNothingIsTaken();
    const closed = (await one.engine.outbox.readEvents(EMPTY, 100_000)).filter(
      ({ kind }) => kind === 'orders_closed',
    );
    expect(closed.length).to.equal(2);
    for (const event of closed) expect(event.timeMs, 'by the clock of Redis').to.be.at.least(dueMs);
    expect(await one.engine.orders.liveCount(BOB)).to.equal(1);
    await eventually('it is told', async () => one.lines.length > 0);
    expect(one.lines).to.deep.equal([
      {
        level: 30,
        wallet: ALICE,
        dueAt: new Date(dueMs).toISOString(),
        cancelled: 120,
        msg: 'cancel-after: the orders of the wallet are cancelled',
      },
    ]);
    expect(worker.counts()).to.deep.equal({ fired: 1, failed: 0 });
    expect(worker.overdueMs()).to.equal(0);
    await one.engine.dueCancels.set(BOB, 0);
    await one.engine.orders.cancelAll(BOB, null);
  });

  it('shares many due switches with another replica, few pages at a time, while orders continue', async () => {
    const wallets = Array.from({ length: 150 }, (_, index) => walletOf(index));
    await Promise.all([...wallets.map((wallet) => rest(wallet, 2)), rest(CAROL, 250)]);
    await Promise.all([...wallets, CAROL].map((wallet) => setDueIn(wallet, -1)));
    const running = [one, other].map((replica) => replica.start());
    let placed = 0;
    const isDone = async (): Promise<boolean> =>
      (await redis.exists(KEYS.cancelAfterLeases, KEYS.cancelAfter)) === 0;
    for (; !(await isDone()); placed += 1) await place(other.engine, BOB, limit(M, 'sell', 500, 1));
    await untilCancelled(...wallets, CAROL);
    expect(placed, 'orders placed meanwhile').to.be.greaterThan(2);
    expect(await one.engine.orders.liveCount(BOB)).to.equal(placed);
    const fired = running.map((worker) => worker.counts().fired);
    expect(fired[0]! + fired[1]!).to.equal(151);
    for (const { maxTogether } of [one, other]) {
      expect(maxTogether.first).to.be.at.most(16);
      expect(maxTogether.later).to.be.at.most(4);
    }
    expect(one.maxTogether.first + other.maxTogether.first, 'several begin at once').to.be.greaterThan(2);
    await one.engine.orders.cancelAll(BOB, null);
  });

  it('takes over the switches of a killed replica', async () => {
    await rest(ALICE, 250);
    await setDueIn(ALICE, -1);
    const { taken } = await other.engine.dueCancels.take(10, 500);
    await other.engine.dueCancels.cancelPage(taken[0]!, null);
    await place(one.engine, ALICE, limit(M, 'sell', 1, 7));
    one.start();
    await untilNothingIsTaken();
    expect(await one.engine.orders.liveCount(ALICE), 'the order placed after the switch was taken').to.equal(
      1,
    );
    await one.engine.orders.cancelAll(ALICE, null);
  });

  it('releases its switches when it stops', async () => {
    await rest(ALICE, 3);
    await setDueIn(ALICE, -1);
    let asked = 0;
    const stuck = other.start({
      cancelPage: async () => {
        asked += 1;
        return { closed: [], failures: [], next: Buffer.from('again') };
      },
    });
    await eventually('it is taken', async () => asked > 0);
    await stuck.stop();
    expect(await redis.zscore(KEYS.cancelAfterLeases, walletBytes(ALICE))).to.not.equal(null);
    const { taken } = await one.engine.dueCancels.take(10, 0);
    expect(taken.map(({ wallet }) => wallet)).to.deep.equal([ALICE]);
    one.start();
    await untilCancelled(ALICE);
    await untilNothingIsTaken();
  });

  it('is not delayed by 100,000 switches of wallets without orders that are due before', async () => {
    const count = 100_000;
    const pipeline = redis.pipeline();
    for (let index = 0; index < count; index += 1) {
      const wallet = walletBytes(walletOf(1_000 + index));
      pipeline.zadd(KEYS.cancelAfter, '1', wallet);
      pipeline.hset(KEYS.cancelAfterCutOffs, Buffer.concat([wallet, Buffer.from('s')]), '1');
    }
    await pipeline.exec();
    await rest(ALICE, 1);
    await setDueIn(ALICE, -1);
    one.scripts.length = 0;
    const worker = one.start();
    await untilCancelled(ALICE);
    // As many calls as these switches take, of a thousand each, and nothing else.
    const calls = one.scripts.filter((script) => script === 'take_due_cancels').length;
    expect(calls).to.be.at.most(count / 1_000 + 2);
    expect(one.scripts.filter((script) => script === 'lease_due_cancel').length).to.be.at.most(1);
    await untilNothingIsTaken();
    expect([worker.counts().fired, await redis.exists(KEYS.cancelAfterCutOffs)]).to.deep.equal([
      count + 1,
      0,
    ]);
    expect(one.lines).to.have.length(1);
  });

  it('logs orders that cannot be cancelled, and continues with others', async () => {
    for (const wallet of [ALICE, BOB]) {
      await rest(wallet, 1);
      await setDueIn(wallet, -1);
    }
    const worker = one.start({
      cancelPage: (due, after) => {
        if (due.wallet === ALICE) return Promise.reject(new Error('a reservation is missing'));
        return one.engine.dueCancels.cancelPage(due, after);
      },
    });
    await untilCancelled(BOB);
    await eventually('both are told', async () => one.lines.length === 2);
    expect(worker.counts()).to.deep.equal({ fired: 1, failed: 1 });
    const [failed] = one.lines.filter(({ wallet }) => wallet === ALICE);
    expect(failed!.msg).to.equal('cancel-after: not all orders could be cancelled');
    expect(await redis.zcard(KEYS.cancelAfterLeases), 'it is tried again later').to.equal(1);
    await redis.zadd(KEYS.cancelAfterLeases, '0', walletBytes(ALICE));
    other.start();
    await untilNothingIsTaken();
  });

  it('begins a switch again when another engine may answer, which may have orders of earlier pages again', async () => {
    await setDueIn(ALICE, -1);
    await rest(ALICE, 3);
    const pages: (string | undefined)[] = [];
    const worker = one.start({
      async cancelPage(due, after) {
        pages.push(after?.toString());
        if (pages.length === 1) return { closed: [], failures: [], next: Buffer.from('later') };
        if (pages.length === 2) {
          const { tenure } = one.engine.lifecycle;
          await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
          await eventually('the engine opens again', async () => one.engine.lifecycle.tenure > tenure + 1);
          return { closed: [], failures: [], next: null };
        }
        return one.engine.dueCancels.cancelPage(due, after);
      },
    });
    await untilCancelled(ALICE);
    await eventually('it is told', async () => worker.counts().fired === 1);
    expect(pages.slice(0, 3)).to.deep.equal([undefined, 'later', undefined]);
  });

  it('polls rarely while nothing is due, not while the engine is down, and then fires overdue switches', async () => {
    const worker = one.start();
    await rest(ALICE, 2);
    await rest(BOB, 2);
    await setDueIn(ALICE, HOUR_MS);
    await setDueIn(BOB, -1);
    await untilCancelled(BOB);
    await untilNothingIsTaken();
    one.scripts.length = 0;
    const restedMs = performance.now();
    await eventually('it looks again', () => one.scripts.length >= 2);
    // Never without a pause: looks in a row would come by hundreds.
    expect(one.scripts.length, 'looks').to.be.at.most(2 + (performance.now() - restedMs) / 1_000);

    await redis.zincrby(KEYS.cancelAfter, -2 * HOUR_MS, walletBytes(ALICE));
    await server.kill();
    await eventually('it hears of it', async () => !one.engine.lifecycle.isOpen());
    one.scripts.length = 0;
    await sleep(300);
    expect(one.scripts).to.deep.equal([]);
    await server.start();
    await untilCancelled(ALICE);
    await eventually('it is told', async () => worker.counts().fired === 2);
  });
});
