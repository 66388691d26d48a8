/**
 * Proves that the snapshot worker writes one frame per beat for each stream, and that only one of several workers does
 * so at a time.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { BEAT_MS } from '../../src/domain/beat.ts';
import { type FrameFollower, openFollower, openPublisher, writeMessage } from '../../src/feed/index.ts';
import { BEATS, GENERAL, marketChannel } from '../../src/feed/keys.ts';
import { readMessage } from '../../src/feed/message.ts';
import type { MarketData } from '../../src/market-data/index.ts';
import { openBeatTimer } from '../../src/queue/index.ts';
import { connectRedis, connectSubscriber, queueConnection } from '../../src/redis/connections.ts';
import type { Backends } from '../../src/roles/backends.ts';
import { createSnapshots, type Snapshots } from '../../src/workers/snapshot.ts';
import { openStreamFixture, type StreamFixture } from '../stream/fixture.ts';
import { eventually } from '../support/eventually.ts';
import { copyOf, putBack } from '../support/redis-copy.ts';
import { asUser, openRedis } from '../support/redis-server.ts';
import { freshRedis } from '../support/servers.ts';
import { settleAll } from '../support/settle-all.ts';
import { sideBySide } from '../support/side-by-side.ts';

const log = pino({ level: 'silent' });

interface Heard {
  readonly channel: string;
  readonly beat: number;
  readonly text: string;
  readonly atMs: number;
}

/** A feed for one scenario. */
interface Room {
  readonly redisUrl: string;
  readonly redis: Redis;
  /** Starts a worker, optionally with replaced methods of its market data. */
  worker(marketData?: Partial<MarketData>): Snapshots;
  follower(): FrameFollower;
  /** Records the raw messages of the channels. */
  hear(...channels: string[]): Promise<Heard[]>;
  closing: (() => unknown)[];
}

/** Waits for at least `count` frames. Tests check themselves that there are no more. */
const heardOf = (heard: readonly unknown[], count: number): Promise<void> =>
  eventually(`${count} frames have come`, async () => heard.length >= count);

const beatNow = (): number => Math.floor(Date.now() / BEAT_MS);

const untilBeatBegins = (): Promise<void> => sleep(BEAT_MS - (Date.now() % BEAT_MS) + 20);

async function openRoom({ engine, ledger, marketData: real }: Backends): Promise<Room> {
  const redisUrl = await freshRedis();
  const closing: (() => unknown)[] = [];
  const connect = async (open: typeof connectRedis, url: string): Promise<Redis> => {
    const redis = open(url, 'test', () => undefined);
    closing.push(() => redis.disconnect());
    if (redis.status !== 'ready') await new Promise((resolve) => redis.once('ready', resolve));
    return redis;
  };
  const redis = await connect(connectRedis, redisUrl);
  const [worker, replica] = ['queue-snapshot', 'queue-stream'].map((user) => asUser(user, redisUrl)) as [
    string,
    string,
  ];
  const publishing = await connect(connectRedis, worker);
  const asking = await connect(connectRedis, replica);
  const subscriber = (url: string): Redis => {
    const opened = connectSubscriber(url, 'test', () => undefined);
    closing.push(() => opened.disconnect());
    return opened;
  };
  return {
    redisUrl,
    redis,
    closing,
    worker(marketData = {}) {
      const publisher = openPublisher({ redis: publishing, subscriber: subscriber(worker) });
      closing.push(() => publisher.close());
      return createSnapshots({ engine, ledger, log, publisher, marketData: { ...real, ...marketData } });
    },
    follower() {
      const opened = openFollower({ redis: asking, subscriber: subscriber(replica) });
      closing.push(() => opened.close());
      return opened;
    },
    async hear(...channels) {
      const heard: Heard[] = [];
      const listening = await connect(connectSubscriber, redisUrl);
      listening.on('messageBuffer', (channel: Buffer, message: Buffer) => {
        const { beat, frames } = readMessage(message)!;
        heard.push({ channel: channel.toString(), beat, text: frames.join('\n'), atMs: Date.now() });
      });
      await listening.subscribe(...channels);
      return heard;
    },
  };
}

