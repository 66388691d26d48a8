/**
 * What the scripts cost, in the server's own accounting (`INFO commandstats`), as ratios to a no-op EVALSHA with
 * the same KEYS and ARGV in the same round; and what a resting order weighs.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { OrderRequest } from '../../src/domain/placing.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { loadScript, runScript } from '../../src/scripts/index.ts';
import { assetContents } from '../support/engine-contents.ts';
import { startRedisServer } from '../support/redis-server.ts';
import { type Figure, median, printFigures } from './figures.ts';
import { type Command, cost, NO_OP } from './script-cost.ts';

const ROUNDS = 5;
const CALLS = 1_000;
const WALLETS = 500;
const IN_FLIGHT = 100;
const RESTING = [1_000, 100_000] as const;
/** After this many ids the filter, which is one string, has about its full length. */
const SPREAD_OF_FILTER = 500;

const walletOf = (index: number): string => `0x${index.toString(16).padStart(40, 'b')}`;
const TAKER = `0x${'7a'.repeat(20)}`;

interface Bench {
  readonly redis: Redis;
  readonly engine: Engine;
  /** Where commands go instead of to the server, while they are prepared. */
  recorded: Command[] | undefined;
}

const requestOf = (side: 'buy' | 'sell', price: number, size: number, id: string | null): OrderRequest => ({
  market: 'ETH/USDC',
  side,
  type: 'limit',
  price: parseDecimal(price.toFixed(2))!,
  size: parseDecimal(`${size}`)!,
  clientOrderId: id,
  timeInForce: 'GTC',
  postOnly: false,
  reduceOnly: false,
  leverage: null,
});

async function inFlight(calls: number, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < calls) await call(next++);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

/** The commands that the engine would send for `calls` of `work`. */
async function prepare(
  bench: Bench,
  calls: number,
  work: (index: number) => Promise<unknown>,
): Promise<Command[]> {
  const commands: Command[] = [];
  bench.recorded = commands;
  for (let index = 0; index < calls; index += 1) void work(index);
  while (commands.length < calls) await setImmediate();
  bench.recorded = undefined;
  return commands;
}

let serial = 0;
/** Ids of 36 characters, as long as a UUID. */
const clientId = (): string => `bench-${(serial++).toString().padStart(30, '0')}`;

/** Places under a new id; what the filter cannot rule out is vouched for, as Postgres would. */
async function place({ engine }: Bench, wallet: string, request: OrderRequest): Promise<string> {
  let placed = await engine.placeOrder({ wallet, request });
  if (placed.outcome === 'unchecked') {
    placed = await engine.placeOrder({ wallet, request, checked: placed.moment });
  }
  if (placed.outcome !== 'placed') throw new Error(`${placed.outcome}: ${request.clientOrderId}`);
  return placed.order.id;
}

async function rest(bench: Bench, side: 'buy' | 'sell', price: number, size: number): Promise<string> {
  const wallet = walletOf(serial % WALLETS);
  return place(bench, wallet, requestOf(side, price, size, clientId()));
}

/** Bids far below, so that what is measured neither meets nor changes them; spread over 5,000 prices. */
const fill = (bench: Bench, from: number, to: number): Promise<void> =>
  inFlight(to - from, (index) => rest(bench, 'buy', 100 + ((from + index) % 5_000) * 0.01, 1));

async function open(bench: Bench): Promise<void> {
  const { engine } = bench;
  await engine.open({ epoch: 0, sequence: 0 });
  await engine.setAsset({ symbol: 'USDC', scale: 6 });
  await engine.createMarket({
    symbol: 'ETH/USDC',
    status: 'active',
    sellEnabled: true,
    visible: true,
    feeBps: 10,
    tickSize: '0.01',
    sizeStep: '0.0001',
    minOrderSize: null,
    maxOrderSize: null,
    selfTrade: 'expire_taker',
    referencePrice: null,
    networkId: '1',
  });
  const wallets = [TAKER, ...Array.from({ length: WALLETS }, (_none, index) => walletOf(index))];
  for (const wallet of wallets) {
    for (const asset of ['ETH', 'USDC']) {
      await engine.moveFunds({
        kind: 'credited',
        wallet,
        asset,
        amountAtoms: 10n ** 15n,
        reference: `${wallet} ${asset}`,
      });
    }
  }
}

interface Round {
  readonly noop: number;
  readonly rest: number;
  readonly fill: number;
  readonly fiveFills: number;
  readonly cancel: number;
}

async function round(bench: Bench): Promise<Round> {
  const { redis, engine } = bench;
  const resting = await prepare(bench, CALLS, (index) => rest(bench, 'buy', 120 + (index % 500) * 0.01, 1));
  const restCost = await cost(redis, resting);
  for (const { source } of [NO_OP, loadScript('cancel_orders')]) await redis.script('LOAD', source);
  const noop = await cost(
    redis,
    resting.map(([, ...rest]): Command => [NO_OP.sha, ...rest]),
  );
  const ids = (await idsAbove(bench, 12_000n)).slice(0, CALLS);
  const cancels = await prepare(bench, CALLS, (index) =>
    engine.cancelOrder(ids[index]!.wallet, ids[index]!.id),
  );
  const cancel = await cost(redis, cancels);
  await inFlight(CALLS * 6, () => rest(bench, 'sell', 200, 1));
  const taking = (size: number): Promise<Command[]> =>
    prepare(bench, CALLS, () => place(bench, TAKER, requestOf('buy', 200, size, clientId())));
  const fillCost = await cost(redis, await taking(1));
  const fiveFills = await cost(redis, await taking(5));
  return { noop, rest: restCost, fill: fillCost, fiveFills, cancel };
}

