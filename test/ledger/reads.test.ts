/** Proves that reads of orders, fills, balances and entries equal those of a reference ledger. */

import { expect } from 'chai';
import type { EngineEvent, MovementKind } from '../../src/domain/event.ts';
import { isLive } from '../../src/domain/order.ts';
import { fitting, shownFillsOf } from '../../src/history/shown-fills.ts';
import { type Ledger, type LedgerEntry, openLedger } from '../../src/ledger/index.ts';
import { random, runSeed } from '../support/seed.ts';
import { ASSETS, MARKETS, POISONED_TEXTS, seededEvents, WALLETS } from '../support/seeded-events.ts';
import { freshLedgerDatabase } from '../support/servers.ts';
import { listedOrder, listedTrades } from './listed.ts';
import { type ReferenceLedger, type ReferenceOrder, referenceLedger } from './reference-ledger.ts';
import { divide } from './segmented.ts';

const COUNT = 2_500;

describe('ledger reads', () => {
  let seed: number;
  let ledger: Ledger;
  let events: EngineEvent[];
  let reference: ReferenceLedger;

  before(async () => {
    seed = runSeed();
    const databaseUrl = await freshLedgerDatabase();
    // Every read finds rows of several segments.
    await divide(databaseUrl, 512);
    ledger = openLedger({ databaseUrl });
    events = seededEvents(seed).next(COUNT);
    reference = referenceLedger(events);
    for (let at = 0; at < COUNT; at += 100) await ledger.settlement.settle(events.slice(at, at + 100));
  });

  after(() => ledger.close());

  const collect = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
    const collected: Item[] = [];
    for await (const item of items) collected.push(item);
    return collected;
  };

  const allFills = { maxFillsPerOrder: COUNT, maxFillsPerReply: COUNT * COUNT, orders: COUNT };

  it("lists a wallet's orders, newest first, each with its trades", async () => {
    for (const wallet of WALLETS) {
      const own = reference.orders.filter((order) => order.wallet === wallet).reverse();
      expect(own.length).to.be.above(100);
      for (const limit of [1, 100, COUNT]) {
        const { cursor, orders } = await ledger.orders.ofWallet(wallet, { limit, fills: allFills });
        expect(cursor.sequence).to.equal(COUNT);
        expect(orders).to.deep.equal(own.slice(0, limit).map(listedOrder));
      }
    }
    const stranger = await ledger.orders.ofWallet(`0x${'9'.repeat(40)}`, { limit: 10, fills: allFills });
    expect(stranger.orders).to.deep.equal([]);
  });

  it('returns as many of the newest fills of each order as requested', async () => {
    const wallet = WALLETS[0]!;
    const own = new Map(reference.orders.map((order) => [order.id, order]));
    const dice = random(seed + 3);
    const { cursor, orders } = await ledger.orders.ofWallet(wallet, { limit: COUNT });
    const shares = new Map<string, number>();
    for (const { id } of orders) if (dice.chance(0.8)) shares.set(id, dice.below(4));
    const fills = await ledger.orders.fills(shares, cursor);
    expect(Math.max(...[...own.values()].map(({ fillCount }) => fillCount))).to.be.above(2);
    for (const { id, fillCount, fills: none } of orders) {
      const every = listedOrder(own.get(id)!).fills;
      expect(none).to.deep.equal([]);
      expect(fillCount).to.equal(every.length);
      expect(fills.get(id) ?? []).to.deep.equal(
        every.slice(Math.max(0, every.length - (shares.get(id) ?? 0))),
      );
      const { order } = await ledger.orders.byId(wallet, id, 1);
      expect(order!.fills).to.deep.equal(every.slice(-1));
    }
  });

  it('leaves out fills that were settled after the orders were read', async () => {
    const wallet = WALLETS[0]!;
    const own = reference.orders.filter((order) => order.wallet === wallet);
    const counts = new Map(own.map(({ id }) => [id, COUNT]));
    const cursor = { epoch: 1, sequence: COUNT >> 1 };
    const fills = await ledger.orders.fills(counts, cursor);
    let left = 0;
    for (const order of own) {
      const earlier = order.trades.filter(({ sequence }) => sequence <= cursor.sequence);
      expect(fills.get(order.id) ?? []).to.deep.equal(listedOrder({ ...order, trades: earlier }).fills);
      left += order.trades.length - earlier.length;
    }
    expect(left).to.be.above(10);
  });

  it('returns the fills of the orders that a reply shows, and of no other', async () => {
    const dice = random(seed + 5);
    for (const wallet of WALLETS) {
      const own = reference.orders.filter((order) => order.wallet === wallet).reverse();
      const limits = { maxFillsPerOrder: 1 + dice.below(3), maxFillsPerReply: 1 + dice.below(60) };
      const page = { limit: 101, fills: { ...limits, orders: 100 } };
      const { orders } = await ledger.orders.ofWallet(wallet, page);
      const shown = fitting(
        own.slice(0, 100).map((order) => ({ order })),
        limits,
      ).length;
      const expected = own.slice(0, 101).map((order, at) => {
        const listed = listedOrder(order);
        const count = at < shown ? shownFillsOf(order, limits) : 0;
        return { ...listed, fills: listed.fills.slice(listed.fills.length - count) };
      });
      expect(orders, JSON.stringify(limits)).to.deep.equal(expected);
    }
  });

  it('lists live or closed orders from any position, and those that the engine touched', async () => {
    const dice = random(seed + 4);
    const markets = [undefined, ...MARKETS.map(({ symbol }) => symbol)];
    for (const [wallet, market] of WALLETS.flatMap((one) =>
      markets.map((symbol) => [one, symbol] as const),
    )) {
      const own = reference.orders
        .filter((order) => order.wallet === wallet && (market === undefined || order.market === market))
        .reverse();
      const touched = own.filter(() => dice.chance(0.1));
      const beforeSequence = dice.pick([undefined, 1 + dice.below(COUNT)]);
      const earlier = own.filter(({ sequence }) => sequence < (beforeSequence ?? COUNT + 1));
      const passed = earlier.filter((order) => touched.includes(order) && isLive(order.status));
      const touchedIds = touched.map(({ id }) => id);
      const expected = {
        all: earlier.slice(0, 20),
        live: [
          ...earlier.filter((order) => isLive(order.status) && !touched.includes(order)).slice(0, 20),
          ...passed,
        ],
        closed: [...earlier.filter((order) => !isLive(order.status)).slice(0, 20), ...passed],
      };
      const newestFirst = (orders: readonly ReferenceOrder[]) =>
        [...orders].sort((one, other) => other.sequence - one.sequence).map(({ id }) => id);
      for (const status of [undefined, 'live', 'closed'] as const) {
        const page = { status, market, beforeSequence, touchedIds, limit: 20 };
        const { orders } = await ledger.orders.ofWallet(wallet, page);
        expect(orders.map(({ id }) => id)).to.deep.equal(newestFirst(expected[status ?? 'all']));
        if (market === undefined) continue;
        const whole = { ...page, fills: allFills };
        expect((await ledger.orders.ofWallet(wallet, whole)).orders.map(({ id }) => id)).to.deep.equal(
          orders.map(({ id }) => id),
        );
      }
    }
  });

  it('finds an order by its id and by the client order id of its wallet', async () => {
    for (const order of reference.orders.slice(0, 300)) {
      expect((await ledger.orders.byId(order.wallet, order.id, COUNT)).order).to.deep.equal(
        listedOrder(order),
      );
      if (order.clientOrderId === null) continue;
      const other = WALLETS.find((wallet) => wallet !== order.wallet)!;
      expect((await ledger.orders.byId(other, order.id, COUNT)).order).to.equal(null);
      for (const find of [ledger.orders.idByClientId, ledger.orders.placedId]) {
        expect(await find(order.wallet, order.clientOrderId)).to.equal(order.id);
        expect(await find(other, order.clientOrderId)).to.equal(null);
      }
    }
    expect((await ledger.orders.byId(WALLETS[0]!, '0'.repeat(34), COUNT)).order).to.equal(null);
    expect(await ledger.orders.idByClientId(WALLETS[0]!, 'never used')).to.equal(null);
  });

  it("lists a wallet's trades as maker or taker, of one market or of all", async () => {
    for (const wallet of WALLETS) {
      for (const market of [undefined, ...MARKETS.map(({ symbol }) => symbol), 'NO/SUCH']) {
        const own = reference.trades
          .filter(({ takerWallet, makerWallet }) => takerWallet === wallet || makerWallet === wallet)
          .filter((trade) => market === undefined || trade.market === market)
          .reverse();
        for (const limit of [1, 50, COUNT]) {
          const { trades } = await ledger.trades.ofWallet(wallet, { limit, market });
          expect(trades).to.deep.equal(listedTrades(own.slice(0, limit), wallet));
          const beforeTradeId = own[Math.min(limit, own.length) >> 1]?.tradeId ?? 1;
          const older = await ledger.trades.ofWallet(wallet, { limit, market, beforeTradeId });
          const earlier = own.filter(({ tradeId }) => tradeId < beforeTradeId);
          expect(older.trades).to.deep.equal(listedTrades(earlier.slice(0, limit), wallet));
        }
      }
    }
  });

  it("lists the trades of one order of a wallet, and none of another wallet's", async () => {
    for (const order of reference.orders.filter(({ fillCount }) => fillCount > 1).slice(0, 100)) {
      const { wallet, id: orderId, market } = order;
      const newest = [...order.trades].reverse();
      const all = await ledger.trades.ofWallet(wallet, { orderId, limit: COUNT });
      expect(all.trades).to.deep.equal(listedTrades(newest, wallet));
      const rest = await ledger.trades.ofWallet(wallet, {
        orderId,
        beforeTradeId: newest[0]!.tradeId,
        limit: 1,
      });
      expect(rest.trades).to.deep.equal(listedTrades(newest.slice(1, 2), wallet));
      const other = WALLETS.find((one) => one !== wallet)!;
      expect((await ledger.trades.ofWallet(other, { orderId, limit: COUNT })).trades).to.deep.equal([]);
      const elsewhere = MARKETS.find(({ symbol }) => symbol !== market)!.symbol;
      const none = await ledger.trades.ofWallet(wallet, { orderId, market: elsewhere, limit: COUNT });
      expect(none.trades).to.deep.equal([]);
    }
  });

  it('finds a deposit or withdrawal by its reference', async () => {
    const isDeposit = (kind: MovementKind): boolean => ['credited', 'announced', 'dropped'].includes(kind);
    for (const { kind, reference: text, sequence, amountAtoms } of reference.movements) {
      const found = await ledger.journal.movement(kind, text);
      expect(found).to.include({ kind, reference: text, sequence, amountAtoms });
      // A withdrawal may have the reference of a deposit.
      const both = reference.movements.filter((one) => one.reference === text);
      if (both.some((one) => isDeposit(one.kind) !== isDeposit(kind))) continue;
      expect(await ledger.journal.movement(isDeposit(kind) ? 'debited' : 'credited', text)).to.equal(null);
    }
  });

  it('sums every account as of any event', async () => {
    const dice = random(seed);
    for (const sequence of [0, 10, ...Array.from({ length: 5 }, () => dice.below(COUNT)), COUNT]) {
      const then = referenceLedger(events.slice(0, sequence)).balances;
      for (const { symbol } of ASSETS) {
        const balances = await collect(ledger.state.balances(symbol, sequence));
        const left = balances.filter(({ atoms }) => atoms !== 0n);
        const found = new Map(left.map(({ account, atoms }) => [`${account} ${symbol}`, atoms]));
        const expected = [...then].filter(([key, atoms]) => key.endsWith(` ${symbol}`) && atoms !== 0n);
        expect(found).to.deep.equal(new Map(expected));
        expect(balances.reduce((sum, { atoms }) => sum + atoms, 0n)).to.equal(0n);
      }
    }
  });

  it('returns the live orders as of any event, with their remaining sizes', async () => {
    const dice = random(seed + 1);
    for (const sequence of [0, ...Array.from({ length: 8 }, () => dice.below(COUNT)), COUNT]) {
      const live = referenceLedger(events.slice(0, sequence))
        .orders.filter(({ status }) => status === 'resting' || status === 'partially_filled')
        .map(({ id, sizeSteps, filledSteps }) => [id, sizeSteps - filledSteps] as const);
      const found = await collect(ledger.state.liveOrders(sequence));
      expect(new Map(found.map(({ id, remainingSteps }) => [id, remainingSteps]))).to.deep.equal(
        new Map(live),
      );
    }
  });

  describe('entries', () => {
    const everything = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

    it('come in the order of the events, and resume after any of them', async () => {
      const all = await collect(ledger.journal.entries(everything));
      expect(all.length).to.be.above(3 * reference.trades.length);
      const dice = random(seed + 2);
      for (let round = 0; round < 5; round += 1) {
        const at = dice.below(all.length);
        const rest = await collect(ledger.journal.entries({ ...everything, after: all[at]!.entryId }));
        expect(rest.map(({ entryId }) => entryId)).to.deep.equal(
          all.slice(at + 1).map(({ entryId }) => entryId),
        );
      }
    });

    it('are limited to a span of time and to one asset', async () => {
      const all = await collect(ledger.journal.entries(everything));
      const fromMs = events[Math.floor(COUNT / 3)]!.timeMs;
      const toMs = events[Math.floor(COUNT / 2)]!.timeMs;
      const within = (entry: LedgerEntry) => entry.timeMs >= fromMs && entry.timeMs < toMs;
      expect(await collect(ledger.journal.entries({ fromMs, toMs }))).to.deep.equal(all.filter(within));
      const ofEth = all.filter((entry) => within(entry) && entry.asset === 'ETH');
      expect(await collect(ledger.journal.entries({ fromMs, toMs, asset: 'ETH' }))).to.deep.equal(ofEth);
      expect(ofEth).to.have.length.above(0);
      const before = all[0]!.entryId;
      expect(await collect(ledger.journal.entries({ fromMs, toMs, after: before }))).to.deep.equal(
        all.filter(within),
      );
      expect(await collect(ledger.journal.entries({ fromMs: toMs, toMs: fromMs }))).to.deep.equal([]);
    });

    it('reject an invalid entry id to resume after', async () => {
      for (const after of ['', '7', '1-', 'a-b', '1-2-3', '-1-2', "1-2'"]) {
        const error = await collect(ledger.journal.entries({ ...everything, after })).catch(
          (thrown) => thrown,
        );
        expect(error, after).to.be.instanceOf(RangeError);
      }
    });
  });

  it('keeps hostile texts exactly, and settles texts that are invalid', async () => {
    const own = openLedger({ databaseUrl: await freshLedgerDatabase() });
    const opening = seededEvents(5).next(30);
    const placed = events.find((event) => event.kind === 'order_placed' && event.status === 'resting')!;
    if (placed.kind !== 'order_placed') throw new Error('the stream has no resting order');
    // The API refuses the last four texts; if one gets through, settlement must not stop.
    const texts = [...POISONED_TEXTS, 'nul \0 inside', '\ud800', '\udc00 low', 'x'.repeat(100_000)];
    const orders = texts.map((clientOrderId, index): EngineEvent => {
      const sequence = 31 + index;
      const id = index.toString(16).padStart(34, 'f');
      const order = { ...placed.order, clientOrderId, sequence, id };
      return {
        ...placed,
        epoch: 99,
        sequence,
        trades: [],
        expired: [],
        order,
        digest: { hex: String(sequence) },
      };
    });
    const movements = texts.map((reference, index): EngineEvent => {
      const sequence = 31 + texts.length + index;
      const wallet = WALLETS[0]!;
      const asset = 'ETH';
      return {
        epoch: 99,
        sequence,
        timeMs: placed.timeMs,
        digest: { hex: String(sequence) },
        kind: 'credited',
        wallet,
        asset,
        amountAtoms: 1n,
        reference,
      };
    });
    await own.settlement.settle([...opening, ...orders, ...movements]);
    for (const [index, text] of texts.entries()) {
      const id = await own.orders.idByClientId(placed.order.wallet, text);
      const { order } = await own.orders.byId(placed.order.wallet, id!, 0);
      expect(order?.sequence).to.equal(31 + index);
      if (index < POISONED_TEXTS.length) expect(order?.clientOrderId).to.equal(text);
      expect(await own.journal.movement('credited', text)).to.include({
        sequence: 31 + texts.length + index,
      });
    }
    await own.close();
  });
});