const LAST_BEAT = Number.MAX_SAFE_INTEGER;
const BEAT_JOBS = '{redbook}:snapshot';
/** The longest time of a timer. */
const NEVER_MS = 2 ** 31 - 1_000;

/** Starts workers by jobs and timers, and counts their beats. @param replaced parts of what each beat returns */
function beatWith(
  room: Room,
  workers: readonly Snapshots[],
  replaced: { readonly untilNextMs?: number } = {},
): { readonly count: number } {
  const taken = { count: 0 };
  for (const one of workers) {
    const timer = openBeatTimer({
      connection: queueConnection(asUser('queue-snapshot', room.redisUrl)),
      async beat() {
        const outcome = await one.beat().catch(() => ({ taken: false, untilNextMs: BEAT_MS }));
        if (outcome.taken) taken.count += 1;
        return { ...outcome, ...replaced };
      },
    });
    room.closing.push(() => timer.close());
  }
  return taken;
}

/** Returns the times of the jobs that wait for theirs, in Unix milliseconds. */
async function jobTimes({ redis }: Room): Promise<number[]> {
  const waiting = await redis.zrange(`${BEAT_JOBS}:delayed`, '0', '-1');
  return waiting.map((id) => Number(id.split(':').at(-1)));
}

async function usingRoom(backends: Backends, scenario: (room: Room) => Promise<void>): Promise<void> {
  const room = await openRoom(backends);
  try {
    await scenario(room);
  } finally {
    for (const close of room.closing.reverse()) await close();
  }
}

