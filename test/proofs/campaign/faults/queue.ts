/** The Redis of the queues refuses, loses keys, or holds what no process has written. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { GENERAL, marketChannel } from '../../../../src/feed/index.ts';
import { moment } from '../cluster.ts';
import { MARKER } from '../marker.ts';
import { type Fault, QUEUE_FORGETS } from './fault.ts';

const REFUSING_MS = 3_000;

interface Refusal {
  readonly name: string;
  begin(redis: Redis): Promise<unknown>;
  end(redis: Redis): Promise<unknown>;
}

const setting = (name: string, wrong: string, right: string): Refusal => ({
  name: `${name} ${wrong}`,
  begin: (redis) => redis.config('SET', name, wrong),
  end: (redis) => redis.config('SET', name, right),
});

const REFUSALS: readonly Refusal[] = [
  setting('maxmemory', '1mb', '0'),
  setting('min-replicas-to-write', '1', '0'),
  {
    name: 'a replica',
    begin: (redis) => redis.replicaof('127.0.0.1', 9),
    end: (redis) => redis.replicaof('NO', 'ONE'),
  },
];

const refuses: Fault = {
  name: 'the queue Redis refuses to write',
  rounds: 6,
  shortRounds: 1,
  restEvery: 3,
  mayBreak: 'request limits and sign-ins while it refuses',
  forgetsLimits: true,
  async inject({ cluster: { queueRedis }, dice, round, note }) {
    const refusal = REFUSALS[(round - 1) % REFUSALS.length]!;
    note(refusal.name);
    await refusal.begin(queueRedis);
    await sleep(REFUSING_MS);
    await moment(dice, REFUSING_MS);
    return async () => void (await refusal.end(queueRedis));
  },
};

const CHANNELS = [
  GENERAL,
  ...[MARKER, 'ETH/USDC'].map((symbol) => marketChannel({ symbol, timeframe: '1m' })),
];
const GARBAGE = ['', '\n', 'garbage', '1', 'NaN\ngarbage', '-5\ngarbage', `${10 ** 20}\ngarbage`];
const MESSAGES = 150;

const garbage: Fault = {
  name: 'garbage is published on the channels of frames',
  rounds: 5,
  shortRounds: 0,
  restEvery: 3,
  async inject({ cluster: { queueRedis }, dice }) {
    for (let messages = 0; messages < MESSAGES; messages += 1) {
      await queueRedis.publish(dice.pick(CHANNELS), dice.pick(GARBAGE));
      await moment(dice, 40);
    }
  },
};

/** Keys of BullMQ, by the queues that `src/queue` opens. */
const QUEUES = ['settlement', 'snapshot'];

const keysOfQueues = async (redis: Redis): Promise<string[]> =>
  (await Promise.all(QUEUES.map((queue) => redis.keys(`{redbook}:${queue}:*`)))).flat();

const queueDeleted: Fault = {
  name: 'all keys of BullMQ are deleted',
  rounds: 10,
  async inject({ cluster: { queueRedis }, dice, note, violation }) {
    let deleted = 0;
    for (let turns = 0; turns < 3; turns += 1) {
      const keys = await keysOfQueues(queueRedis);
      if (keys.length > 0) deleted += await queueRedis.del(...keys);
      await moment(dice, 600);
    }
    if (deleted === 0) violation('campaign', 'BullMQ has no key under the names of the queues');
    note(`${deleted} keys`);
  },
};

const flushQueue: Fault = {
  name: 'the queue Redis is emptied',
  rounds: 5,
  mayBreak: QUEUE_FORGETS,
  forgetsLimits: true,
  async inject({ cluster: { queueRedis }, dice }) {
    await moment(dice, 600);
    await queueRedis.flushall();
  },
};

const WRONG_MS = 4_000;

/** Settlement and snapshots go on by their timers. To repair the queue is to delete its keys. */
const wrongKeys: Fault = {
  name: 'keys of BullMQ are of a wrong type',
  rounds: 5,
  shortRounds: 0,
  restEvery: 3,
  async inject({ cluster: { queueRedis }, note, violation }) {
    const keys = await keysOfQueues(queueRedis);
    if (keys.length === 0) violation('campaign', 'BullMQ has no key under the names of the queues');
    for (const key of keys) await queueRedis.set(key, 'garbage');
    note(`${keys.length} keys`);
    await sleep(WRONG_MS);
    return async () => void (await queueRedis.del(...keys));
  },
};

export const QUEUE: readonly Fault[] = [refuses, garbage, queueDeleted, flushQueue, wrongKeys];