/** The bids at and above a price. */
async function idsAbove({ engine }: Bench, priceTicks: bigint): Promise<{ id: string; wallet: string }[]> {
  const { resting } = await assetContents(engine, 'USDC');
  return resting.filter((order) => order.priceTicks >= priceTicks);
}

/** As after settlement: the outbox and its index are gone, ids are still remembered. */
async function settleAll({ redis, engine }: Bench): Promise<void> {
  const { epoch, sequence } = await engine.state();
  const keys = [KEYS.engine, KEYS.events, ...KEYS.unsettled, ...KEYS.claims];
  for (let turn = 0; turn < 6; turn += 1) {
    await runScript(redis, loadScript('trim_settled'), keys, [epoch, sequence, 0, 3_600_000]);
  }
}

/** Once what was let go of in the background is really gone. */
async function usedMemory(redis: Redis): Promise<number> {
  for (;;) {
    const memory = await redis.info('memory');
    if (/^lazyfree_pending_objects:0/m.test(memory)) return Number(/^used_memory:(\d+)/m.exec(memory)?.[1]);
    await sleep(50);
  }
}

/** Bytes of one resting order with all its records, settled; the filter and tables of a first order not counted. */
async function weigh(bench: Bench): Promise<number> {
  await open(bench);
  await fill(bench, 0, SPREAD_OF_FILTER);
  await settleAll(bench);
  const before = await usedMemory(bench.redis);
  await fill(bench, SPREAD_OF_FILTER, RESTING[1]);
  await settleAll(bench);
  return ((await usedMemory(bench.redis)) - before) / (RESTING[1] - SPREAD_OF_FILTER);
}

/** Medians at each number of resting orders. */
async function time(bench: Bench): Promise<[few: Round, many: Round]> {
  await open(bench);
  const medians: Round[] = [];
  let filled = 0;
  for (const resting of RESTING) {
    await fill(bench, filled, resting);
    await settleAll(bench);
    filled = resting;
    const rounds: Round[] = [];
    for (let index = 0; index < ROUNDS; index += 1) rounds.push(await round(bench));
    const middle = (name: keyof Round): number => median(rounds.map((one) => one[name]));
    medians.push({
      noop: middle('noop'),
      rest: middle('rest'),
      fill: middle('fill'),
      fiveFills: middle('fiveFills'),
      cancel: middle('cancel'),
    });
  }
  return medians as [Round, Round];
}

function figuresOf([few, many]: [Round, Round], bytes: number): Figure[] {
  const times = (name: keyof Round, bound: number, label: string): Figure => ({
    name: `${label} (${many[name].toFixed(1)} µs)`,
    figure: many[name] / many.noop,
    unit: 'x',
    target: { relation: '<=', bound },
  });
  return [
    { name: 'no-op EVALSHA, KEYS and ARGV of a placement', figure: many.noop, unit: 'µs' },
    times('rest', 20, 'rest'),
    times('fill', 20, 'one fill'),
    times('fiveFills', 40, 'five fills'),
    times('cancel', 15, 'cancel'),
    {
      name: 'rest at 100,000 against rest at 1,000',
      figure: many.rest / few.rest,
      unit: 'x',
      target: { relation: '<=', bound: 1.4 },
    },
    {
      name: 'memory of a resting order, settled',
      figure: bytes,
      unit: 'bytes',
      target: { relation: '<=', bound: 450 },
    },
  ];
}

function recordWhenAsked(bench: Bench): void {
  const { redis } = bench;
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = ((command, stream) => {
    if (bench.recorded === undefined || command.name !== 'evalsha') return send(command, stream);
    bench.recorded.push(command.args as unknown as Command);
    return new Promise(() => undefined);
  }) as typeof redis.sendCommand;
}

/** Runs `work` on a server of its own. */
async function onFreshServer<T>(work: (bench: Bench) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-bench-'));
  const server = await startRedisServer(folder);
  const redis = new Redis(server.url);
  // A rewrite of the log forks in the middle of a round; what its copies cost is the machine's, not the scripts'.
  await redis.config('SET', 'auto-aof-rewrite-percentage', '0');
  const engine = openEngine({ redis, maxMakers: 1_000, maxLiveOrders: 1_000_000 });
  const bench: Bench = { redis, engine, recorded: undefined };
  recordWhenAsked(bench);
  try {
    return await work(bench);
  } finally {
    redis.disconnect();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function benchEngine(): Promise<void> {
  const bytes = await onFreshServer(weigh);
  const rounds = await onFreshServer(time);
  printFigures(
    `engine: medians of ${ROUNDS} rounds of ${CALLS} calls, 100,000 resting orders`,
    figuresOf(rounds, bytes),
  );
}
