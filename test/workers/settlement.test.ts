/**
 * Proves that the settlement worker settles in batches, retries after failures, and stops if engine and ledger
 * contradict each other.
 */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import pg from 'pg';
import { pino } from 'pino';
import { Refusal } from '../../src/domain/errors.ts';
import { type Cursor, type EngineEvent, weightOf } from '../../src/domain/event.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import type { OrderRequest } from '../../src/order/request.ts';
import { connectRedis } from '../../src/redis/connections.ts';
import { createSettlementWorker, type EventSource } from '../../src/workers/settlement.ts';
import { liveContents } from '../support/engine-contents.ts';
import { asUser } from '../support/redis-server.ts';
import { type Random, random, runSeed } from '../support/seed.ts';
import { POISONED_TEXTS, seededEvents, WALLETS } from '../support/seeded-events.ts';
import { freshLedgerDatabase, freshRedis } from '../support/servers.ts';

/** Silent, because these tests check behaviour, not the log. */
const log = pino({ level: 'silent' });

/** Replaces the engine's stream with one that ends where a test wants. */
class ShortStream implements EventSource {
  readonly outbox = this;
  readonly reads = this;
  readonly events: EngineEvent[];
  readonly trimmed: Cursor[] = [];
  readCount = 0;
  failure: Error | undefined;
  /** Position of the engine, if it is not the last event of the stream. */
  position: Cursor | undefined;

  constructor(events: EngineEvent[]) {
    this.events = events;
  }
  async readEvents(after: Cursor, count: number, weight: number): Promise<EngineEvent[]> {
    this.readCount += 1;
    if (this.failure) throw this.failure;
    let left = weight;
    return this.events
      .filter(({ sequence }) => sequence >= after.sequence)
      .slice(0, count + 1)
      .filter((event) => {
        const fits = left > 0;
        if (event.sequence > after.sequence) left -= weightOf(event);
        return fits;
      });
  }
  async trim(cursor: Cursor): Promise<void> {
    this.trimmed.push(cursor);
  }
  async state(): Promise<Cursor> {
    return this.position ?? this.events.at(-1)!;
  }
}

