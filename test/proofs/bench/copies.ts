/**
 * Measures what copies add to an order: the same orders in turn on an engine of one server and on one with three
 * copies. All servers and the driver share this machine, so the ratios tell more than the times. On machines of their
 * own, the processor time of the process and of the primary limits the orders, so it stands beside them.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import {
  CopyRounds,
  type Engine,
  giveList,
  lookAt,
  noteVerified,
  openEngine,
  rankOfPrimary,
} from '../../../src/engine/index.ts';
import { connectBeside, connectRedis } from '../../../src/redis/connections.ts';
import { ALICE, BOB, fund, limit, publishPlain } from '../../engine/fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { LIMITS } from '../../support/limits.ts';
import { freePort } from '../../support/ports.ts';
import {
  ADMIN,
  asReplica,
  openRedis,
  PASSWORD,
  type RedisServer,
  startRedisServer,
} from '../../support/redis-server.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { processorSeconds } from './redis.ts';

const M = 'ETH/USD';
const ROUNDS = 4;
const COPIES = 3;
const IDLE_ROUNDS = 300;
/** Orders of a round by the number that is always in flight. */
const ORDERS = { 1: 300, 64: 3_200, 512: 10_240 } as const;
type InFlight = keyof typeof ORDERS;
const ALL_IN_FLIGHT = Object.keys(ORDERS).map((text) => Number(text) as InFlight);
const UNLIMITED = 10n ** 12n;

interface Exchange {
  readonly engine: Engine;
  /** Undefined for one server. */
  readonly rounds: CopyRounds | undefined;
  /** Administrator's connection to the primary. */
  readonly primary: Redis;
  /** Milliseconds of the rounds since the last measurement. */
  readonly roundsMs: number[];
}

interface Taken {
  /** Milliseconds of each order. */
  readonly tookMs: readonly number[];
  readonly perSecond: number;
  /** Median milliseconds of a round of the copies. */
  readonly roundMs: number;
  /** Processor time of an order, in microseconds. */
  readonly process: number;
  readonly primary: number;
}

async function openExchange(servers: readonly RedisServer[], closing: (() => void)[]): Promise<Exchange> {
  const names = servers.map(({ url }) => new URL(url).host);
  const url = `redis+copies://${ADMIN}:${PASSWORD}@${names.join(',')}`;
  const hasCopies = servers.length > 1;
  const admins = servers.map((server) => openRedis(server.url));
  const [primary, ...others] = admins as [Redis, ...Redis[]];
  const [host, port] = names[0]!.split(':') as [string, string];
  for (const other of others) await other.replicaof(host, port);
  const tell = (): void => undefined;
  const redis = connectRedis(hasCopies ? url : servers[0]!.url, 'bench', tell, rankOfPrimary);
  const roundsRedis = hasCopies ? connectBeside(redis, { url }, 'bench-rounds', tell) : undefined;
  closing.push(() => {
    for (const one of [...admins, redis, roundsRedis]) one?.disconnect();
  });
  const roundsMs: number[] = [];
  const observe = (seconds: number): void => void roundsMs.push(seconds * 1_000);
  const rounds = roundsRedis && new CopyRounds({ redis: roundsRedis, minCopies: COPIES, observe });
  const engine = openEngine({ redis, ...(rounds && { rounds }), ...LIMITS });
  if (hasCopies)
    await eventually('the copies have all', async () => {
      const seen = await lookAt(primary);
      const behind = (await Promise.all(others.map(lookAt))).some(
        (one) => one.isFileBehind || !one.isConnected,
      );
      await noteVerified(primary, seen);
      return !behind && seen.replicas.size === others.length;
    });
  if (hasCopies) await giveList(primary, { version: 1, mark: 'first', names });
  await eventually('it opens', async () => {
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    // An epoch begins without a note about files.
    if (hasCopies) await noteVerified(primary, await lookAt(primary));
    await engine.lifecycle.confirm();
    return true;
  });
  await publishPlain(engine, M);
  for (const wallet of [ALICE, BOB]) await fund(engine, wallet, { ETH: UNLIMITED, USD: UNLIMITED });
  return { engine, rounds, primary, roundsMs };
}

