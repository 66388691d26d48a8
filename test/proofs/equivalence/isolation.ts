/**
 * Injects errors into a call of several orders. An order that fails must leave no trace, and the other orders must have
 * the same result as without it. The whole Redis is compared key by key, with a fixed script clock.
 */

import type { Redis } from 'ioredis';
import { Refusal } from '../../../src/domain/errors.ts';
import { SELF_TRADE_POLICIES } from '../../../src/domain/market.ts';
import type { Side } from '../../../src/domain/order.ts';
import { orderClaim } from '../../../src/engine/claims.ts';
import { placeInFilter } from '../../../src/engine/filter-layout.ts';
import { type Engine, openEngine } from '../../../src/engine/index.ts';
import { balancesKey, bookKey, claimFilterKey, KEYS, levelsKey } from '../../../src/engine/keys.ts';
import { rulesField } from '../../../src/engine/state.ts';
import type { OrderRequest } from '../../../src/order/request.ts';
import { loadScript, type Script, scriptOf } from '../../../src/redis/lua.ts';
import { atMarket, dump, fund, limit, publishPlain, spend } from '../../engine/fixture.ts';
import { copyOf, putBack, type RedisCopy } from '../../support/redis-copy.ts';
import { openRedis } from '../../support/redis-server.ts';
import { type Random, random } from '../../support/seed.ts';
import { firstCome } from '../../support/turn-order.ts';
import { compare } from './divergence.ts';

const M = 'ETH/USD';
const WALLETS = Array.from({ length: 6 }, (_none, index) => `0x${`a${index}`.repeat(20)}`);
const FILTER = { serial: 0, bytes: 4096 };
/** A low limit of live orders, so that some orders exceed it. */
const LIMITS = { maxMakers: 20, maxLiveOrders: 8, claimFilterBytes: FILTER.bytes };
/** Maximum orders or cancels of one call. */
const MAX_TOGETHER = 64;
const NO_AMOUNTS = ['12.5', '', 'abc', '1e5', ' 7', '0x10', '--1', '7\n'];
const CLOCK = "{ '1800000000', '0' }";

type Load = (name: string) => Script;

/** One command of a call. Its outcome is a text: `failed …` if it ended in an error other than a refusal. */
type Command = (engine: Engine) => Promise<unknown>;

/** Damage that no command can cause, written directly to Redis. */
type Damage = (redis: Redis) => Promise<unknown>;

/** The outcomes of commands, and the contents of the whole Redis after them. */
interface Ran {
  readonly outcomes: readonly string[];
  readonly contents: Readonly<Record<string, unknown>>;
}

/** Runs commands on the prepared and damaged stage, in one turn or one after the other. */
type Run = (by: Engine, commands: readonly Command[], together: boolean) => Promise<Ran>;

export interface IsolationOptions {
  readonly url: string;
  readonly seed: number;
  readonly rounds: number;
  readonly load?: Load;
}

/** Number of times that each outcome occurred in a call. */
export type Counts = ReadonlyMap<string, number>;

/**
 * @throws Divergence at the first round whose call has another result than the same call without its failing orders
 */
export async function runIsolation({
  url,
  seed,
  rounds,
  load = loadScript,
}: IsolationOptions): Promise<Counts> {
  const redis = openRedis(url);
  const connection = openRedis(url, 'engine-all');
  const counts = new Map<string, number>();
  try {
    const faults: Fault = { lua: '' };
    const engine = openEngine({ redis: connection, ...LIMITS, load: clocked(load) });
    const stage: Stage = {
      redis,
      engine,
      faults,
      broken: new Faulty(connection, load, faults),
      dice: random(seed),
    };
    for (let round = 1; round <= rounds; round += 1) {
      try {
        await runRound(stage, round, counts);
      } catch (error) {
        if (error instanceof Error) error.message = `seed ${seed}, round ${round}\n${error.message}`;
        throw error;
      }
    }
  } finally {
    redis.disconnect();
    connection.disconnect();
  }
  return counts;
}

