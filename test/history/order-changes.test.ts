/** Proves that a wallet is told each change of its orders once, in the order of the engine, whatever happens meanwhile. */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { rebuildEngine } from '../../src/books/rebuild.ts';
import { Refusal } from '../../src/domain/errors.ts';
import type { EngineEvent } from '../../src/domain/event.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { type ChangePlace, presentPlace, readChanges } from '../../src/history/order-changes.ts';
import { findOrder } from '../../src/history/order-history.ts';
import type { OrderWithFills } from '../../src/history/shown-fills.ts';
import { ALICE, BOB, CAROL, fund, publishPlain } from '../engine/fixture.ts';
import { type Exchange, openExchange } from '../support/exchange.ts';
import { LIMITS } from '../support/limits.ts';
import { copyOf, putBack } from '../support/redis-copy.ts';
import { openRedis } from '../support/redis-server.ts';
import { type Random, random, runSeed } from '../support/seed.ts';
import { freshRedisServer } from '../support/servers.ts';

const WALLETS = [ALICE, BOB, CAROL];
const MARKETS = { 'ETH/USD': 'expire_maker', 'BTC/USD': 'expire_taker' } as const;
const STEPS = 600;
const SETTINGS = { maxFillsPerOrder: 3, maxFillsPerReply: 12 };

/** A change as the events tell it: order, ids of its fills, time. */
type Told = readonly [orderId: string, fills: readonly string[], timeMs: number];

function changesOf(wallet: string, events: readonly EngineEvent[]): Told[] {
  return events.flatMap((event): Told[] => {
    const { timeMs } = event;
    if (event.kind === 'orders_closed' || event.kind === 'order_placed') {
      const closed = event.kind === 'orders_closed' ? event.orders : event.expired;
      const own = closed.filter((order) => order.wallet === wallet).map(({ id }) => id);
      const [trades, placed] = event.kind === 'order_placed' ? [event.trades, event.order] : [[], undefined];
      const ids = trades.map(({ tradeId }) => `${tradeId}`).slice(-SETTINGS.maxFillsPerOrder);
      return [
        ...(placed?.wallet === wallet ? [[placed.id, ids, timeMs] as const] : []),
        ...trades
          .filter(({ makerWallet }) => makerWallet === wallet)
          .map(({ makerOrderId, tradeId }) => [makerOrderId, [`${tradeId}`], timeMs] as const),
        ...own.sort().map((id) => [id, [], timeMs] as const),
      ];
    }
    return [];
  });
}

/** Returns an order as text: what replies show of it. */
function textOf(found: OrderWithFills | undefined): string {
  const { fills: _, ...order } = (found?.order ?? {}) as Record<string, unknown>;
  const members = [...Object.entries(order).sort(), ['shown', found?.shown]];
  return JSON.stringify(members, (_name, value) => (typeof value === 'bigint' ? `${value}` : value));
}

async function expectGone(read: Promise<unknown>): Promise<void> {
  const refusal = await read.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(refusal).to.be.an.instanceof(Refusal);
  expect(refusal).to.have.property('code', 'VALIDATION_ERROR');
  expect(refusal).to.have.property('message').that.includes('put back');
}

/** Reads changes as a client does, and holds each reply against the events. */
class Watcher {
  readonly wallet: string;
  place: ChangePlace;
  /** Changes of the wallet before the place. */
  told: number;

  constructor(wallet: string, place: ChangePlace, told: number) {
    [this.wallet, this.place, this.told] = [wallet, place, told];
  }

  async read(
    engine: Engine,
    { ledger }: Exchange,
    log: readonly EngineEvent[],
    limit: number,
  ): Promise<void> {
    const all = changesOf(this.wallet, log);
    const stores = { engine, ledger, settings: SETTINGS };
    const { changes, place, more } = await readChanges(stores, this.wallet, this.place, limit);
    const left = all.slice(this.told);
    const found = changes.map(({ orderId, fills, timeMs }) => [
      orderId,
      fills.map(({ tradeId }) => tradeId),
      timeMs,
    ]);
    expect(found).to.deep.equal(left.slice(0, changes.length));
    expect(changes.length > 0 || left.length === 0, 'tells something').to.equal(true);
    expect(more, 'more').to.equal(left.length > changes.length);
    for (const { order } of changes)
      expect(textOf(order)).to.equal(textOf(await findOrder(stores, this.wallet, order.order.id)));
    this.place = place;
    this.told += changes.length;
  }
}

