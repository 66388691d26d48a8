/** An engine on its own empty Redis, and the commands of its edge tests. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { OperatorRefusal, Refusal } from '../../src/domain/errors.ts';
import type { AccountMoved, EngineEvent } from '../../src/domain/event.ts';
import type { MarketSpec } from '../../src/domain/market-rules.ts';
import type { Side } from '../../src/domain/order.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import { type Engine, type EngineOptions, openEngine, type Placement } from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { ENGINE_FORMAT, readState, STATE, type State } from '../../src/engine/state.ts';
import type { OrderRequest } from '../../src/order/request.ts';
import { assetContents } from '../support/engine-contents.ts';
import { LIMITS } from '../support/limits.ts';
import { marketSpec } from '../support/market-spec.ts';
import { openRedis } from '../support/redis-server.ts';
import { sharedRedis } from '../support/servers.ts';

export const ALICE = `0x${'a1'.repeat(20)}`;
export const BOB = `0x${'b0'.repeat(20)}`;
export const CAROL = `0x${'ca'.repeat(20)}`;

const EMPTY = { epoch: 0, sequence: 0 };

export interface EngineFixture {
  /** Direct access to Redis. */
  readonly redis: Redis;
  readonly engine: Engine;
  /** Opens another replica: the same Redis through its own connection. */
  replica(): Promise<Engine>;
  close(): void;
}

export async function openEngineFixture(options: Partial<EngineOptions> = {}): Promise<EngineFixture> {
  const url = await sharedRedis();
  const redis = openRedis(url);
  const connections = [redis];
  const replica = async (): Promise<Engine> => {
    const connection = openRedis(url, 'engine-all');
    connections.push(connection);
    const engine = openEngine({ redis: connection, ...LIMITS, ...options });
    await engine.lifecycle.open(EMPTY);
    return engine;
  };
  await redis.flushdb();
  return {
    redis,
    engine: await replica(),
    replica,
    close: () => {
      for (const connection of connections) connection.disconnect();
    },
  };
}

/** Rules of a market whose ticks and steps are 1, without a fee. */
export const spec = (symbol: string, own: Partial<MarketSpec> = {}): MarketSpec =>
  marketSpec(symbol, { feeBps: 0, tickSize: '1', sizeStep: '1', ...own });

/** Publishes a market whose ticks, steps and atoms are all 1, so that amounts equal atoms. */
export async function publishPlain(
  engine: Engine,
  symbol: string,
  own: Partial<MarketSpec> = {},
): Promise<void> {
  for (const asset of symbol.split('/')) await engine.assets.set({ symbol: asset, scale: 0 });
  await engine.markets.create(spec(symbol, own));
}

const decimal = (value: string | bigint | number): NonNullable<OrderRequest['price']> =>
  parseDecimal(String(value))!;

type Amount = string | bigint | number;

const request = (market: string, side: Side, own: Partial<OrderRequest>): OrderRequest => ({
  market,
  side,
  type: 'limit',
  clientOrderId: null,
  timeInForce: 'GTC',
  leverage: null,
  postOnly: false,
  reduceOnly: false,
  ...own,
});

export const limit = (
  market: string,
  side: Side,
  price: Amount,
  size: Amount,
  own: Partial<OrderRequest> = {},
): OrderRequest => request(market, side, { price: decimal(price), size: decimal(size), ...own });

export const atMarket = (
  market: string,
  side: Side,
  size: Amount,
  own: Partial<OrderRequest> = {},
): OrderRequest => request(market, side, { type: 'market', size: decimal(size), ...own });

export const spend = (market: string, quoteAmount: Amount, own: Partial<OrderRequest> = {}): OrderRequest =>
  request(market, 'buy', { type: 'market', quoteAmount: decimal(quoteAmount), ...own });

/** Changes the state in the engine hash directly. An emptied engine becomes an engine that was never opened. */
export async function changeState(redis: Redis, change: Partial<State>): Promise<void> {
  const state = readState(await redis.hgetBuffer(KEYS.engine, 'state'));
  await redis.hset(KEYS.engine, 'format', ENGINE_FORMAT, 'state', STATE.pack({ ...state, ...change }));
}

let references = 0;

export const movement = (
  kind: AccountMoved['kind'],
  wallet: string,
  asset: string,
  amountAtoms: bigint,
  reference = `reference ${++references}`,
): AccountMoved => ({ kind, wallet, asset, amountAtoms, reference });

export async function fund(engine: Engine, wallet: string, funds: Record<string, bigint>): Promise<void> {
  for (const [asset, atoms] of Object.entries(funds)) {
    await engine.funds.move(movement('credited', wallet, asset, atoms));
  }
}