interface Fault {
  /** Lua that runs before each Redis call of a script and may raise an error. */
  lua: string;
}

interface Stage {
  readonly redis: Redis;
  readonly engine: Engine;
  readonly faults: Fault;
  readonly broken: Faulty;
  readonly dice: Random;
}

/** Stops the clock, so that events and timestamps are the same in each repetition. */
const clocked =
  (load: Load): Load =>
  (name) => {
    const { source } = load(name);
    return scriptOf(name, source.replaceAll("redis.call('TIME')", CLOCK));
  };

/** An engine whose placing script raises an error at one of its Redis calls. */
class Faulty {
  readonly #redis: Redis;
  readonly #load: Load;
  readonly #faults: Fault;

  constructor(redis: Redis, load: Load, faults: Fault) {
    this.#redis = redis;
    this.#load = load;
    this.#faults = faults;
  }

  async engine(): Promise<Engine> {
    const load: Load = (name) => {
      const { source } = clocked(this.#load)(name);
      if (name !== 'place_orders') return scriptOf(name, source);
      const [first, ...rest] = source.split('\n');
      return scriptOf(name, [first, this.#faults.lua.replaceAll('\n', ' '), ...rest].join('\n'));
    };
    this.#redis.setMaxListeners(0);
    const engine = openEngine({ redis: this.#redis, ...LIMITS, load });
    await engine.lifecycle.open(undefined);
    return engine;
  }
}

/** Replaces a script's `redis` with one that runs a check before each call. */
const spied = (check: string): string => `
local redis = setmetatable({ reads = 0 }, { __index = redis })
redis.real = getmetatable(redis).__index.call
redis.call = function(command, ...)
  ${check}
  return redis.real(command, ...)
end`;

async function runRound(stage: Stage, round: number, counts: Map<string, number>): Promise<void> {
  const { redis, engine, dice } = stage;
  await prepare(stage);
  const copy = await copyOf(redis);
  const isPlacing = round % 4 !== 3;
  const commands = isPlacing ? drawOrders(stage) : await drawCloses(stage);
  const damages = await drawDamages(stage, round);
  const run: Run = async (by, list, together) => {
    await goBack(stage, copy, by);
    await by.markets.all();
    for (const damage of damages) await damage(redis);
    // Lets the replica learn the current filters. Otherwise it would send an order again, after the others.
    await by.orders.find(WALLETS[0]!, 'never used').catch(() => undefined);
    const outcomes: string[] = [];
    if (together) outcomes.push(...(await Promise.all(list.map((one) => outcomeOf(one, by)))));
    else for (const one of list) outcomes.push(await outcomeOf(one, by));
    return { outcomes, contents: await dump(redis) };
  };

  const whole = await run(engine, commands, true);
  for (const outcome of whole.outcomes) count(counts, outcome);
  compareRuns('one by one', await run(engine, commands, false), whole);
  await compareWithoutFailures(run, engine, commands, whole);

  if (!isPlacing || !dice.chance(0.5)) return;
  stage.faults.lua = drawFault(stage);
  const faulty = await run(await stage.broken.engine(), commands, true);
  for (const outcome of faulty.outcomes) if (outcome.includes('planted')) count(counts, 'failed planted');
  await compareWithoutFailures(run, engine, commands, faulty);
}

/**
 * Checks that the commands that did not fail have the same result without the failed ones, in one call and one by one.
 */
async function compareWithoutFailures(
  run: Run,
  engine: Engine,
  commands: readonly Command[],
  whole: Ran,
): Promise<void> {
  const isFailed = (index: number): boolean => whole.outcomes[index]!.startsWith('failed');
  const others = commands.filter((_command, index) => !isFailed(index));
  const outcomes = whole.outcomes.filter((_outcome, index) => !isFailed(index));
  const expected = { outcomes, contents: whole.contents };
  for (const together of [true, false]) {
    const actual = await run(engine, others, together);
    compareRuns(`without those that fail, ${together ? 'together' : 'one by one'}`, actual, expected);
  }
}

function compareRuns(what: string, actual: Ran, whole: Ran): void {
  for (const [index, outcome] of whole.outcomes.entries())
    compare(`${what}: outcome ${index}`, actual.outcomes[index], outcome);
  for (const key of new Set([...Object.keys(whole.contents), ...Object.keys(actual.contents)]))
    compare(`${what}: ${key}`, actual.contents[key], whole.contents[key]);
}

function count(counts: Map<string, number>, outcome: string): void {
  const word = /^[{[]/.test(outcome) ? 'answered' : outcome.replaceAll(/0x\w+|\d+/g, '');
  counts.set(word, (counts.get(word) ?? 0) + 1);
}

async function outcomeOf(command: Command, engine: Engine): Promise<string> {
  try {
    return JSON.stringify(await command(engine), (_name, part) =>
      typeof part === 'bigint' ? `${part}` : part,
    );
  } catch (error) {
    if (error instanceof Refusal) return `refused ${error.code}`;
    const message = error instanceof Error ? error.message : String(error);
    return `failed ${message.replace(/^\w+ failed: /, '').replace(/ script: .*/, '')}`;
  }
}

// --- the stage --------------------------------------------------------------------------------------------

/** Creates a market with orders of every wallet on both sides. */
async function prepare({ redis, engine, dice }: Stage): Promise<void> {
  await redis.flushdb();
  await engine.lifecycle.open({ epoch: 0, sequence: 0 });
  const rules = { feeBps: dice.pick([0, 30]), selfTrade: dice.pick(SELF_TRADE_POLICIES) };
  await publishPlain(engine, M, rules);
  await Promise.all(WALLETS.map((wallet) => fund(engine, wallet, { USD: 3_000n, ETH: 40n })));
  for (let index = 0; index < 40; index += 1) {
    const side = dice.pick(['buy', 'sell'] as const);
    const price = side === 'buy' ? 100 - dice.below(6) : 101 + dice.below(6);
    const id = dice.chance(0.5) ? { clientOrderId: `before ${index}` } : {};
    const request = limit(M, side, price, 1 + dice.below(9), id);
    const order = { wallet: dice.pick(WALLETS), request };
    await outcomeOf((by) => by.orders.place(order), engine);
  }
}

/** Puts a copy back. The engine must be opened again, because it writes nothing on data older than what it has seen. */
async function goBack({ redis }: Stage, copy: RedisCopy, { lifecycle }: Engine): Promise<void> {
  await putBack(redis, copy);
  await lifecycle.open(undefined);
}

// --- commands ---------------------------------------------------------------------------------------------

interface Drawn {
  readonly wallet: string;
  readonly request: OrderRequest;
}

/** The orders of the last call. A fault is injected at one of their client order ids. */
const drawnOrders = new WeakMap<Stage, readonly Drawn[]>();

function drawOrders(stage: Stage): Command[] {
  const { dice } = stage;
  const size = 2 + dice.below(dice.pick([6, MAX_TOGETHER - 1]));
  const orders = Array.from({ length: size }, (_none, index) => drawOrder(dice, index));
  drawnOrders.set(stage, orders);
  return orders.map(
    (order) => (engine) => engine.orders.place({ ...order, ticket: firstCome(order.wallet) }),
  );
}

function drawOrder(dice: Random, index: number): Drawn {
  const wallet = dice.pick(WALLETS);
  const side: Side = dice.pick(['buy', 'sell'] as const);
  const price = 95 + dice.below(12);
  const size = 1 + dice.below(12);
  const id = dice.chance(0.1) ? `before ${dice.below(40)}` : `in the call ${dice.below(4 * index + 4)}`;
  const own = dice.chance(0.5) ? { clientOrderId: id } : {};
  const kind = dice.below(100);
  if (kind < 60) return { wallet, request: limit(M, side, price, size, own) };
  if (kind < 70) return { wallet, request: limit(M, side, price, size, { ...own, timeInForce: 'IOC' }) };
  if (kind < 78) return { wallet, request: limit(M, side, price, size, { ...own, timeInForce: 'FOK' }) };
  if (kind < 85) return { wallet, request: limit(M, side, price, size, { ...own, postOnly: true }) };
  if (kind < 93) return { wallet, request: atMarket(M, side, size, own) };
  return { wallet, request: spend(M, 50 + dice.below(2_000), own) };
}

/** Cancels single orders, some of them twice or of another wallet, or all orders of some wallets. */
async function drawCloses({ redis, dice }: Stage): Promise<Command[]> {
  if (dice.chance(0.3)) {
    const wallets = WALLETS.filter(() => dice.chance(0.6));
    return wallets.map((wallet) => (by) => by.orders.cancelAll(wallet, null));
  }
  const live = await redis.zrangeBuffer(KEYS.live, '0', '-1');
  const size = 2 + dice.below(dice.pick([6, MAX_TOGETHER - 1]));
  // Those of one caller are served in their order, also when some of them are left out.
  const caller = dice.chance(0.5) ? null : dice.pick(WALLETS);
  return Array.from({ length: size }, (): Command => {
    const id = dice.pick(live).toString('hex', 20, 37);
    return (by) => (caller === null ? by.orders.void(id) : by.orders.cancel(caller, id));
  });
}

// --- errors -----------------------------------------------------------------------------------------------

const DAMAGES = [
  brokenBalance,
  brokenReservation,
  brokenMember,
  brokenLevel,
  lostLive,
  otherRules,
  brokenClaims,
];

/**
 * Returns each kind of damage in turn, and up to two more. The record of a market with changed rules is kept, because
 * orders whose rules are stale read it again. Claims are not damaged if a market may be halted. In the same call as the
 * halt an order fails by its claim, but in a later call the replica refuses it because of the halt.
 */
async function drawDamages(stage: Stage, round: number): Promise<Damage[]> {
  const { dice } = stage;
  const more = Array.from({ length: dice.below(3) }, () => dice.pick(DAMAGES));
  const drawn = [...new Set([DAMAGES[round % DAMAGES.length]!, ...more])];
  const mayHalt = drawn.includes(brokenReservation) || drawn.includes(lostLive);
  const kinds = drawn.filter((kind) => kind !== brokenClaims || !mayHalt);
  const damages = await Promise.all(kinds.map((kind) => kind(stage)));
  const isRecordLost = dice.chance(0.2) && !kinds.includes(otherRules);
  return isRecordLost ? [...damages, (redis) => redis.hdel(KEYS.markets, M)] : damages;
}

const fieldOf = (wallet: string, part: 'a' | 'r'): Buffer =>
  Buffer.concat([Buffer.from(wallet.slice(2), 'hex'), Buffer.from(part)]);

/** Sets a balance to a text that is not an integer. */
function brokenBalance({ dice }: Stage): Damage {
  const key = balancesKey(dice.pick(['ETH', 'USD']));
  const field = fieldOf(dice.pick(WALLETS), dice.pick(['a', 'r'] as const));
  const text = dice.pick(NO_AMOUNTS);
  return (redis) => redis.hset(key, field, text);
}

/** Removes or reduces the reservation of one of the best makers. A match then fails to settle, and the market halts. */
async function brokenReservation({ redis, dice }: Stage): Promise<Damage> {
  const side = dice.pick(['bids', 'asks'] as const);
  const key = balancesKey(side === 'bids' ? 'USD' : 'ETH');
  const book = bookKey(M, side);
  const best = await redis.zrangeBuffer(book, '0', '3');
  if (best.length === 0) return async () => undefined;
  const field = Buffer.concat([dice.pick(best).subarray(15, 35), Buffer.from('r')]);
  return dice.chance(0.5) ? (on) => on.hdel(key, field) : (on) => on.hset(key, field, '1');
}

/** Replaces a member of a book with one that is too short or too long. */
async function brokenMember({ redis, dice }: Stage): Promise<Damage> {
  const key = bookKey(M, dice.pick(['bids', 'asks'] as const));
  const members = await redis.zrangeBuffer(key, '0', '-1');
  if (members.length === 0) return async () => undefined;
  const member = dice.pick(members.slice(0, 8));
  const other = dice.chance(0.7)
    ? member.subarray(0, 15 + dice.below(27))
    : Buffer.concat([member, Buffer.from('\0')]);
  return async (on) => {
    if ((await on.zrem(key, member)) === 1) await on.zadd(key, 0, other);
  };
}

/** Sets level sizes to a text that is not an integer. */
async function brokenLevel({ redis, dice }: Stage): Promise<Damage> {
  const key = levelsKey(M, dice.pick(['bids', 'asks'] as const));
  const fields = (await redis.hkeysBuffer(key)).filter(() => dice.chance(0.5));
  const text = dice.pick(NO_AMOUNTS);
  return async (on) => {
    for (const field of fields) await on.hset(key, field, text);
  };
}

/** Removes live orders from the list of live orders. */
async function lostLive({ redis, dice }: Stage): Promise<Damage> {
  const members = await redis.zrangeBuffer(KEYS.live, '0', '-1');
  const lost = members.filter(() => dice.chance(0.2));
  return async (on) => {
    for (const member of lost) await on.zrem(KEYS.live, member);
  };
}

/** Gives the market a version that the replica does not know. */
async function otherRules({ redis }: Stage): Promise<Damage> {
  const record = (await redis.hget(KEYS.markets, M))!;
  const { number, version } = JSON.parse(record);
  const other = version + 1;
  return async (on) => {
    await on.hset(KEYS.markets, M, record.replace(`"version":${version}`, `"version":${other}`));
    await on.hset(KEYS.engine, rulesField(number), `${other} ${M}`);
  };
}

/**
 * Replaces the current filter, or the one being filled, with a key of another type; or corrupts the record of a claim.
 */
function brokenClaims({ dice }: Stage): Damage {
  const kind = dice.below(3);
  if (kind === 0) {
    return async (redis) => {
      await redis.del(claimFilterKey(0, 0));
      await redis.hset(claimFilterKey(0, 0), 'no', 'filter');
    };
  }
  if (kind === 1) {
    return async (redis) => {
      await redis.hset(KEYS.engine, 'filter', '0/4096 1/4096');
      await redis.hset(claimFilterKey(1, 0), 'no', 'filter');
    };
  }
  const { field } = orderClaim(dice.pick(WALLETS), `before ${dice.below(40)}`);
  return async (redis) => {
    for (const key of KEYS.claims) if (await redis.hexists(key, field)) await redis.hset(key, field, 'x');
  };
}

/** Lua that raises an error for one client order id, or at a random read of the call. */
function drawFault(stage: Stage): string {
  const { dice } = stage;
  const named = drawnOrders.get(stage)!.filter(({ request }) => request.clientOrderId !== null);
  if (named.length > 0 && dice.chance(0.5)) {
    const { wallet, request } = dice.pick(named);
    const { offset } = placeInFilter(orderClaim(wallet, request.clientOrderId!), FILTER);
    return spied(`
      if command == 'GETRANGE' and tonumber((select(2, ...))) == ${offset} then error('planted', 0) end`);
  }
  return spied(`
      if string.find(' HMGET HGET ZRANGE GETRANGE EXISTS ZLEXCOUNT ', ' ' .. command .. ' ', 1, true) then
        redis.reads = redis.reads + 1
        if redis.reads == ${1 + dice.below(60)} then error('planted', 0) end
      end`);
}
