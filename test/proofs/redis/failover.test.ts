/**
 * Tests a failover: pending commands end or are refused, none is sent twice, and connections recover where possible.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { type Engine, EngineBehind, EngineMisconfigured, openEngine } from '../../../src/engine/index.ts';
import { openFollower, openPublisher, writeMessage } from '../../../src/feed/index.ts';
import { GENERAL, marketChannel } from '../../../src/feed/keys.ts';
import { openRequestLogs } from '../../../src/http/limits/request-log.ts';
import { openSettlementWorker, openWakeUps } from '../../../src/queue/index.ts';
import { connectRedis, connectSubscriber, queueConnection } from '../../../src/redis/connections.ts';
import { ALICE, BOB, codeOf, fund, held, limit, place, publishPlain } from '../../engine/fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { LIMITS } from '../../support/limits.ts';
import { type RedisCluster, startRedisCluster } from '../../support/redis-cluster.ts';
import { asUser, openRedis } from '../../support/redis-server.ts';

const M = 'ETH/USD';
const OUTAGE_MS = 30_000;

describe('a Redis that takes over', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-failover-'));
  const closing: (() => unknown)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closing.splice(0).reverse()) await close();
  };
  afterEach(closeAll);
  after(() => rmSync(folder, { recursive: true, force: true }));

  const connect = (user: string, url: string, open: typeof connectRedis = connectRedis): Redis => {
    const redis = open(asUser(user, url), 'test', () => undefined);
    closing.push(() => redis.disconnect());
    return redis;
  };
  const ready = async (redis: Redis): Promise<void> => {
    if (redis.status !== 'ready') await new Promise((resolve) => redis.once('ready', resolve));
  };
  const cluster = async (
    name: string,
  ): Promise<RedisCluster & { readonly replica: NonNullable<RedisCluster['replica']> }> => {
    const started = await startRedisCluster(join(folder, name), { replica: true });
    closing.push(() => started.stop());
    return { ...started, replica: started.replica! };
  };
  /** Promotes the replica by force, without asking the other nodes. */
  const takeOver = async (replica: { readonly url: string }): Promise<void> => {
    const redis = openRedis(replica.url);
    await redis.cluster('FAILOVER', 'TAKEOVER');
    redis.disconnect();
  };
  const engineOn = async (url: string): Promise<{ redis: Redis; engine: Engine }> => {
    const redis = connect('engine-all', url);
    await ready(redis);
    const engine = openEngine({ redis, ...LIMITS });
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 100n });
    await fund(engine, BOB, { USD: 10_000n });
    return { redis, engine };
  };
  const trade = async (engine: Engine): Promise<number> => {
    await place(engine, ALICE, limit(M, 'sell', 10, 3));
    const { trades } = await place(engine, BOB, limit(M, 'buy', 10, 3));
    return trades[0]!.tradeId;
  };

  it('is rejected by the engine until it is identified, and then opens in a new epoch', async () => {
    const { url, replica } = await cluster('promoted');
    const { redis, engine } = await engineOn(url);
    const first = await trade(engine);
    const before = { ...(await engine.reads.state()), balance: await held(engine, BOB, 'ETH') };
    await takeOver(replica);
    // The old primary answers until it learns of its demotion. Then it redirects to the new primary, and the engine
    // does not follow: the new primary must be checked first.
    await eventually('the engine is closed', async () => {
      await engine.reads.book(M, 1).catch(() => undefined);
      return !engine.lifecycle.isOpen();
    });
    expect(await codeOf(trade(engine))).to.equal('SERVICE_UNAVAILABLE');
    await ready(redis);
    expect(await codeOf(engine.lifecycle.open(undefined))).to.equal('SERVICE_UNAVAILABLE');
    await engine.lifecycle.open({ epoch: 1, sequence: before.sequence });
    expect(await engine.reads.state()).to.deep.include({ epoch: 2, sequence: before.sequence });
    expect(await held(engine, BOB, 'ETH')).to.deep.equal(before.balance);
    expect(await trade(engine))
      .to.be.above(first)
      .and.at.least(2 * 2 ** 37);
  });

  it('does not open in a cluster that may promote a replica by itself', async () => {
    const { url, nodes } = await cluster('promotes');
    const admin = openRedis(nodes[1]!.url);
    await admin.config('SET', 'cluster-replica-no-failover', 'no');
    admin.disconnect();
    const redis = connect('engine-all', url);
    await ready(redis);
    const opening = openEngine({ redis, ...LIMITS }).lifecycle.open({ epoch: 0, sequence: 0 });
    expect(await opening.catch((error: unknown) => error))
      .to.be.instanceOf(EngineMisconfigured)
      .with.property('message')
      .that.includes('cluster-replica-no-failover is no, must be yes');
  });

  it('does not open when it lacks events that Postgres has', async () => {
    const { url, replica, kill } = await cluster('behind');
    const { redis, engine } = await engineOn(url);
    await replica.kill();
    await trade(engine);
    const { epoch, sequence } = await engine.reads.state();
    await kill();
    await replica.start();
    await takeOver(replica);
    await ready(redis);
    const opened = await engine.lifecycle.open({ epoch, sequence }).catch((error: unknown) => error);
    expect(opened).to.be.instanceOf(EngineBehind);
    expect(await codeOf(trade(engine))).to.equal('SERVICE_UNAVAILABLE');
  });

  it('gets no command that waited to be sent again', async () => {
    const server = await cluster('broken');
    const redis = connect('engine-all', server.url);
    await ready(redis);
    const sent = Array.from({ length: 1_000 }, () => redis.hincrby('{redbook}:engine', 'count', 1));
    const settling = Promise.allSettled(sent);
    await server.kill();
    const outcomes = await settling;
    const answered = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect(await redis.hget('{redbook}:engine', 'count').catch((error: Error) => error)).to.be.instanceOf(
      Error,
    );
    await server.start();
    await ready(redis);
    // An unanswered command may have run, but only once.
    expect(Number(await redis.hget('{redbook}:engine', 'count'))).to.be.within(answered, sent.length);
  });

  const heal = async (url: string, fail: () => Promise<unknown>): Promise<void> => {
    const [api, stream, snapshot] = ['queue-api', 'queue-stream', 'queue-snapshot'].map((user) =>
      connect(user, url),
    ) as [Redis, Redis, Redis];
    const subscriber = (user: string): Redis => connect(user, url, connectSubscriber);
    const publisher = openPublisher({ redis: snapshot, subscriber: subscriber('queue-snapshot') });
    const follower = openFollower({ redis: stream, subscriber: subscriber('queue-stream') });
    closing.push(() => [publisher.close(), follower.close()]);
    await Promise.all([api, stream, snapshot].map(ready));

    let runs = 0;
    let frames = 0;
    let tick = 0;
    const tell = (): void => undefined;
    const run = async (): Promise<void> => {
      runs += 1;
    };
    const connection = queueConnection(asUser('queue-settlement', url));
    const worker = openSettlementWorker({ connection, run, tell });
    const wakeUps = openWakeUps({ connection: queueConnection(asUser('queue-api', url)), tell });
    closing.push(() => Promise.all([worker.close(), wakeUps.close()]));
    follower.follow(GENERAL, () => {
      frames += 1;
    });
    const view = { symbol: M, timeframe: '1m' } as const;
    follower.follow(marketChannel(view), () => undefined);
    const count = openRequestLogs({ redis: api, windowMs: 60_000, logger: pino({ level: 'silent' }) })([
      1_000 - 1,
    ]);
    const works = async (): Promise<void> => {
      const limited = async (): Promise<boolean> =>
        count(['{redbook}:limit:test']).then(
          ({ counted }) => counted,
          () => false,
        );
      await eventually('requests are counted', limited, OUTAGE_MS);
      const framesBefore = frames;
      const runsBefore = runs;
      await eventually(
        'frames arrive',
        async () => {
          tick += 1;
          const publishing = publisher
            .claim()
            .then(() => publisher.publish(GENERAL, writeMessage(tick, ['{}'])));
          await publishing.catch(() => undefined);
          return frames > framesBefore;
        },
        OUTAGE_MS,
      );
      const watched = async (): Promise<unknown> => publisher.watched().catch(() => undefined);
      await eventually(
        'publishers see who watches',
        async () => JSON.stringify(await watched()) === JSON.stringify([view]),
        OUTAGE_MS,
      );
      await eventually(
        'settlement is woken',
        async () => {
          wakeUps.wake();
          return runs > runsBefore;
        },
        OUTAGE_MS,
      );
    };
    await works();
    await fail();
    await works();
  };

  it('serves limits, frames and wake-ups in a cluster', async () => {
    const { url, replica } = await cluster('healing');
    await heal(url, () => takeOver(replica));
  });
});
