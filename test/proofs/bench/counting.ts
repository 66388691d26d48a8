/** Measures the cost of the request limits in Redis: ratios of one request to a no-op script in the same round. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { loadScript } from '../../../src/redis/lua.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { type Measured, median } from './figures.ts';
import { type Command, cost, NO_OP } from './script-cost.ts';

const ROUNDS = 5;

/**
 * Server-side microseconds of counting one request, alone in its script and together with others, and of a no-op script.
 */
interface Counting {
  readonly noop: number;
  readonly alone: number;
  readonly together: number;
}

/** Approximate number of requests that one script counts under this bench's load. */
const TOGETHER = 16;
/** Number of addresses, each of which uses up its whole request limit in a round. */
const COUNTED_ADDRESSES = 16;
const COUNTED_REQUESTS = COUNTED_ADDRESSES * 300;

async function countingRound(redis: Redis, round: number): Promise<Counting> {
  const { sha } = loadScript('count_requests');
  const logs = (name: string, from: number, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${name} ${round} ${(from + index) % COUNTED_ADDRESSES}`);
  const scripts = (script: string, name: string, each: number): Command[] =>
    Array.from({ length: COUNTED_REQUESTS / each }, (_, index) => [
      script,
      each,
      ...logs(name, index * each, each),
      60_000,
      180_000,
      300,
    ]) as Command[];
  return {
    noop: await cost(redis, scripts(NO_OP.sha, 'none', 1)),
    alone: await cost(redis, scripts(sha, 'alone', 1)),
    together: (await cost(redis, scripts(sha, 'together', TOGETHER))) / TOGETHER,
  };
}

/** @returns rows for the table of the market-data bench */
export async function benchCounting(): Promise<Measured[]> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-bench-'));
  const server = await startRedisServer(folder);
  const redis = new Redis(server.url);
  try {
    for (const { source } of [NO_OP, loadScript('count_requests')]) await redis.script('LOAD', source);
    const rounds: Counting[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) rounds.push(await countingRound(redis, round));
    const middle = (name: keyof Counting): number => median(rounds.slice(1).map((one) => one[name]));
    return figuresOf({ noop: middle('noop'), alone: middle('alone'), together: middle('together') });
  } finally {
    redis.disconnect();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const figuresOf = ({ noop, alone, together }: Counting): Measured[] => [
  { name: 'no-op script, KEYS and ARGV of a counted request', figure: noop, unit: 'µs' },
  { name: 'counting a request, alone in its script, against it', figure: alone / noop, unit: 'x' },
  {
    ...{
      name: `counting a request, ${TOGETHER} in a script, against it`,
      figure: together / noop,
      unit: 'x',
    },
    target: { relation: '<=', bound: 4 },
  },
];
