/** The Redis of the queues refuses, or holds what no process has written. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { GENERAL, marketChannel } from '../../../../src/feed/index.ts';
import { moment } from '../cluster.ts';
import { MARKER } from '../marker.ts';
import { type Fault, NOTHING } from './fault.ts';

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
  mayBreak: NOTHING,
  async inject({ cluster: { queueRedis }, dice }) {
    for (let messages = 0; messages < MESSAGES; messages += 1) {
      await queueRedis.publish(dice.pick(CHANNELS), dice.pick(GARBAGE));
      await moment(dice, 40);
    }
    return async () => undefined;
  },
};

export const QUEUE: readonly Fault[] = [refuses, garbage];
