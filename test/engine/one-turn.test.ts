/**
 * Tests the calls in which orders and cancels of one turn are sent: their size, their order, and the effect of a lost
 * call.
 */

import { expect } from 'chai';
import type { Command, Redis } from 'ioredis';
import { CANCELLING_REQUEST, CLOSE_OUTCOMES } from '../../src/engine/cancelling-call.ts';
import { FILL_BYTES, REFERENCE_BYTES } from '../../src/engine/codec.ts';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { OUTCOMES, PLACED, PLACING_ORDER } from '../../src/engine/placing-call.ts';
import { loadScript, type Script } from '../../src/redis/lua.ts';
import { loadPlanted, plantedFor } from '../planted/planted.ts';
import { type Link, openLink } from '../support/link.ts';
import { openRedis } from '../support/redis-server.ts';
import { type Random, random, runSeed } from '../support/seed.ts';
import { loneRedis, sharedRedis } from '../support/servers.ts';
import { ALICE, atMarket, BOB, codeOf, eventsOf, fund, limit, place, publishPlain } from './fixture.ts';

const M = 'ETH/USD';
const OTHER = 'BTC/USD';
const MAX_TOGETHER = 64;
const MAX_OF_WALLET = 16;
const MAX_MAKERS_OF_CALL = 200;
const MAX_ORDERS_OF_CALL = 200;
/** Maximum orders of one request when all orders of a wallet are cancelled. */
const MAX_ORDERS_OF_REQUEST = 100;
const MAX_MAKERS = 150;
const MAKERS = Array.from({ length: 7 }, (_none, index) => `0x${`c${index}`.repeat(20)}`);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One call as sent, and its reply. */
interface Call {
  /** Bytes of the orders or of the requests. */
  readonly args: readonly Buffer[];
  readonly reply: Promise<Buffer[]>;
}

interface EngineFixture {
  readonly redis: Redis;
  readonly engine: Engine;
  readonly calls: { place_orders: Call[]; cancel_orders: Call[] };
  /** Holds replies back from the engine until `release`. */
  pause(): void;
  release(): void;
  close(): void;
}

async function openRecorded(load: (name: string) => Script = loadScript): Promise<EngineFixture> {
  const url = await sharedRedis();
  const redis = openRedis(url);
  const connection = openRedis(url, 'engine-all');
  await redis.flushdb();
  const engine = openEngine({ redis: connection, load, maxMakers: MAX_MAKERS, maxLiveOrders: 10_000 });
  await engine.lifecycle.open({ epoch: 0, sequence: 0 });
  await publishPlain(engine, M);
  await publishPlain(engine, OTHER);
  await fund(engine, BOB, { USD: 10n ** 12n, ETH: 10n ** 6n });
  // Loads both scripts, so that each call is one command from now on.
  const { order } = await place(engine, BOB, limit(M, 'buy', 1, 1));
  await engine.orders.cancel(BOB, order.id);
  const calls: EngineFixture['calls'] = { place_orders: [], cancel_orders: [] };
  const recorder = record(connection, load, calls);
  const close = (): void => {
    redis.disconnect();
    connection.disconnect();
  };
  return { redis, engine, calls, ...recorder, close };
}

function record(
  connection: Redis,
  load: (name: string) => Script,
  calls: EngineFixture['calls'],
): Pick<EngineFixture, 'pause' | 'release'> {
  const names = new Map(
    (['place_orders', 'cancel_orders'] as const).map((name) => [load(name).sha, name] as const),
  );
  let gate = Promise.resolve();
  let release = (): void => undefined;
  const send = connection.sendCommand.bind(connection);
  connection.sendCommand = (command: Command, ...rest: never[]) => {
    const [sha, keys, ...args] = command.args as [string, string, ...Buffer[]];
    const name = names.get(sha);
    const reply = send(command, ...rest) as Promise<Buffer[]>;
    if (name === undefined) return reply;
    const passed = Promise.all([reply, gate]).then(([answer]) => answer);
    calls[name].push({ args: args.slice(Number(keys) + 1), reply: passed });
    return passed;
  };
  return {
    pause() {
      gate = new Promise((resolve) => {
        release = resolve;
      });
    },
    release: () => release(),
  };
}

