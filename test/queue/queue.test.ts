/** Proves that the settlement queue wakes its worker, also by a timer, and survives the loss of its Redis. */

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
import { sideBySide } from '../support/side-by-side.ts';

/** A Redis of one scenario, and what uses it. */
interface Room {
  readonly redis: RedisServer;
  readonly inspector: Redis;
  /** Jobs carry the number of the last wake-up, by which runs tell them from the timer. */
  wakeUps(): WakeUps & { sent: { count: number } };
  /** A worker that counts its runs, each of which takes `runMs`. */
  worker(runMs?: number): Seen;
  exists(key: string): Promise<boolean>;
  close(): Promise<void>;
}

interface Seen {
  runs: number;
  woken: number;
  lastWoken: string;
  at: number;
  max: number;
  stop(): Promise<void>;
}

async function openRoom(): Promise<Room> {
  const redis = await freshRedisServer();
  const inspector = openRedis(redis.url);
  inspector.on('error', () => {});
  const opened: { close(): Promise<void> }[] = [];
  return {
    redis,
    inspector,
    wakeUps() {
      const sent = { count: 0 };
      const wakes = openWakeUps({
        connection: queueConnection(asUser('queue-settlement', redis.url)),
        placeHere: () => ({ traceparent: `${sent.count}` }),
      });
      opened.push(wakes);
      return { ...wakes, sent };
    },
    worker(runMs = 0) {
      const seen = { runs: 0, woken: 0, lastWoken: '', at: 0, max: 0, stop: async (): Promise<void> => {} };
      const handle = openSettlementWorker({
        connection: queueConnection(asUser('queue-settlement', redis.url)),
        run: async ({ traceparent }) => {
          seen.runs += 1;
          if (traceparent !== undefined) {
            seen.woken += 1;
            seen.lastWoken = traceparent;
          }
          seen.at += 1;
          seen.max = Math.max(seen.max, seen.at);
          await sleep(runMs);
          seen.at -= 1;
        },
      });
      opened.push(handle);
      seen.stop = () => handle.close();
      return seen;
    },
    exists: async (key) => (await inspector.exists(key)) === 1,
    async close() {
      await Promise.all(opened.map((one) => one.close()));
      inspector.disconnect();
      await redis.stop();
    },
  };
}

const inRoom = (scenario: (room: Room) => Promise<void>) => async (): Promise<void> => {
  const room = await openRoom();
  try {
    await scenario(room);
  } finally {
    await room.close();
  }
};

/** Wakes the worker, and waits until this wake-up has run it. */
async function untilWoken(wakes: ReturnType<Room['wakeUps']>, seen: Seen): Promise<void> {
  wakes.sent.count += 1;
  wakes.wake();
  await eventually('the wake-up runs it', () => seen.lastWoken === `${wakes.sent.count}`);
}

