/** The log that request limits count in: against a naive one over simulated time, and what it weighs. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { type CountRequest, openRequestLog } from '../../src/http/limits/request-log.ts';
import { loadScript, runScript, scriptOf } from '../../src/scripts/index.ts';
import { random, seedOf } from '../support/seed.ts';
import { freshRedis } from '../support/servers.ts';

const WINDOW_MS = 60_000;

describe('request log', () => {
  let url: string;
  let redis: Redis;

  before(async () => {
    url = await freshRedis();
    redis = new Redis(url);
  });

  after(() => redis.disconnect());

  const open = (windowMs = WINDOW_MS, connection = redis): CountRequest =>
    openRequestLog({ redis: connection, windowMs, logger: pino({ level: 'silent' }) });

  describe('over simulated time', () => {
    /** The script as it is, but for where it reads the clock. */
    const { source } = loadScript('count_request');
    const simulated = scriptOf(
      'simulated',
      source.replace("local time = call('TIME')", 'local time = { ARGV[#ARGV - 1], ARGV[#ARGV] }'),
    );

    const countAt = async (atUs: number, logs: readonly string[], limits: readonly number[]) => {
      const time = [Math.floor(atUs / 1e6), atUs % 1e6];
      return Number(await runScript(redis, simulated, logs, [WINDOW_MS, 2 * WINDOW_MS, ...limits, ...time]));
    };

    /** Every time ever counted, looked through from the first, each time. */
    class NaiveLogs {
      readonly #times = new Map<string, number[]>();

      count(nowMs: number, logs: readonly string[], limits: readonly number[]): number {
        const views = logs.map((log, index) => {
          const live = (this.#times.get(log) ?? []).filter((timeMs) => nowMs - timeMs < WINDOW_MS);
          const waitMs = live.length === 0 ? WINDOW_MS : live[0]! + WINDOW_MS - nowMs;
          return { room: limits[index]! - live.length, waitMs };
        });
        const [tightest] = views.sort((one, other) => one.room - other.room || other.waitMs - one.waitMs);
        const { room, waitMs } = tightest!;
        const resets = Math.ceil((nowMs + waitMs) / 1000) * 1000;
        if (room < 1) return -(resets + Math.ceil(waitMs / 1000));
        for (const log of logs) this.#times.set(log, [...(this.#times.get(log) ?? []), nowMs]);
        return resets + room - 1;
      }
    }

    it('counts what a naive log counts', async () => {
      expect(simulated.source).to.not.equal(source);
      const dice = random(seedOf('request log'));
      const naive = new NaiveLogs();
      let nowUs = 1_800_000_000_000_000 + dice.below(1e9);
      const refused = [0, 0];
      for (let round = 0; round < 6_000; round += 1) {
        // Bursts, drips near the limit's pace, and pauses of up to three windows.
        const pauseUs = dice.chance(0.6) ? dice.below(5_000) : dice.chance(0.98) ? 4e6 : 180e6;
        nowUs += dice.below(pauseUs) + 1;
        const client = dice.below(4);
        const logs = client < 2 ? [`one ${client}`] : [`two ${client}`, 'ceiling'];
        const limits = client < 2 ? [20] : [7, 10];
        const expected = naive.count(Math.floor(nowUs / 1000), logs, limits);
        expect(await countAt(nowUs, logs, limits), `round ${round}`).to.equal(expected);
        if (expected < 0) refused[logs.length - 1]! += 1;
      }
      expect(Math.min(...refused)).to.be.above(100);
    });

    it('opens in the very millisecond in which the oldest request leaves', async () => {
      const atUs = 1_800_000_000_000_999;
      for (let index = 0; index < 3; index += 1) await countAt(atUs + index * 1_000, ['edge'], [3]);
      const leavesUs = 1_800_000_060_000_000;
      expect(await countAt(leavesUs - 1, ['edge'], [3])).to.equal(-(1_800_000_060_000 + 1));
      expect(await countAt(leavesUs, ['edge'], [3])).to.equal(1_800_000_061_000);
      expect(await countAt(leavesUs, ['edge'], [3])).to.be.below(0);
    });

    it('forgets, rather than shuts out, when the clock steps back', async () => {
      const atUs = 1_800_000_000_000_000;
      for (const backUs of [1_000_000, 30e6, 600e6, 86_400e6]) {
        const log = `back ${backUs}`;
        for (let index = 0; index < 5; index += 1) await countAt(atUs + index, [log], [5]);
        expect(await countAt(atUs + 10, [log], [5])).to.be.below(0);
        expect(await countAt(atUs - backUs, [log], [5])).to.equal((atUs - backUs) / 1000 + WINDOW_MS + 4);
      }
    });
  });

  it('gives exactly as many places as there are, to however many ask at once', async () => {
    const connections = [new Redis(url), new Redis(url), new Redis(url)];
    const counters = connections.map((connection) => open(WINDOW_MS, connection));
    const counts = await Promise.all(
      Array.from({ length: 900 }, (_none, index) => counters[index % 3]!(['shared'], [300])),
    );
    const left = counts.filter(({ counted }) => counted).map(({ remaining }) => remaining);
    expect(left.sort((one, other) => one - other)).to.deep.equal(
      Array.from({ length: 300 }, (_none, n) => n),
    );
    for (const connection of connections) connection.disconnect();
  });

  it('counts in all logs or in none', async () => {
    const count = open();
    for (let index = 0; index < 3; index += 1) await count(['session a', 'address'], [3, 4]);
    expect(await count(['session a', 'address'], [3, 4])).to.include({ counted: false, remaining: 0 });
    expect(await count(['session b', 'address'], [3, 4])).to.include({ counted: true, remaining: 0 });
    const { counted, retryAfterSeconds } = await count(['session b', 'address'], [3, 4]);
    expect([counted, retryAfterSeconds]).to.deep.equal([false, 60]);
    expect(await count(['session b'], [3])).to.include({ counted: true, remaining: 1 });
  });

  it('weighs at most 2 KB for 300 requests, new or old', async () => {
    const windowMs = 300;
    const count = open(windowMs);
    for (let index = 0; index < 300; index += 1) await count(['heavy'], [300]);
    expect(await redis.memory('USAGE', 'heavy')).to.be.below(2_100);
    // Places leave and are taken for three windows more.
    const untilMs = Date.now() + 3 * windowMs;
    let heaviest = 0;
    while (Date.now() < untilMs) {
      await Promise.all(Array.from({ length: 50 }, () => count(['heavy'], [300])));
      heaviest = Math.max(heaviest, (await redis.memory('USAGE', 'heavy')) ?? 0);
    }
    expect(heaviest).to.be.within(900, 2_100);
  });

  it('is gone two windows after it was needed, and while it is needed never', async () => {
    const windowMs = 400;
    const count = open(windowMs);
    const beganMs = Date.now();
    let last = 0;
    while (Date.now() < beganMs + 4 * windowMs) {
      const { remaining } = await count(['brief'], [1_000 - 1]);
      last = remaining;
      await sleep(10);
    }
    expect(last).to.be.below(999 - 15);
    expect(await redis.exists('brief')).to.equal(1);
    await sleep(2 * windowMs + 50);
    expect(await redis.exists('brief')).to.equal(0);
  });

  it('costs the server no disk write', async () => {
    const writes = async (): Promise<string | undefined> =>
      /aof_current_size:(\d+)/.exec(await redis.info('persistence'))?.[1];
    const count = open();
    await count(['warm up'], [10]);
    const before = await writes();
    for (let index = 0; index < 50; index += 1) await count(['dry'], [300]);
    expect(await writes()).to.equal(before);
  });
});
