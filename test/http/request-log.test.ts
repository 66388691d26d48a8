/** Tests the log in which request limits count: against a naive log over simulated time, and its memory. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { type CountRequest, openRequestLogs } from '../../src/http/limits/request-log.ts';
import { loadScript, runScript, scriptOf } from '../../src/redis/lua.ts';
import { openRedis } from '../support/redis-server.ts';
import { random, runSeed } from '../support/seed.ts';
import { freshRedis } from '../support/servers.ts';

const WINDOW_MS = 60_000;

/** A key with the prefix of the limits' keys. */
const keyOf = (log: string): string => `{redbook}:limit:${log}`;

describe('request log', () => {
  let url: string;
  let redis: Redis;

  before(async () => {
    url = await freshRedis();
    redis = openRedis(url);
  });

  after(() => redis.disconnect());

  const open = (limits: readonly number[], windowMs = WINDOW_MS, connection = redis): CountRequest => {
    const count = openRequestLogs({ redis: connection, windowMs, logger: pino({ level: 'silent' }) })(limits);
    return (logs) => count(logs.map(keyOf));
  };

  describe('over simulated time', () => {
    /** The real script with a replaced clock. */
    const { source } = loadScript('count_requests');
    const simulated = scriptOf(
      'simulated',
      source.replace(
        "local time = call('TIME')",
        'local time = { table.remove(KEYS, 1):match("%d+$"), table.remove(KEYS, 1):match("%d+$") }',
      ),
    );

    /** Replies to requests that are counted together; `logs` has the logs of each request. */
    const countAllAt = async (atUs: number, logs: readonly string[], limits: readonly number[]) => {
      const time = [String(Math.floor(atUs / 1e6)), String(atUs % 1e6)];
      const keys = [...time, ...logs].map(keyOf);
      return (await runScript(redis, simulated, keys, [WINDOW_MS, 3 * WINDOW_MS, ...limits])) as number[];
    };

    const countAt = async (atUs: number, logs: readonly string[], limits: readonly number[]) =>
      (await countAllAt(atUs, logs, limits))[0]!;

    /** Keeps every counted time and scans all of them each time. */
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

    it('equals a naive log, for single requests and many together', async () => {
      expect(simulated.source).to.not.equal(source);
      const dice = random(runSeed());
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
        const together = dice.chance(0.2) ? 1 + dice.below(5) : 1;
        const all = Array.from({ length: together }, () => logs);
        const expected = all.map((one) => naive.count(Math.floor(nowUs / 1000), one, limits));
        expect(await countAllAt(nowUs, all.flat(), limits), `round ${round}`).to.deep.equal(expected);
        refused[logs.length - 1]! += expected.filter((reply) => reply < 0).length;
      }
      expect(Math.min(...refused)).to.be.above(100);
    });

    it('has room again in the millisecond in which the oldest request leaves', async () => {
      const atUs = 1_800_000_000_000_999;
      for (let index = 0; index < 3; index += 1) await countAt(atUs + index * 1_000, ['edge'], [3]);
      const leavesUs = 1_800_000_060_000_000;
      expect(await countAt(leavesUs - 1, ['edge'], [3])).to.equal(-(1_800_000_060_000 + 1));
      expect(await countAt(leavesUs, ['edge'], [3])).to.equal(1_800_000_061_000);
      expect(await countAt(leavesUs, ['edge'], [3])).to.be.below(0);
    });

    it('forgets requests, rather than shut clients out, when the clock steps back', async () => {
      const atUs = 1_800_000_000_000_000;
      for (const backUs of [1_000_000, 30e6, 600e6, 86_400e6]) {
        const log = `back ${backUs}`;
        for (let index = 0; index < 5; index += 1) await countAt(atUs + index, [log], [5]);
        expect(await countAt(atUs + 10, [log], [5])).to.be.below(0);
        expect(await countAt(atUs - backUs, [log], [5])).to.equal((atUs - backUs) / 1000 + WINDOW_MS + 4);
      }
    });
  });

  it('admits exactly as many concurrent requests as it has room for', async () => {
    const connections = [0, 1, 2].map(() => openRedis(url, 'queue-api'));
    const counters = connections.map((connection) => open([300], WINDOW_MS, connection));
    const counts = await Promise.all(
      Array.from({ length: 900 }, (_none, index) => counters[index % 3]!(['shared'])),
    );
    const left = counts.filter(({ counted }) => counted).map(({ remaining }) => remaining);
    expect(left.sort((one, other) => one - other)).to.deep.equal(
      Array.from({ length: 300 }, (_none, n) => n),
    );
    for (const connection of connections) connection.disconnect();
  });

  it('counts a request in all logs or in none', async () => {
    const count = open([3, 4]);
    for (let index = 0; index < 3; index += 1) await count(['session a', 'address']);
    expect(await count(['session a', 'address'])).to.include({ counted: false, remaining: 0 });
    expect(await count(['session b', 'address'])).to.include({ counted: true, remaining: 0 });
    const { counted, retryAfterSeconds } = await count(['session b', 'address']);
    expect([counted, retryAfterSeconds]).to.deep.equal([false, 60]);
    expect(await open([3])(['session b'])).to.include({ counted: true, remaining: 1 });
  });

  it('takes at most 2 KB for 300 requests', async () => {
    const windowMs = 300;
    const count = open([300], windowMs);
    for (let index = 0; index < 300; index += 1) await count(['heavy']);
    expect(await redis.memory('USAGE', keyOf('heavy'))).to.be.below(2_150);
    // Entries expire and are added for three more windows.
    const untilMs = Date.now() + 3 * windowMs;
    let heaviest = 0;
    while (Date.now() < untilMs) {
      await Promise.all(Array.from({ length: 50 }, () => count(['heavy'])));
      heaviest = Math.max(heaviest, (await redis.memory('USAGE', keyOf('heavy'))) ?? 0);
    }
    // A busy machine adds few in a window: at least the fifty of one round are there.
    expect(heaviest).to.be.within(200, 2_150);
  });

  it('expires three windows after its last use, and not before', async () => {
    const windowMs = 400;
    const count = open([999], windowMs);
    const beganMs = Date.now();
    const calledMs: number[] = [];
    let last = 0;
    while (Date.now() < beganMs + 4 * windowMs) {
      calledMs.push(Date.now());
      const { remaining } = await count(['brief']);
      last = remaining;
      await sleep(10);
    }
    // Those of half a window count also where the last call takes long.
    const recent = calledMs.filter((atMs) => atMs > calledMs.at(-1)! - windowMs / 2);
    expect(last).to.be.at.most(999 - recent.length);
    expect(await redis.exists(keyOf('brief'))).to.equal(1);
    await sleep(3 * windowMs + 50);
    expect(await redis.exists(keyOf('brief'))).to.equal(0);
  });

  it('causes no disk write', async () => {
    const writes = async (): Promise<string | undefined> =>
      /aof_current_size:(\d+)/.exec(await redis.info('persistence'))?.[1];
    const count = open([300]);
    await count(['warm up']);
    const before = await writes();
    for (let index = 0; index < 50; index += 1) await count(['dry']);
    expect(await writes()).to.equal(before);
  });
});