describe('settlement', () => {
  const ledgers: Ledger[] = [];

  const freshLedger = async (): Promise<Ledger> => {
    const ledger = openLedger({ databaseUrl: await freshLedgerDatabase() });
    ledgers.push(ledger);
    return ledger;
  };

  after(async () => {
    await Promise.all(ledgers.map((ledger) => ledger.close()));
  });

  it('settles batch by batch until nothing is left, and trims the events of the engine', async () => {
    const ledger = await freshLedger();
    const stream = new ShortStream(seededEvents(11).next(250));
    const startedMs = Date.now();
    const settlement = createSettlementWorker({
      engine: stream,
      ledger: ledger.settlement,
      log,
      batchSize: 20,
    });
    expect(await settlement.lag()).to.deep.include({ lagEvents: 250, lastSettledAtMs: null });
    expect((await settlement.lag()).lagMs).to.be.above(0);
    await settlement.run();
    expect(await ledger.settlement.cursor()).to.include({ sequence: 250 });
    // One batch in eight waits for the disk, and the last one.
    expect(stream.trimmed.map(({ sequence }) => sequence)).to.deep.equal([161, 250]);
    const { lastSettledAtMs, ...lag } = await settlement.lag();
    expect(lag).to.deep.equal({ lagEvents: 0, lagMs: 0 });
    expect(lastSettledAtMs).to.be.within(startedMs - 1_000, Date.now() + 1_000);
  });

  it('flushes and trims a last batch that is full', async () => {
    const ledger = await freshLedger();
    const stream = new ShortStream(seededEvents(11).next(61));
    await createSettlementWorker({ engine: stream, ledger: ledger.settlement, log, batchSize: 20 }).run();
    expect(stream.trimmed.map(({ sequence }) => sequence)).to.deep.equal([61]);
  });

  it('trims only events of batches that it has flushed itself', async () => {
    const ledger = await freshLedger();
    const stream = new ShortStream(seededEvents(11).next(250));
    const flushed: Cursor[] = [];
    const settlement = createSettlementWorker({
      engine: stream,
      ledger: {
        ...ledger.settlement,
        async settle(events, options) {
          const settled = await ledger.settlement.settle(events, options);
          if (settled.isFlushed) flushed.push(settled);
          return settled;
        },
      },
      log,
      batchSize: 20,
    });
    // Other processes lock the cursor at times, and settle in between.
    const others = ledger.settlement.settle(stream.events.slice(0, 90), { flush: false });
    for (; (await ledger.settlement.cursor()).sequence < 250; await sleep(5)) await settlement.run();
    await Promise.all([others, settlement.run()]);
    expect(stream.trimmed).to.deep.equal(flushed);
    expect(stream.trimmed.at(-1)).to.include({ sequence: 250 });
  });

  it('stops for good when the engine and the ledger contradict each other', async () => {
    const ledger = await freshLedger();
    const stream = new ShortStream(seededEvents(12).next(50));
    await createSettlementWorker({ engine: stream, ledger: ledger.settlement, log }).run();
    stream.events.splice(0, 50, ...seededEvents(13).next(60));
    const settlement = createSettlementWorker({ engine: stream, ledger: ledger.settlement, log });
    await settlement.run();
    expect(settlement.diverged()).to.equal(true);
    const { readCount } = stream;
    await settlement.run();
    expect(stream.readCount).to.equal(readCount);
    expect(await ledger.settlement.cursor()).to.include({ sequence: 50 });
  });

  it('continues when the engine was rebuilt between reading a batch and settling it', async () => {
    const ledger = await freshLedger();
    const events = seededEvents(16).next(60);
    await ledger.settlement.settle(events.slice(0, 40));
    const stream = new ShortStream(events);
    const readEvents = stream.readEvents.bind(stream);
    stream.readEvents = async (after, count, weight) => {
      const batch = await readEvents(after, count, weight);
      if (stream.events.length > 0) {
        await ledger.settlement.atRest(({ fence }) => fence(101));
        stream.events.length = 0;
        stream.position = { epoch: 101, sequence: 40 };
      }
      return batch;
    };
    const settlement = createSettlementWorker({ engine: stream, ledger: ledger.settlement, log });
    await settlement.run();
    expect(settlement.diverged()).to.equal(false);
    expect(await ledger.settlement.cursor()).to.include({ epoch: 101, sequence: 40 });
  });

  describe('that finds no event although the engine is at a later one', () => {
    /** A stream that lacks the last event, and a settlement that has settled all others. */
    const openShort = async () => {
      const ledger = await freshLedger();
      const events = seededEvents(12).next(51);
      const last = events.at(-1)!;
      const stream = new ShortStream(events.slice(0, -1));
      stream.position = last;
      await ledger.settlement.settle(stream.events);
      const settlement = createSettlementWorker({ engine: stream, ledger: ledger.settlement, log });
      return { ledger, stream, settlement, last };
    };
    const settled = async (ledger: Ledger): Promise<number> => (await ledger.settlement.cursor()).sequence;

    it('stops for good', async () => {
      const { ledger, settlement } = await openShort();
      await settlement.run();
      expect(settlement.diverged()).to.equal(true);
      expect(await settled(ledger)).to.equal(50);
    });

    it('continues when the event came after the first read', async () => {
      const { ledger, stream, settlement, last } = await openShort();
      stream.state = async () => {
        if (stream.events.at(-1) !== last) stream.events.push(last);
        return last;
      };
      for (let runs = 0; runs < 2; runs += 1) await settlement.run();
      expect(settlement.diverged()).to.equal(false);
      expect(await settled(ledger)).to.equal(51);
    });

    it('continues when another process has settled the event, which was then trimmed', async () => {
      const { ledger, stream, settlement, last } = await openShort();
      stream.state = async () => {
        await ledger.settlement.settle([...stream.events, last]);
        return last;
      };
      await settlement.run();
      expect(settlement.diverged()).to.equal(false);
      expect(await settled(ledger)).to.equal(51);
    });

    it('continues when the engine was replaced meanwhile', async () => {
      const { ledger, stream, settlement, last } = await openShort();
      const states = [last, { epoch: last.epoch + 1, sequence: 51 }, { epoch: last.epoch + 1, sequence: 50 }];
      stream.state = async () => states.shift() ?? { epoch: last.epoch + 1, sequence: 50 };
      await settlement.run();
      expect(settlement.diverged()).to.equal(false);
      stream.state = async () => ({ epoch: 0, sequence: 51 });
      await settlement.run();
      expect(settlement.diverged(), 'an engine of an earlier epoch').to.equal(false);
      expect(await settled(ledger)).to.equal(50);
    });
  });

  it('retries after a failure with increasing delays, and then continues', async () => {
    const ledger = await freshLedger();
    const stream = new ShortStream(seededEvents(14).next(50));
    const settlement = createSettlementWorker({ engine: stream, ledger: ledger.settlement, log });
    stream.failure = new Refusal('SERVICE_UNAVAILABLE');
    const startedMs = Date.now();
    for (; stream.readCount < 3; await sleep(5)) await settlement.run();
    expect(Date.now() - startedMs).to.be.at.least(250 + 500);
    expect(settlement.diverged()).to.equal(false);
    stream.failure = undefined;
    for (; (await ledger.settlement.cursor()).sequence === 0; await sleep(5)) await settlement.run();
    expect(await ledger.settlement.cursor()).to.include({ sequence: 50 });
    expect(stream.readCount).to.equal(5);
  });

  it("retries after its delay although the machine's clock has stepped back", async () => {
    const ledger = await freshLedger();
    const stream = new ShortStream(seededEvents(15).next(50));
    const settlement = createSettlementWorker({ engine: stream, ledger: ledger.settlement, log });
    stream.failure = new Refusal('SERVICE_UNAVAILABLE');
    await settlement.run();
    stream.failure = undefined;
    const { now } = Date;
    Date.now = () => now() - 3_600_000;
    try {
      for (let turns = 0; turns < 200 && stream.readCount === 1; turns += 1, await sleep(5))
        await settlement.run();
    } finally {
      Date.now = now;
    }
    expect(await ledger.settlement.cursor()).to.include({ sequence: 50 });
  });

  it('halves a failing batch down to one event, reports its lag meanwhile, and then grows it again', async () => {
    const ledger = await freshLedger();
    const stream = new ShortStream(seededEvents(16).next(120));
    const sizes: number[] = [];
    let maxEvents = 0;
    const settlement = createSettlementWorker({
      engine: stream,
      ledger: {
        ...ledger.settlement,
        async settle(events) {
          const { sequence } = await ledger.settlement.cursor();
          const fresh = events.filter((event) => event.sequence > sequence);
          sizes.push(fresh.length);
          if (fresh.length > maxEvents) throw new Error('canceling statement due to statement timeout');
          return ledger.settlement.settle(events);
        },
      },
      log,
      batchSize: 16,
    });
    for (; sizes.at(-1) !== 1; await sleep(5)) await settlement.run();
    expect(sizes.slice(0, 5)).to.deep.equal([17, 8, 4, 2, 1]);
    expect(await settlement.lag()).to.include({ lagEvents: 120 });
    maxEvents = 1;
    for (; (await ledger.settlement.cursor()).sequence < 3; await sleep(5)) await settlement.run();
    expect((await settlement.lag()).lagEvents).to.be.within(1, 117);
    maxEvents = 1_000;
    for (; (await ledger.settlement.cursor()).sequence < 120; await sleep(5)) await settlement.run();
    expect(settlement.diverged()).to.equal(false);
    expect(sizes.slice(5)).to.include(16);
  });

  it('ends a batch with the event that reaches its weight', async () => {
    const ledger = await freshLedger();
    const stream = new ShortStream(seededEvents(17).next(200));
    const before: number[] = [];
    const settlement = createSettlementWorker({
      engine: stream,
      ledger: {
        ...ledger.settlement,
        async settle(events) {
          const { sequence } = await ledger.settlement.cursor();
          const fresh = events.filter((event) => event.sequence > sequence).map(weightOf);
          before.push(fresh.slice(0, -1).reduce((sum, weight) => sum + weight, 0));
          return ledger.settlement.settle(events);
        },
      },
      log,
      heldWeight: 40,
    });
    await settlement.run();
    expect(await ledger.settlement.cursor()).to.include({ sequence: 200 });
    expect(before.length).to.be.above(10);
    for (const weight of before) expect(weight).to.be.below(20);
  });

  describe('that reads a batch while Postgres writes the one before', () => {
    const EVENTS = 250;

    /** A settlement that records each read and write by the sequences of its first and last event. */
    const observed = async (
      heldWeight: number,
      fail: (attempt: number) => 'before' | 'after' | undefined,
    ) => {
      const ledger = await freshLedger();
      const stream = new ShortStream(seededEvents(18).next(EVENTS));
      const writes: { from: number; isBegun: boolean; isKnown: Promise<void> }[] = [];
      const held = new Set<readonly EngineEvent[]>();
      let maxHeld = 0;
      let readsMeanwhile = 0;
      let afterRead = (): void => undefined;
      const heldNow = (): number => [...held].flat().reduce((sum, event) => sum + weightOf(event), 0);
      const engine: EventSource = {
        outbox: {
          readEvents: async (after, count, weight) => {
            // The write beside this read begins after it, and has its weight once it has read the cursor.
            await sleep(1);
            await writes.at(-1)?.isKnown;
            const events = await stream.readEvents(after, count, weight);
            const fresh = events.filter(({ sequence }) => sequence > after.sequence);
            if (writes.at(-1)?.isBegun) {
              readsMeanwhile += 1;
              held.add(fresh);
              maxHeld = Math.max(maxHeld, heldNow());
              held.delete(fresh);
              afterRead();
            }
            return events;
          },
          trim: (cursor) => stream.trim(cursor),
        },
        reads: stream,
      };
      const settlement = createSettlementWorker({
        engine,
        log,
        batchSize: 50,
        heldWeight,
        ledger: {
          ...ledger.settlement,
          async settle(events) {
            let know = (): void => undefined;
            const isKnown = new Promise<void>((resolve) => (know = resolve));
            const write = { from: 0, isBegun: true, isKnown };
            const failure = fail(writes.push(write));
            const { sequence } = await ledger.settlement.cursor();
            const fresh = events.filter((event) => event.sequence > sequence);
            write.from = fresh[0]?.sequence ?? 0;
            held.add(fresh);
            maxHeld = Math.max(maxHeld, heldNow());
            know();
            try {
              // The write outlasts the read beside it, if there is one.
              await Promise.race([new Promise<void>((resolve) => (afterRead = resolve)), sleep(50)]);
              if (failure === 'before') throw new Error('the connection is lost');
              const settled = await ledger.settlement.settle(events);
              if (failure === 'after') throw new Error('the answer of the commit is lost');
              return settled;
            } finally {
              held.delete(fresh);
              write.isBegun = false;
            }
          },
        },
      });
      for (
        let { sequence } = await ledger.settlement.cursor();
        sequence < EVENTS;
        { sequence } = await ledger.settlement.cursor()
      ) {
        await settlement.run();
        await sleep(5);
      }
      expect(settlement.diverged()).to.equal(false);
      expect((await ledger.checks.run()).checks.filter(({ count }) => count > 0)).to.deep.equal([]);
      return { writes, maxHeld, readsMeanwhile };
    };

    it('holds no more than the limit of one batch for both', async () => {
      const heaviest = Math.max(...seededEvents(18).next(EVENTS).map(weightOf));
      for (const heldWeight of [16, 60]) {
        const { maxHeld, readsMeanwhile } = await observed(heldWeight, () => undefined);
        expect(readsMeanwhile).to.be.above(3);
        expect(maxHeld).to.be.within(heldWeight - 1, heldWeight + heaviest - 1);
      }
    });

    it('discards the batch when that write fails', async () => {
      const { writes, readsMeanwhile } = await observed(100, (attempt) =>
        attempt === 2 || attempt === 3 ? 'before' : undefined,
      );
      expect(readsMeanwhile).to.be.above(3);
      const [, second, third, fourth] = writes;
      expect([third!.from, fourth!.from]).to.deep.equal([second!.from, second!.from]);
    });

    it('continues after a commit whose answer was lost', async () => {
      const { writes } = await observed(100, (attempt) => (attempt === 2 ? 'after' : undefined));
      const starts = writes.map(({ from }) => from);
      expect(starts).to.deep.equal([...new Set(starts)].sort((one, other) => one - other));
    });
  });

  it('collects events that arrive within the pace into one transaction', async () => {
    const ledger = await freshLedger();
    const coming = seededEvents(19).next(200);
    const stream = new ShortStream(coming.splice(0, 50));
    let transactions = 0;
    const settle: Ledger['settlement']['settle'] = (events) => {
      transactions += 1;
      // One event per read, so that the stream has an end only after all events.
      stream.events.push(...coming.splice(0, 1));
      return ledger.settlement.settle(events);
    };
    const settlement = createSettlementWorker({
      engine: stream,
      log,
      ledger: { ...ledger.settlement, settle },
    });
    const begunMs = performance.now();
    const feed = setInterval(() => stream.events.push(...coming.splice(0, 1)), 2);
    await settlement.run();
    clearInterval(feed);
    expect(await ledger.settlement.cursor()).to.include({ sequence: 200 });
    expect(transactions).to.be.within(2, 3 + (performance.now() - begunMs) / 100);
  });

  it('reads one event at a time while another process settles', async () => {
    const databaseUrl = await freshLedgerDatabase();
    const ledger = openLedger({ databaseUrl });
    ledgers.push(ledger);
    const stream = new ShortStream(seededEvents(15).next(250));
    const readEvents = stream.readEvents.bind(stream);
    const asked: number[] = [];
    stream.readEvents = async (after, count, weight) => {
      asked.push(count);
      return readEvents(after, count, weight);
    };
    const settlement = createSettlementWorker({
      engine: stream,
      ledger: ledger.settlement,
      log,
      batchSize: 50,
    });
    const other = new pg.Client({ connectionString: databaseUrl });
    await other.connect();
    await other.query('begin');
    await other.query('select from engine_cursor for update');
    try {
      for (let runs = 0; runs < 5; runs += 1) await settlement.run();
      expect(asked.slice(-4)).to.deep.equal([1, 1, 1, 1]);
      expect(await ledger.settlement.cursor()).to.include({ sequence: 0 });
    } finally {
      await other.end();
    }
    await settlement.run();
    expect(await ledger.settlement.cursor()).to.include({ sequence: 250 });
    expect(asked.filter((count) => count === 50)).to.have.lengthOf.at.least(5);
  });

  it('settles each event once in several processes', async () => {
    const ledger = await freshLedger();
    const stream = new ShortStream(seededEvents(15).next(1_000));
    const workers = Array.from({ length: 4 }, () =>
      createSettlementWorker({ engine: stream, ledger: ledger.settlement, log, batchSize: 30 }),
    );
    for (
      let { sequence } = await ledger.settlement.cursor();
      sequence < 1_000;
      { sequence } = await ledger.settlement.cursor()
    ) {
      await Promise.all(workers.map((worker) => worker.run()));
    }
    expect(workers.map((worker) => worker.diverged())).to.deep.equal([false, false, false, false]);
    expect((await ledger.checks.run()).checks.filter(({ count }) => count > 0)).to.deep.equal([]);
  });

  describe('of the real engine', () => {
    const limits = { maxMakers: 100, maxLiveOrders: 1_000 };
    const MIN_TICKS = 2_000;
    let redis: Redis;
    let engine: Engine;
    let ledger: Ledger;

    before(async () => {
      redis = connectRedis(asUser('engine-all', await freshRedis()), 'test', () => {});
      await once(redis, 'ready');
      engine = openEngine({ redis, ...limits });
      ledger = await freshLedger();
      await engine.lifecycle.open(await ledger.settlement.cursor());
    });

    after(() => redis.disconnect());

    const publish = (symbol: string) =>
      engine.markets.create({
        symbol,
        status: 'active',
        sellEnabled: true,
        visible: true,
        feeBps: 7,
        tickSize: '0.05',
        sizeStep: '0.003',
        minOrderSize: null,
        maxOrderSize: null,
        selfTrade: 'expire_maker',
        referencePrice: null,
        networkId: '1',
      });

    const requestOf = (dice: Random, serial: number): OrderRequest => ({
      market: dice.pick(['ETH/USDC', 'BTC/USDC']),
      side: dice.pick(['buy', 'sell']),
      type: 'limit',
      price: parseDecimal(((MIN_TICKS + dice.below(20)) * 0.05).toFixed(2))!,
      size: parseDecimal(((1 + dice.below(100)) * 0.003).toFixed(3))!,
      clientOrderId: dice.chance(0.5)
        ? null
        : [...`${serial}${dice.pick(POISONED_TEXTS)}`].slice(0, 128).join(''),
      timeInForce: dice.pick(['GTC', 'GTC', 'GTC', 'IOC', 'FOK']),
      postOnly: false,
      reduceOnly: false,
      leverage: null,
    });

    /** Runs commands in sequence while settlement runs in the background. */
    const trade = async (dice: Random, commands: number): Promise<void> => {
      for (let serial = 0; serial < commands; serial += 1) {
        const wallet = dice.pick(WALLETS);
        if (dice.chance(0.05)) await engine.orders.cancelAll(wallet, null);
        else if (dice.chance(0.01))
          await engine.switches.hold(wallet).then(() => engine.switches.release(wallet));
        else await engine.orders.place({ wallet, request: requestOf(dice, serial) });
      }
    };

    /** Places bids below every ask, so that each wallet has a live order. */
    const rest = async (dice: Random): Promise<void> => {
      for (const wallet of WALLETS) {
        const price = parseDecimal(((MIN_TICKS - 1) * 0.05).toFixed(2))!;
        const request: OrderRequest = { ...requestOf(dice, 0), side: 'buy', price };
        await engine.orders.place({
          wallet,
          request: { ...request, timeInForce: 'GTC', clientOrderId: null },
        });
      }
    };

    it('writes to Postgres what Redis has: orders, balances, live orders, settings', async () => {
      const dice = random(runSeed());
      await engine.assets.set({ symbol: 'USDC', scale: 6 });
      await engine.assets.set({ symbol: 'ETH', scale: 9 });
      for (const symbol of ['ETH/USDC', 'BTC/USDC']) await publish(symbol);
      for (const wallet of WALLETS) {
        for (const asset of ['ETH', 'BTC', 'USDC']) {
          const reference = `deposit ${wallet} ${asset}`;
          const moved = { kind: 'credited', wallet, asset, amountAtoms: 10n ** 14n, reference } as const;
          await engine.funds.move(moved);
        }
      }
      const settlement = createSettlementWorker({ engine, ledger: ledger.settlement, log, batchSize: 100 });
      await trade(dice, 300);
      await settlement.run();
      await Promise.all([trade(dice, 700), settlement.run().then(() => settlement.run())]);
      await rest(dice);
      await engine.switches.requireTerms('v1');
      await engine.switches.acceptTerms(WALLETS[0]!, 'v1');
      await engine.switches.requireTerms(null);
      await engine.switches.pause();
      await engine.switches.resume();
      await settlement.run();
      expect(settlement.diverged()).to.equal(false);
      expect((await settlement.lag()).lagEvents).to.equal(0);

      const { sequence } = await engine.reads.state();
      expect(await ledger.settlement.cursor()).to.include({ sequence });
      const { checks } = await ledger.checks.run();
      expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
      await expectSameBalances(sequence);
      await expectSameLiveOrders(sequence);
    });

    const expectSameBalances = async (sequence: number): Promise<void> => {
      for (const asset of ['ETH', 'BTC', 'USDC']) {
        const settled = new Map<string, bigint>();
        for await (const { account, atoms } of ledger.state.balances(asset, sequence))
          settled.set(account, atoms);
        for (const wallet of WALLETS) {
          const balances = await engine.funds.readBalances(wallet);
          const own = balances.find((balance) => balance.asset === asset)!;
          expect(settled.get(wallet), asset).to.equal(own.availableAtoms + own.reservedAtoms);
        }
        if (asset === 'USDC') expect(settled.get('house')! > 0n).to.equal(true);
      }
    };

    const expectSameLiveOrders = async (sequence: number): Promise<void> => {
      const inEngine = [...(await liveContents(engine)).keys()].sort();
      const settled: string[] = [];
      for await (const order of ledger.state.liveOrders(sequence)) settled.push(order.id);
      expect(settled.length).to.be.at.least(WALLETS.length);
      expect(settled).to.deep.equal(inEngine);
    };
  });
});