describe('changes of orders', () => {
  let exchange: Exchange;
  let other: Engine;
  let redis: Redis;
  let close: () => void;
  /** All events of the present history. */
  let log: EngineEvent[];

  before(async () => {
    exchange = await openExchange({ poolSize: 2 });
    const { engine, redisUrl } = exchange;
    for (const [symbol, selfTrade] of Object.entries(MARKETS))
      await publishPlain(engine, symbol, { selfTrade });
    for (const wallet of WALLETS)
      await fund(engine, wallet, { ETH: 1_000_000n, BTC: 1_000_000n, USD: 10_000_000n });
    redis = openRedis(redisUrl);
    const connection = openRedis(redisUrl, 'engine-all');
    other = openEngine({ redis: connection, ...LIMITS });
    await other.lifecycle.open(await exchange.ledger.settlement.cursor());
    close = () => {
      for (const one of [redis, connection]) one.disconnect();
    };
    log = await engine.outbox.readEvents({ epoch: 0, sequence: 0 }, 1_000);
  });
  after(async () => {
    close();
    await exchange.close();
  });

  const order = (dice: Random, market: string) => ({
    market,
    side: dice.pick(['buy', 'sell'] as const),
    type: 'limit' as const,
    leverage: null,
    timeInForce: dice.pick(['GTC', 'GTC', 'GTC', 'IOC', 'FOK'] as const),
    price: parseDecimal(`${95 + dice.below(10)}`),
    size: parseDecimal(`${1 + dice.below(9)}`),
    clientOrderId: null,
    postOnly: dice.chance(0.1),
    reduceOnly: false,
  });

  const command = (dice: Random, engine: Engine): Promise<unknown> => {
    const wallet = dice.pick(WALLETS);
    const market = dice.pick(Object.keys(MARKETS));
    if (dice.chance(0.05)) return engine.orders.cancelAll(wallet, dice.chance(0.5) ? market : null);
    if (dice.chance(0.01)) return engine.orders.clear(market);
    return engine.orders.place({ wallet, request: order(dice, market) });
  };

  const noteEvents = async (): Promise<void> => {
    const last = log.at(-1)!;
    const events = await exchange.engine.outbox.readEvents(last, 10_000);
    log.push(...events.filter(({ sequence }) => sequence > last.sequence));
  };

  /** Opens both engines again. @param loses true: the server lost what is not settled */
  const reopen = async (loses: boolean, watchers: readonly Watcher[]): Promise<void> => {
    const { engine, ledger } = exchange;
    const { sequence } = await ledger.settlement.cursor();
    if (loses) {
      log = log.filter((event) => event.sequence <= sequence);
      await redis.flushdb();
      for (const one of [engine, other]) await one.lifecycle.confirm().catch(() => undefined);
      await rebuildEngine({ engine, ledger });
    } else await redis.hset(KEYS.engine, 'server', 'of another run');
    for (const one of [engine, other]) {
      await one.lifecycle.confirm().catch(() => undefined);
      await one.lifecycle.open(await ledger.settlement.cursor());
    }
    const ahead = loses ? watchers.filter(({ place }) => place.sequence > sequence) : [];
    const stores = { ...exchange, settings: SETTINGS };
    for (const watcher of ahead) {
      await expectGone(readChanges(stores, watcher.wallet, watcher.place, 1));
      watcher.place = await presentPlace(stores);
      watcher.told = changesOf(watcher.wallet, log).length;
    }
  };

  it('are told once and in order over settlement, replicas, restarts and a lost engine', async () => {
    const dice = random(runSeed());
    const stores = { ...exchange, settings: SETTINGS };
    const watchers: Watcher[] = [];
    for (let step = 0; step < STEPS; step += 1) {
      const engine = dice.pick([exchange.engine, other]);
      await command(dice, engine).catch((error) => {
        if (!(error instanceof Refusal)) throw error;
      });
      await noteEvents();
      const isLast = step === STEPS - 1;
      if (dice.chance(0.2)) await exchange.settle({ behind: dice.below(6), trims: dice.chance(0.7) });
      if (dice.chance(0.02)) await reopen(dice.chance(0.5), watchers);
      if (watchers.length < 8 && dice.chance(0.05)) {
        const wallet = dice.pick(WALLETS);
        watchers.push(new Watcher(wallet, await presentPlace(stores), changesOf(wallet, log).length));
      }
      for (const watcher of watchers)
        if (isLast || dice.chance(0.1)) await watcher.read(engine, exchange, log, 1 + dice.below(5));
    }
    for (const watcher of watchers) {
      let before = -1;
      while (before !== watcher.told) {
        before = watcher.told;
        await watcher.read(exchange.engine, exchange, log, 100);
      }
      expect(watcher.told).to.equal(changesOf(watcher.wallet, log).length);
    }
    expect(watchers.length).to.be.equal(8);
  });

  it('are refused after a place of the time before engine and Postgres were put back', async () => {
    const first = await openExchange();
    await publishPlain(first.engine, 'ETH/USD');
    await fund(first.engine, ALICE, { ETH: 1_000_000n, USD: 10_000_000n });
    await first.settle();
    const firstServer = openRedis(first.redisUrl);
    const copy = await copyOf(firstServer);
    const place = ({ engine }: Exchange) =>
      engine.orders.place({ wallet: ALICE, request: order(random(1), 'ETH/USD') });
    const restart = async ({ redis: server, engine, ledger }: Exchange): Promise<void> => {
      await server.hset(KEYS.engine, 'server', 'of another run');
      await engine.lifecycle.confirm().catch(() => undefined);
      await engine.lifecycle.open(await ledger.settlement.cursor());
    };
    await restart(first);
    await place(first);
    const told = await presentPlace({ ...first, settings: SETTINGS });

    const { url: redisUrl } = await freshRedisServer();
    const secondServer = openRedis(redisUrl);
    await putBack(secondServer, copy);
    const { databaseUrl } = first;
    const second = await openExchange({ redisUrl, databaseUrl });
    const stores = { ...second, settings: SETTINGS };
    const { epoch, runId } = second.engine.lifecycle.position;
    expect(epoch, 'the epoch has the same number').to.equal(told.epoch);
    await second.ledger.epochs.note({ epoch, server: runId });
    const present = await presentPlace(stores);
    for (let placed = 0; placed < 3; placed += 1) await place(second);
    await expectGone(readChanges(stores, ALICE, told, 10));
    await second.settle();
    await restart(second);
    await place(second);
    await expectGone(readChanges(stores, ALICE, told, 10));
    expect((await readChanges(stores, ALICE, present, 10)).changes).to.have.length(4);
    for (const one of [first, second]) await one.close();
    for (const server of [firstServer, secondServer]) server.disconnect();
  });
});