describe('queue', () => {
  /** Timers and connections that keep this process alive. */
  const held = (): number =>
    process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout' || kind === 'TCPSocketWrap').length;
  /** Those of mocha, and of files that ran in this process before. */
  let others = 0;
  before(() => {
    others = held();
  });
  after(() => eventually('no timer or connection is left', () => held() <= others));

  sideBySide({
    'keeps one job however often and by however many replicas it is requested': inRoom(
      async ({ inspector, wakeUps }) => {
        const replicas = [wakeUps(), wakeUps(), wakeUps()];
        for (let round = 0; round < 20; round += 1) {
          for (const replica of replicas) for (let times = 0; times < 100; times += 1) replica.wake();
          await sleep(20);
        }
        await eventually('it waits', async () => (await replicas[0]!.counts()).waiting === 1);
        expect(await replicas[0]!.counts()).to.include({ waiting: 1, active: 0, delayed: 0 });
        const job = await inspector.keys('{redbook}:settlement:[0-9]*');
        expect(job).to.have.length(1);
        expect(await inspector.hget(job[0]!, 'data')).to.equal('{"traceparent":"0"}');
        for (const key of await inspector.keys('*')) expect(key).to.match(/^\{redbook\}:/);
      },
    ),

    'wakes a worker each time, and keeps nothing of finished jobs': inRoom(async ({ wakeUps, worker }) => {
      const seen = worker();
      const wakes = wakeUps();
      for (let times = 0; times < 5; times += 1) await untilWoken(wakes, seen);
      expect(await wakes.counts()).to.include({ completed: 0, failed: 0 });
    }),

    'runs again for a wake-up during a run, and never twice at the same time': inRoom(
      async ({ wakeUps, worker }) => {
        const seen = worker(100);
        const wakes = wakeUps();
        const asking = setInterval(() => wakes.wake(), 25);
        await eventually('wake-ups run it again and again', () => seen.woken >= 20).finally(() =>
          clearInterval(asking),
        );
        await eventually('all runs are over', () => seen.at === 0);
        expect(seen.max).to.equal(1);
      },
    ),

    'wakes its worker every second': inRoom(async ({ inspector, worker }) => {
      const seen = worker();
      const timer = (field: string) => inspector.hget('{redbook}:settlement:repeat:timer', field);
      await eventually(
        'jobs of the timer run it',
        async () => Number(await timer('ic')) > 2 && seen.runs > 2,
      );
      expect(await timer('every')).to.equal('1000');
    }),

    'recovers when its queue is wiped': inRoom(async ({ inspector, worker, exists }) => {
      const seen = worker();
      await eventually('the timer stands', () => seen.runs > 0);
      await inspector.flushall();
      const { runs } = seen;
      await eventually('the plain timer runs it', () => seen.runs > runs);
      await eventually('the timer is back', () => exists('{redbook}:settlement:repeat:timer'));

      // The scheduler exists but its next job does not: a half-created timer.
      await eventually('its next job is there', () => exists('{redbook}:settlement:delayed'));
      await inspector.del('{redbook}:settlement:delayed');
      await eventually('its next job is back', () => exists('{redbook}:settlement:delayed'));
      const after = seen.runs;
      await eventually('it runs', () => seen.runs >= after + 3);
    }),

    'runs without its Redis, and uses it again when it is back': inRoom(
      async ({ redis, wakeUps, worker }) => {
        const seen = worker();
        const wakes = wakeUps();
        await eventually('the timer stands', () => seen.runs > 0);
        await redis.kill();
        const { runs } = seen;
        for (let times = 0; times < 1_000; times += 1) wakes.wake();
        await eventually('the plain timer runs it', () => seen.runs > runs);
        await redis.start();
        // A job of an earlier wake-up may still wait, and stands for this one.
        wakes.sent.count += 1;
        await eventually('wake-ups run it', () => {
          wakes.wake();
          return seen.lastWoken === `${wakes.sent.count}`;
        });
      },
    ),

    'closes when its Redis never answered': inRoom(async ({ redis, wakeUps, worker }) => {
      await redis.kill();
      const seen = worker();
      const wakes = wakeUps();
      wakes.wake();
      await eventually('the plain timer runs it', () => seen.runs > 0);
      expect(await wakes.counts().catch((error) => error)).to.be.instanceOf(Error);
    }),

    'closes when its Redis is away': inRoom(async ({ redis, wakeUps, worker }) => {
      const seen = worker();
      const wakes = wakeUps();
      await eventually('the timer stands', () => seen.runs > 0);
      await redis.kill();
      wakes.wake();
      await sleep(200);
      await Promise.all([seen.stop(), wakes.close()]);
      const { runs } = seen;
      await sleep(2_200);
      expect(seen.runs).to.equal(runs);
    }),

    'closes when its Redis goes away while a job ends': inRoom(async ({ redis }) => {
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
      // BullMQ cannot abort a close that began: its timers end with the process. This worker has none.
      const withoutTimers = { skipLockRenewal: true, skipStalledCheck: true };
      const bullWorker = new Worker('settlement', work, { ...at(connection), ...withoutTimers });
      queue.on('error', () => {});
      bullWorker.on('error', () => {});
      await queue.add('wake-up', {});
      await eventually('the job runs', () => isBegun);
      const closed = closeAll(queue, bullWorker);
      await eventually('the worker waits for its job', () => bullWorker.closing !== undefined);
      await redis.kill();
      endJob();
      await closed;
    }),
  });
});
