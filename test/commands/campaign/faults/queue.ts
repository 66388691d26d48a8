/** The Redis of the queues answers, and refuses. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { moment } from '../cluster.ts';
import type { Fault } from './fault.ts';

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

export const QUEUE: readonly Fault[] = [refuses];
