/** Proves that the settlement queue wakes its worker, ticks by itself, and survives the loss of its Redis. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { at, closeAll } from '../../src/queue/connection.ts';
import { openSettlementWorker, openWakeUps, type WakeUps } from '../../src/queue/index.ts';
import { queueConnection } from '../../src/redis/connections.ts';
import { eventually } from '../support/eventually.ts';
import { asUser, openRedis, type RedisServer } from '../support/redis-server.ts';
import { freshRedisServer } from '../support/servers.ts';

describe('queue', function () {
  this.timeout(60_000);
  const opened: { close(): Promise<void> }[] = [];
  let redis: RedisServer;
  let inspector: Redis;

  const wakeUps = (): WakeUps => {
    const wakes = openWakeUps({ connection: queueConnection(asUser('queue-settlement', redis.url)) });
    opened.push(wakes);
    return wakes;
  };

  /** A worker that counts its runs, each of which takes `runMs`. */
  const worker = (runMs = 0) => {
    const seen = { runs: 0, at: 0, most: 0, stop: async (): Promise<void> => {} };
    const handle = openSettlementWorker({
      connection: queueConnection(asUser('queue-settlement', redis.url)),
      run: async () => {
        seen.runs += 1;
        seen.at += 1;
        seen.most = Math.max(seen.most, seen.at);
        await sleep(runMs);
        seen.at -= 1;
      },
    });
    opened.push(handle);
    seen.stop = () => handle.close();
    return seen;
  };

  const exists = async (key: string): Promise<boolean> => (await inspector.exists(key)) === 1;

  /** True if a wake-up right after a run starts another run, before the ticker would a second later. */
  const isWoken = async (wakes: WakeUps, seen: ReturnType<typeof worker>): Promise<boolean> => {
    // A busy machine may delay some rounds, and the first may begin right before a tick.
    for (let round = 0; round < 20; round += 1) {
      const { runs } = seen;
      const startedMs = Date.now();
      wakes.wake();
      await eventually('it runs', () => seen.runs > runs);
      if (round > 0 && Date.now() - startedMs < 700) return true;
    }
    return false;
  };

  beforeEach(async () => {
    redis = await freshRedisServer();
    inspector = openRedis(redis.url);
    inspector.on('error', () => {});
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()));
    inspector.disconnect();
    await redis.stop();
  });

  it('keeps one job however often and by however many replicas it is requested', async () => {
    const replicas = [wakeUps(), wakeUps(), wakeUps()];
    for (let round = 0; round < 20; round += 1) {
      for (const replica of replicas) for (let times = 0; times < 100; times += 1) replica.wake();
      await sleep(20);
    }
    await eventually('it waits', async () => (await replicas[0]!.counts()).waiting === 1);
    expect(await replicas[0]!.counts()).to.include({ waiting: 1, active: 0, delayed: 0 });
    const job = await inspector.keys('{redbook}:settlement:[0-9]*');
    expect(job).to.have.length(1);
    expect(await inspector.hget(job[0]!, 'data')).to.equal('{}');
    for (const key of await inspector.keys('*')) expect(key).to.match(/^\{redbook\}:/);
  });

  it('wakes a worker at once, and keeps nothing of finished jobs', async () => {
    const seen = worker();
    const wakes = wakeUps();
    await eventually('the ticker stands', () => seen.runs > 0);
    for (let times = 0; times < 5; times += 1) expect(await isWoken(wakes, seen)).to.equal(true);
    expect(await wakes.counts()).to.include({ completed: 0, failed: 0 });
  });

  it('runs again for a wake-up during a run, and never twice at the same time', async () => {
    const seen = worker(100);
    const wakes = wakeUps();
    const asking = setInterval(() => wakes.wake(), 25);
    // The ticker alone would need 20 seconds.
    await eventually('it ran again and again', () => seen.runs >= 20, 15_000).finally(() =>
      clearInterval(asking),
    );
    await eventually('all runs are over', () => seen.at === 0);
    expect(seen.most).to.equal(1);
  });

  it('wakes its worker every second', async () => {
    const seen = worker();
    // The plain timer starts two seconds after a run.
    const ticked = async (): Promise<boolean> => {
      const { runs } = seen;
      await eventually('it runs', () => seen.runs > runs);
      const startedMs = Date.now();
      await eventually('it runs', () => seen.runs > runs + 1);
      return Date.now() - startedMs < 1_500;
    };
    await eventually('one run comes a second after another', ticked);
  });

  it('recovers when its queue is wiped', async () => {
    const seen = worker();
    await eventually('the ticker stands', () => seen.runs > 0);
    await inspector.flushall();
    const { runs } = seen;
    await eventually('the plain timer runs it', () => seen.runs > runs);
    await eventually('the ticker is back', () => exists('{redbook}:settlement:repeat:ticker'));

    // The scheduler exists but its next job does not: a half-created ticker.
    await eventually('its next job is there', () => exists('{redbook}:settlement:delayed'));
    await inspector.del('{redbook}:settlement:delayed');
    await eventually('its next job is back', () => exists('{redbook}:settlement:delayed'));
    const after = seen.runs;
    await eventually('it ticks', () => seen.runs >= after + 3);
  });

  it('runs without its Redis, and uses it again when it is back', async () => {
    const seen = worker();
    const wakes = wakeUps();
    await eventually('the ticker stands', () => seen.runs > 0);
    await redis.kill();
    const { runs } = seen;
    for (let times = 0; times < 1_000; times += 1) wakes.wake();
    await eventually('the plain timer runs it', () => seen.runs > runs);
    await redis.start();
    expect(await isWoken(wakes, seen)).to.equal(true);
  });

  it('closes when its Redis never answered', async () => {
    await redis.kill();
    const seen = worker();
    const wakes = wakeUps();
    wakes.wake();
    await eventually('the plain timer runs it', () => seen.runs > 0);
    expect(await wakes.counts().catch((error) => error)).to.be.instanceOf(Error);
  });

  it('closes when its Redis is away', async () => {
    const seen = worker();
    const wakes = wakeUps();
    await eventually('the ticker stands', () => seen.runs > 0);
    await redis.kill();
    wakes.wake();
    await sleep(200);
    await Promise.all([seen.stop(), wakes.close()]);
    const { runs } = seen;
    await sleep(2_200);
    expect(seen.runs).to.equal(runs);
  });

  it('closes when its Redis goes away while a job ends', async () => {
    const connection = queueConnection(asUser('queue-settlement', redis.url));
    const queue = new Queue('settlement', at(connection));
    let isBegun = false;
    let endJob = (): void => {};
    const job = new Promise<void>((resolve) => {
      endJob = resolve;
    });
    const work = (): Promise<void> => {
      isBegun = true;
      return job;
    };
    const bullWorker = new Worker('settlement', work, at(connection));
    queue.on('error', () => {});
    bullWorker.on('error', () => {});
    await queue.add('wake-up', {});
    await eventually('the job runs', () => isBegun);
    const closed = closeAll(queue, bullWorker);
    await eventually('the worker waits for its job', () => bullWorker.closing !== undefined);
    await redis.kill();
    endJob();
    await closed;
  });
});