/** Places asks of one step each, at rising prices, from several wallets. */
async function quote(engine: Engine, count: number): Promise<void> {
  for (const wallet of MAKERS) await fund(engine, wallet, { ETH: BigInt(count) });
  await Promise.all(
    Array.from({ length: count }, (_none, index) =>
      place(engine, MAKERS[index % MAKERS.length]!, limit(M, 'sell', 100 + index, 1)),
    ),
  );
}

describe('engine: orders of one turn of the event loop', () => {
  let fixture: EngineFixture;
  afterEach(() => fixture?.close());

  it('sends them at the end of the turn in order of arrival, 64 in a call, one call after the other', async () => {
    fixture = await openRecorded();
    const { engine, calls } = fixture;
    for (const wallet of MAKERS) await fund(engine, wallet, { USD: 10_000n });
    fixture.pause();
    const placing = Array.from({ length: 2 * MAX_TOGETHER + 2 }, (_none, index) =>
      place(engine, MAKERS[index % MAKERS.length]!, limit(M, 'buy', 1 + index, 1)),
    );
    expect(calls.place_orders, 'before the turn has ended').to.have.length(0);
    await turn();
    await turn();
    expect(calls.place_orders, 'when the turn has ended').to.have.length(1);
    for (let turns = 0; turns < 20; turns += 1) await turn();
    expect(calls.place_orders, 'while the first call is on its way').to.have.length(1);
    fixture.release();
    const placed = await Promise.all(placing);
    expect(calls.place_orders.map(({ args }) => args.length)).to.deep.equal([MAX_TOGETHER, MAX_TOGETHER, 2]);
    const sequences = placed.map(({ order }) => order.sequence);
    expect(sequences).to.deep.equal([...sequences].sort((a, b) => a - b));
  });

  it('sends 16 orders of one wallet in a call, so that no other wallet waits for a long call', async () => {
    fixture = await openRecorded();
    const { engine, calls } = fixture;
    await fund(engine, ALICE, { USD: 10n });
    fixture.pause();
    const placing = [place(engine, BOB, limit(M, 'buy', 1, 1))];
    await turn();
    await turn();
    for (let price = 2; price < 2 * MAX_OF_WALLET; price += 1)
      placing.push(place(engine, BOB, limit(M, 'buy', price, 1)));
    placing.push(place(engine, ALICE, limit(M, 'buy', 1, 1)));
    fixture.release();
    await Promise.all(placing);
    expect(calls.place_orders.map(({ args }) => args.length)).to.deep.equal([1, MAX_OF_WALLET + 1, 14]);
    const [, second] = calls.place_orders;
    expect(PLACING_ORDER.unpack(second!.args[0]!).wallet).to.equal(ALICE);
  });

  it('collects the next call of a market while one is on its way, and lets another market go ahead', async () => {
    fixture = await openRecorded();
    const { engine, calls } = fixture;
    const placing = [place(engine, BOB, limit(M, 'buy', 1, 1))];
    fixture.pause();
    for (let price = 2; price <= 6; price += 1) {
      await turn();
      await turn();
      placing.push(place(engine, BOB, limit(M, 'buy', price, 1)));
      if (price === 4) placing.push(place(engine, BOB, limit(OTHER, 'buy', 1, 1)));
    }
    await turn();
    await turn();
    const pricesOf = (call: Call): number[] =>
      call.args.map((order) => Number(PLACING_ORDER.unpack(order).priceTicks));
    expect(calls.place_orders.map(pricesOf)).to.deep.equal([[1], [1]]);
    fixture.release();
    await Promise.all(placing);
    expect(calls.place_orders.map(pricesOf)).to.deep.equal([[1], [1], [2, 3, 4, 5, 6]]);
  });

  it('sends orders without waiting for a timer', async () => {
    fixture = await openRecorded();
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const placing = place(fixture.engine, BOB, limit(M, 'buy', 1, 1));
    await Promise.resolve();
    expect(timers()).to.equal(before);
    await placing;
  });

  it('ends a call when it has met 200 makers, and keeps the turn of the orders left out', async () => {
    fixture = await openRecorded();
    await meetMany(fixture, random(runSeed()));
  });

  it('ends a call at its bounds in the run that broken scripts are given', async () => {
    fixture = await openRecorded();
    await meetMany(fixture, random(1));
  });

  it('cancels 16 requests of a wallet in a call, and ends it when 200 orders are closed', async () => {
    fixture = await openRecorded();
    await closeMany(fixture, random(runSeed()));
  });

  for (const fault of plantedFor('bounds')) {
    it(`finds a script that ${fault.name}`, async () => {
      fixture = await openRecorded(loadPlanted(fault));
      const scenario = fault.changes[0]!.target === 'place_orders' ? meetMany : closeMany;
      const found = await scenario(fixture, random(1)).then(
        () => undefined,
        (error: Error) => error.name,
      );
      expect(found).to.equal('AssertionError');
    });
  }
});