describe('frames of the snapshot workers', () => {
  let exchange: StreamFixture;

  before(async () => {
    exchange = await openStreamFixture();
    await exchange.quote('buy', '1999', '1');
    await exchange.quote('sell', '2001', '1');
    await exchange.take('buy', '0.5');
  });
  after(() => exchange.close());

  const inRoom = (scenario: (room: Room) => Promise<void>) => (): Promise<void> =>
    usingRoom(exchange.backends, scenario);

  sideBySide({
    'are built once a beat by one of all workers, however often these are woken': inRoom(async (room) => {
      const heard = await room.hear(GENERAL);
      const workers = Array.from({ length: 4 }, () => room.worker());
      const begun = beatNow();
      let taken = 0;
      for (; taken < 3; await sleep(10)) {
        const outcome = await Promise.all(workers.flatMap((one) => [one.beat(), one.beat()]));
        taken += outcome.filter((one) => one.taken).length;
      }
      expect(taken).to.be.at.most(beatNow() - begun + 1);
      await heardOf(heard, taken);
      const beats = heard.map(({ beat }) => beat);
      expect(beats).to.have.length(taken);
      expect(new Set(beats).size).to.equal(taken);
      expect(beats).to.deep.equal(beats.toSorted((one, other) => one - other));
    }),

    'continue when a worker is stuck in the middle of a beat': inRoom(async (room) => {
      const heard = await room.hear(GENERAL);
      const other = room.worker();
      /** Returns a worker that is stuck in a beat, and if another one can take the same beat. */
      const getStuck = async () => {
        await untilBeatBegins();
        const beat = beatNow();
        let isAsked = false;
        const stuck = room.worker({
          figures: () => {
            isAsked = true;
            return new Promise(() => undefined);
          },
        });
        void stuck.beat();
        await eventually('it is stuck', () => isAsked);
        const { taken } = await other.beat();
        return { stuck, taken, isOneBeat: beatNow() === beat };
      };
      let attempt = await getStuck();
      while (!attempt.isOneBeat) attempt = await getStuck();
      const { stuck, taken } = attempt;
      expect(taken).to.equal(false);
      heard.length = 0;
      await untilBeatBegins();
      expect(await stuck.beat()).to.include({ taken: false });
      expect(await other.beat()).to.include({ taken: true });
      await heardOf(heard, 1);
      expect(heard).to.have.length(1);
    }),

    'continue when the clock of Redis is set back, and when Redis loses its data': inRoom(async (room) => {
      const heard = await room.hear(GENERAL);
      const one = room.worker();
      const ahead = beatNow() + 1_000_000;
      const { redis } = room;
      await redis.hset(BEATS, { slot: ahead, beat: ahead });
      await untilBeatBegins();
      await one.beat();
      await untilBeatBegins();
      await one.beat();
      await redis.flushall();
      const emptied = beatNow();
      await one.beat();
      await heardOf(heard, 3);
      const [first = 0, second, third] = heard.map(({ beat }) => beat);
      expect([first, second]).to.deep.equal([ahead + 1, ahead + 2]);
      expect(third).to.be.within(emptied, beatNow());
    }),

    'cost one read of each watched market a beat': inRoom(async (room) => {
      const { marketData } = exchange.backends;
      const reads: string[] = [];
      const counting = room.worker({
        book: (symbol) => {
          reads.push(`book ${symbol}`);
          return marketData.book(symbol);
        },
        trades: (symbol, filter) => {
          reads.push(`trades ${symbol} ${filter.limit}`);
          return marketData.trades(symbol, filter);
        },
      });
      const channels = (['1m', '5m', '1D'] as const).map((timeframe) =>
        marketChannel({ symbol: 'ETH/USDC', timeframe }),
      );
      const heard = await room.hear(GENERAL, ...channels);
      await untilBeatBegins();
      await counting.beat();
      await heardOf(heard, 1 + channels.length);
      expect(reads.sort()).to.deep.equal(['book ETH/USDC', 'trades ETH/USDC 60']);
      expect(heard.map(({ channel }) => channel)).to.have.members([GENERAL, ...channels]);
    }),

    'are sent again to a replica that begins to watch, and built for it alone when nobody watched': inRoom(
      async (room) => {
        const building = room.worker();
        await room.hear(GENERAL);
        const view = marketChannel({ symbol: 'ETH/USDC', timeframe: '1W' });
        /** Returns the frames of one beat that two followers get, fewer if the beat ended before they had them. */
        const followedIn = async (channel: string): Promise<string[]> => {
          await untilBeatBegins();
          await building.beat();
          const beat = beatNow();
          const seen: string[] = [];
          const followers: FrameFollower[] = [];
          for (const count of [1, 2]) {
            const follower = room.follower();
            follower.follow(channel, (frames) => seen.push(frames.join('\n')));
            const isDone = (): boolean => seen.length >= count || beatNow() !== beat;
            await eventually('the frame is sent again, or its beat is over', isDone);
            followers.push(follower);
            await exchange.take('sell', '0.001'); // what is shown of a beat is what it was at first
          }
          for (const follower of followers) follower.leave(channel);
          return seen;
        };
        for (const channel of [GENERAL, view]) {
          let texts = await followedIn(channel);
          while (texts.length < 2) texts = await followedIn(channel);
          expect(texts).to.deep.equal([texts[0], texts[0]]);
        }
      },
    ),

    'of other markets are sent when one market cannot be read': inRoom(async (room) => {
      const { marketData } = exchange.backends;
      const [whole, broken] = (['ETH/USDC', 'BTC/USDC'] as const).map((symbol) =>
        marketChannel({ symbol, timeframe: '1m' }),
      );
      const heard = await room.hear(GENERAL, whole!, broken!);
      const one = room.worker({
        trades: async (symbol, filter) => {
          if (symbol === 'BTC/USDC') throw new Error('no trades today');
          return marketData.trades(symbol, filter);
        },
      });
      await untilBeatBegins();
      await one.beat();
      await heardOf(heard, 2);
      expect(heard.map(({ channel }) => channel)).to.have.members([GENERAL, whole]);
    }),

    'are not built from a server that took over older data': async () => {
      const own = await openStreamFixture();
      const redis = openRedis(own.environment.REDIS_URL!);
      await usingRoom(own.backends, async (room) => {
        room.closing.push(own.close, () => redis.disconnect());
        await own.quote('buy', '1999', '1');
        const older = await copyOf(redis);
        await own.quote('buy', '2000', '1');
        await settleAll(own.backends);
        const newer = await copyOf(redis);
        const view = marketChannel({ symbol: 'ETH/USDC', timeframe: '1m' });
        const real = own.backends.marketData;
        const onOlder =
          <Asked extends unknown[], Read>(read: (...asked: Asked) => Promise<Read>) =>
          async (...asked: Asked): Promise<Read> => {
            await putBack(redis, older);
            return read(...asked);
          };
        const { lifecycle } = own.backends.engine;
        const outcome = async (replaced: Partial<MarketData>): Promise<string[]> => {
          const frames = await room.hear(GENERAL, view);
          await putBack(redis, newer);
          await eventually('the engine is open', async () => lifecycle.isOpen());
          await untilBeatBegins();
          expect(await room.worker(replaced).beat()).to.include({ taken: true });
          // All that was published before has come when this has.
          await room.redis.publish(GENERAL, writeMessage(LAST_BEAT, []));
          await eventually('the last message has come', () => frames.at(-1)?.beat === LAST_BEAT);
          return frames.slice(0, -1).map(({ channel }) => channel);
        };
        expect(await outcome({ book: onOlder(real.book) })).to.deep.equal([GENERAL]);
        expect(await outcome({ figures: onOlder(real.figures) })).to.deep.equal([]);
        expect(await outcome({})).to.deep.equal([GENERAL, view]);
      });
    },

    'reach a follower in order, none twice, also from a late worker': inRoom(async (room) => {
      const follower = room.follower();
      const seen: string[] = [];
      follower.follow(GENERAL, (frames) => seen.push(frames.join('+')));
      await eventually('it follows', async () => (await room.redis.pubsub('NUMSUB', GENERAL))[1] === 1);
      const messages = [
        writeMessage(100, ['a', 'b']),
        writeMessage(101, ['c']),
        '',
        'garbage',
        'NaN\ngarbage',
        '-3\ngarbage',
        `${10 ** 20}\ngarbage`,
        writeMessage(101, ['late']),
        writeMessage(99, ['later']),
        writeMessage(102, []),
        writeMessage(7, ['anew']),
        writeMessage(8, ['on']),
      ];
      for (const message of messages) await room.redis.publish(GENERAL, message);
      await eventually('the last has come', async () => seen.at(-1) === 'on');
      expect(seen).to.deep.equal(['a+b', 'c', '', 'anew', 'on']);
    }),

    'are started by jobs at even seconds, also when Redis answered late': inRoom(async (room) => {
      // The first connections wait until an even second has passed.
      await room.redis.call('CLIENT', 'PAUSE', `${BEAT_MS + 100}`);
      // No timer of these workers ever ends.
      const taken = beatWith(room, [room.worker(), room.worker()], { untilNextMs: NEVER_MS });
      // Each worker begins one beat as it opens.
      await eventually('jobs begin beats', () => taken.count >= 4);
      await eventually('a job waits', async () => (await jobTimes(room)).length > 0);
      expect((await jobTimes(room)).map((timeMs) => timeMs % BEAT_MS)).to.deep.equal([0]);
    }),

    'are started by timers when no job comes': inRoom(async (room) => {
      await room.redis.hset(`${BEAT_JOBS}:meta`, 'paused', 1);
      const taken = beatWith(room, [room.worker()]);
      await eventually('timers begin beats', () => taken.count >= 3);
      // The next job was lost, and nobody knows of it.
      await room.redis
        .multi()
        .del(`${BEAT_JOBS}:delayed`, `${BEAT_JOBS}:wait`)
        .hdel(`${BEAT_JOBS}:meta`, 'paused')
        .exec();
      await eventually('jobs are scheduled again', async () => (await jobTimes(room)).length > 0);
    }),
  });
});