/** Half of the orders rest, and the other half fill them. */
async function take({ engine, primary, roundsMs }: Exchange, inFlight: InFlight): Promise<Taken> {
  roundsMs.length = 0;
  const processBefore = process.cpuUsage();
  const primaryBefore = await processorSeconds(primary);
  const tookMs: number[] = [];
  let next = 0;
  const begunMs = performance.now();
  const work = async (): Promise<void> => {
    for (let at = next++; at < ORDERS[inFlight]; at = next++) {
      const [wallet, side] = at % 2 === 0 ? ([ALICE, 'sell'] as const) : ([BOB, 'buy'] as const);
      const sentMs = performance.now();
      await engine.orders.place({ wallet, request: limit(M, side, 10, 1) });
      tookMs.push(performance.now() - sentMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  const seconds = (performance.now() - begunMs) / 1_000;
  const { user, system } = process.cpuUsage(processBefore);
  return {
    process: (user + system) / ORDERS[inFlight],
    primary: (((await processorSeconds(primary)) - primaryBefore) * 1e6) / ORDERS[inFlight],
    tookMs,
    perSecond: ORDERS[inFlight] / seconds,
    roundMs: roundsMs.length > 0 ? median(roundsMs) : 0,
  };
}

interface Pair {
  readonly one: readonly Taken[];
  readonly copied: readonly Taken[];
}

async function takePairs(one: Exchange, copied: Exchange, inFlight: InFlight): Promise<Pair> {
  const pair = { one: [] as Taken[], copied: [] as Taken[] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    const first = await take(one, inFlight);
    const second = await take(copied, inFlight);
    // The first round warms both.
    if (round > 0)
      for (const [list, taken] of [
        [pair.one, first],
        [pair.copied, second],
      ] as const)
        list.push(taken);
  }
  return pair;
}

const middle = (taken: readonly Taken[], of: (one: Taken) => number): number => median(taken.map(of));
const p50 = ({ tookMs }: Taken): number => median(tookMs);

function rowsOf(inFlight: InFlight, { one, copied }: Pair): Measured[] {
  const before = middle(one, p50);
  const now = middle(copied, p50);
  const roundMs = middle(copied, (t) => t.roundMs);
  const name = `${inFlight} in flight`;
  const perSecond = ({ perSecond: figure }: Taken): number => figure;
  const spent = (of: 'process' | 'primary'): Measured => ({
    name: `${name}: ${of}, an order`,
    unit: 'µs',
    figure: middle(copied, (taken) => taken[of]),
    reference: { name: 'one server', figure: middle(one, (taken) => taken[of]) },
  });
  const ordersBefore = middle(one, perSecond);
  const ordersNow = middle(copied, perSecond);
  const added: Measured = {
    name: `${name}: added to the median order`,
    unit: 'ms',
    figure: now - before,
    reference: { name: 'a round', figure: roundMs },
    target: { relation: '<=', bound: 1.5, isReported: true },
  };
  return [
    {
      name: `${name}: median order`,
      unit: 'ms',
      figure: now,
      reference: { name: 'one server', figure: before },
    },
    ...(inFlight === 512 ? [] : [added]),
    {
      name: `${name}: orders`,
      unit: '/s',
      figure: ordersNow,
      reference: { name: 'one server', figure: ordersBefore },
      ...(inFlight === 512 && { target: { relation: '>=', bound: 0.9, isReported: true } }),
    },
    spent('process'),
    spent('primary'),
  ];
}

/** A round while nothing else is under way. */
async function idleRows({ rounds, primary }: Exchange): Promise<Measured[]> {
  const tookMs: number[] = [];
  const before = await processorSeconds(primary);
  for (let times = 0; times < IDLE_ROUNDS; times += 1) {
    const sentMs = performance.now();
    await rounds!.prove();
    tookMs.push(performance.now() - sentMs);
  }
  const seconds = (await processorSeconds(primary)) - before;
  return [
    { name: 'a round alone, median', unit: 'ms', figure: median(tookMs) },
    { name: 'a round alone, processor of the primary', unit: 'µs', figure: (seconds / IDLE_ROUNDS) * 1e6 },
  ];
}

export async function benchCopies(): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-bench-copies-'));
  const servers: RedisServer[] = [];
  const closing: (() => void)[] = [];
  try {
    for (let at = 0; at <= COPIES; at += 1) {
      const port = await freePort();
      const settings = [...asReplica, `replica-announce-port ${port}`];
      servers.push(await startRedisServer(join(folder, String(at)), { port, settings }));
    }
    const one = await openExchange(servers.slice(0, 1), closing);
    const copied = await openExchange(servers.slice(1), closing);
    const rows: Measured[] = [];
    for (const inFlight of ALL_IN_FLIGHT)
      rows.push(...rowsOf(inFlight, await takePairs(one, copied, inFlight)));
    rows.push(...(await idleRows(copied)));
    return tableOf(
      'copies',
      `three copies beside one server, half rest, half fill; medians of ${ROUNDS}`,
      rows,
    );
  } finally {
    for (const close of closing) close();
    await Promise.all(servers.map((server) => server.kill()));
    rmSync(folder, { recursive: true, force: true });
  }
}