/** Places orders that match up to MAX_MAKERS each, some of them killed, against a book deep enough for all. */
async function meetMany({ engine, calls }: EngineFixture, dice: Random): Promise<void> {
  await quote(engine, 1_200);
  calls.place_orders.length = 0;
  const requests = Array.from({ length: 20 }, () => {
    // Makers that a rejected order meets count too: this order is killed because it meets too many makers.
    if (dice.chance(0.3)) return atMarket(M, 'buy', MAX_MAKERS + 1, { timeInForce: 'FOK' });
    return atMarket(M, 'buy', 1 + dice.below(70));
  });
  const placed = await Promise.all(requests.map((request) => place(engine, BOB, request)));
  const metBy = (reply: Buffer): number =>
    PLACED.unpack(reply).reason === null ? (reply.length - PLACED.sizeAt(reply, 0)) / FILL_BYTES : MAX_MAKERS;
  let left = requests.length;
  for (const { args, reply } of calls.place_orders) {
    expect(args, 'a call has all that is left').to.have.length(Math.min(left, MAX_OF_WALLET));
    const [, ...outcomes] = await reply;
    const isTouched = outcomes.map(([code]) => code !== OUTCOMES.untouched);
    const touched = isTouched.lastIndexOf(true) + 1;
    expect(isTouched.indexOf(false), 'orders are left out from one on').to.be.oneOf([touched, -1]);
    const met = outcomes.slice(0, touched).map(metBy);
    const before = met.slice(0, -1).reduce((sum, one) => sum + one, 0);
    expect(before, 'makers met before the last order').to.be.below(MAX_MAKERS_OF_CALL);
    if (touched < args.length) expect(before + met.at(-1)!).to.be.at.least(MAX_MAKERS_OF_CALL);
    left -= touched;
  }
  expect(left).to.equal(0);
  expect(calls.place_orders.length).to.be.above(2);
  const sequences = placed.map(({ order }) => order.sequence);
  expect(sequences, 'first come first').to.deep.equal([...sequences].sort((a, b) => a - b));
  const prices = placed.flatMap(({ trades }) => trades.map(({ priceTicks }) => priceTicks));
  expect(prices).to.deep.equal(prices.map((_price, index) => BigInt(100 + index)));
}

/** Cancels single orders, then all orders of several wallets, page by page. */
async function closeMany({ engine, calls }: EngineFixture, dice: Random): Promise<void> {
  await quote(engine, 700 + dice.below(60));
  const live = await Promise.all(
    Array.from({ length: MAX_TOGETHER + 6 }, (_none, index) =>
      place(engine, BOB, limit(M, 'buy', 1 + index, 1)),
    ),
  );
  await Promise.all(live.map(({ order }) => engine.orders.cancel(BOB, order.id)));
  const full = Math.floor(live.length / MAX_OF_WALLET);
  expect(calls.cancel_orders.map(({ args }) => args.length)).to.deep.equal([
    ...Array(full).fill(MAX_OF_WALLET),
    live.length % MAX_OF_WALLET,
  ]);
  calls.cancel_orders.length = 0;
  await Promise.all(MAKERS.map((wallet) => engine.orders.cancelAll(wallet, null)));
  expect((await engine.reads.book(M, 1))!.asks).to.deep.equal([]);
  let whole = 0;
  for (const { args, reply } of calls.cancel_orders) {
    const [, ...outcomes] = await reply;
    const named = args
      .filter((_request, index) => outcomes[index]![0] !== CLOSE_OUTCOMES.untouched)
      .map((request) => CANCELLING_REQUEST.unpack(request).references.length / REFERENCE_BYTES);
    const before = named.slice(0, -1).reduce((sum, one) => sum + one, 0);
    expect(before, 'orders named before the last request').to.be.below(MAX_ORDERS_OF_CALL);
    expect(Math.max(...named)).to.be.at.most(MAX_ORDERS_OF_REQUEST);
    if (named.length < args.length) whole += 1;
  }
  expect(whole, 'calls that left requests out').to.be.above(0);
}