/** Places an order that must be accepted for the book or the match. */
export async function place(
  engine: Engine,
  wallet: string,
  order: OrderRequest,
): Promise<Extract<Placement, { outcome: 'placed' }>> {
  const placement = await engine.orders.place({ wallet, request: order });
  if (placement.outcome !== 'placed') throw new Error(`not placed but ${placement.outcome}`);
  return placement;
}

/** Returns the code of a command's refusal. An answer or another error fails the test. */
export async function codeOf(command: Promise<unknown>): Promise<string> {
  return (await refusalOf(command)).code;
}

export async function refusalOf(command: Promise<unknown>): Promise<Refusal | OperatorRefusal> {
  let answer: unknown;
  try {
    answer = await command;
  } catch (error) {
    if (error instanceof Refusal || error instanceof OperatorRefusal) return error;
    throw error;
  }
  throw new Error(
    `not refused but answered: ${JSON.stringify(answer, (_name, part) => (typeof part === 'bigint' ? String(part) : part))}`,
  );
}

/** `available` and `reserved` of a wallet in an asset, in atoms. */
export async function held(engine: Engine, wallet: string, asset: string): Promise<[bigint, bigint]> {
  const balance = (await engine.funds.readBalances(wallet)).find((one) => one.asset === asset);
  return [balance?.availableAtoms ?? 0n, balance?.reservedAtoms ?? 0n];
}

export const eventsOf = (engine: Engine): Promise<EngineEvent[]> => engine.outbox.readEvents(EMPTY, 100_000);

/** Returns every key of the database with its contents, sorted. Equal dumps prove that nothing was written. */
export async function dump(redis: Redis): Promise<Record<string, unknown>> {
  const keys = (await redis.keys('*')).sort();
  const entries = keys.map(async (key): Promise<[string, unknown]> => [key, await contentOf(redis, key)]);
  return Object.fromEntries(await Promise.all(entries));
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  const hex = (part: Buffer): string => part.toString('hex');
  switch (await redis.type(key)) {
    case 'string':
      return createHash('sha256')
        .update((await redis.getBuffer(key))!)
        .digest('hex');
    case 'zset':
      return (await redis.zrangeBuffer(key, '0', '-1', 'WITHSCORES')).map(hex);
    case 'hash': {
      const fields = (await redis.callBuffer('HGETALL', key)) as Buffer[];
      const pairs = fields.flatMap((field, at) =>
        at % 2 === 0 ? [`${hex(field)}=${hex(fields[at + 1]!)}`] : [],
      );
      return pairs.sort();
    }
    case 'stream':
      return JSON.stringify(await redis.call('XINFO', ['STREAM', key, 'FULL', 'COUNT', '0']));
    default:
      throw new Error(`${key} is of a type that no command writes`);
  }
}

/** Runs a command that must be refused and write nothing; returns the code. */
export async function refusedWithoutWriting(redis: Redis, command: () => Promise<unknown>): Promise<string> {
  const before = await dump(redis);
  const code = await codeOf(command());
  expect(await dump(redis), `a command refused with ${code} wrote`).to.deep.equal(before);
  return code;
}

/** Checks that all balances sum to credits minus debits, and that none is negative. */
export async function expectConserved(engine: Engine, asset: string): Promise<void> {
  const { balances, supplyAtoms } = await assetContents(engine, asset);
  let total = 0n;
  for (const { availableAtoms, reservedAtoms } of balances.values()) {
    expect(availableAtoms >= 0n && reservedAtoms >= 0n, `a negative balance in ${asset}`).to.equal(true);
    total += availableAtoms + reservedAtoms;
  }
  expect(total, `the sum of all balances in ${asset}`).to.equal(supplyAtoms);
}

/** Returns the number of members of sorted sets that the scripts of a command asked for. */
export async function membersAsked(redis: Redis, command: () => Promise<unknown>): Promise<number> {
  const monitor = await redis.monitor();
  let read = 0;
  monitor.on('monitor', (_time: string, args: string[]) => {
    const limit = args.indexOf('LIMIT');
    if (args[0]?.toUpperCase() === 'ZRANGE' && limit > 0) read += Number(args[limit + 2]);
  });
  try {
    await command();
    // The monitor tells commands in their order: the mark ends those of the command.
    await new Promise<void>((resolve) => {
      monitor.on('monitor', (_time: string, args: string[]) => {
        if (args[0]?.toUpperCase() === 'ECHO') resolve();
      });
      void redis.echo('mark');
    });
  } finally {
    monitor.disconnect();
  }
  return read;
}