describe('engine: a script reply that is lost', () => {
  let link: Link;
  let direct: Redis;
  let connection: Redis;
  let engine: Engine;

  const openThrough = async (commandTimeout: number): Promise<void> => {
    const url = await loneRedis();
    link = await openLink(url);
    direct = openRedis(url);
    connection = openRedis(link.url, 'engine-all', {
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout,
      retryStrategy: () => 20,
    });
    connection.on('error', () => undefined);
    await new Promise((resolve) => connection.once('ready', resolve));
    engine = openEngine({ redis: connection, maxMakers: 100, maxLiveOrders: 100 });
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    await publishPlain(engine, M);
    for (const wallet of [ALICE, BOB]) await fund(engine, wallet, { USD: 1_000n });
    const { order } = await place(engine, ALICE, limit(M, 'buy', 1, 1));
    await engine.orders.cancel(ALICE, order.id);
  };
  afterEach(() => {
    connection.disconnect();
    direct.disconnect();
    link.close();
  });

  const named = (wallet: string, clientOrderId: string): Promise<unknown> =>
    place(engine, wallet, limit(M, 'buy', 2, 1, { clientOrderId }));
  const untilEvents = async (count: number): Promise<void> => {
    while ((await direct.xlen(KEYS.events)) < count) await turn();
  };
  const reopen = async (): Promise<void> => {
    await link.mend();
    if (connection.status !== 'ready') await new Promise((resolve) => connection.once('ready', resolve));
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
  };
  const outcomes = (placing: readonly Promise<unknown>[]): Promise<string[]> =>
    Promise.all(
      placing.map((one) =>
        one.then(
          () => 'placed',
          (error) => error.code,
        ),
      ),
    );
  const known = async (ids: readonly string[]): Promise<string[]> =>
    Promise.all(ids.map(async (id) => (await engine.orders.find(ALICE, id)).outcome));

  it('fails each order of its call, which is found by its client order id, and places none that waited', async () => {
    await openThrough(2_000);
    const events = await direct.xlen(KEYS.events);
    link.mute();
    const sent = ['a', 'b', 'c'].map((id) => named(ALICE, id));
    await untilEvents(events + 3);
    const waiting = ['d', 'e'].map((id) => named(ALICE, id));
    const all = outcomes([...sent, ...waiting]);
    await turn();
    link.cut();
    expect(await all).to.deep.equal(Array(5).fill('SERVICE_UNAVAILABLE'));
    await reopen();
    expect(await known(['a', 'b', 'c', 'd', 'e'])).to.deep.equal([
      ...Array(3).fill('claimed'),
      ...Array(2).fill('unclaimed'),
    ]);
    expect(await outcomes([named(ALICE, 'd')]), 'an id that was not used').to.deep.equal(['placed']);
    expect((await eventsOf(engine)).length).to.equal(events + 4);
  });

  it('fails only its own call when it is late, and sends the orders that wait', async () => {
    await openThrough(400);
    const events = await direct.xlen(KEYS.events);
    link.mute();
    const sent = outcomes(['a', 'b'].map((id) => named(ALICE, id)));
    await untilEvents(events + 2);
    const waiting = outcomes(['c', 'd'].map((id) => named(BOB, id)));
    expect(await sent).to.deep.equal(['SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE']);
    await link.mend();
    expect(await waiting).to.deep.equal(['placed', 'placed']);
    expect(await known(['a', 'b'])).to.deep.equal(['claimed', 'claimed']);
  });

  it('fails each cancel of its call, although the orders are cancelled', async () => {
    await openThrough(2_000);
    const ids = await Promise.all(
      [3, 4, 5].map(async (price) => (await place(engine, ALICE, limit(M, 'buy', price, 1))).order.id),
    );
    const events = await direct.xlen(KEYS.events);
    link.mute();
    const cancels = outcomes(ids.slice(0, 2).map((id) => engine.orders.cancel(ALICE, id)));
    await untilEvents(events + 2);
    link.cut();
    expect(await cancels).to.deep.equal(['SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE']);
    await reopen();
    expect(await codeOf(engine.orders.cancel(ALICE, ids[0]!))).to.equal('ORDER_NOT_FOUND');
    expect(await engine.orders.liveCount(ALICE)).to.equal(1);
  });
});
