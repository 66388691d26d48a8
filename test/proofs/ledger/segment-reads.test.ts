/** Reads lists while settlement passes from segment to segment: each answer is that of a reference ledger at its cursor. */

import { expect } from 'chai';
import pg from 'pg';
import type { EngineEvent } from '../../../src/domain/event.ts';
import { isLive, placedIn, publicTradeOf, type Trade } from '../../../src/domain/order.ts';
import { KIND, visitOrders } from '../../../src/domain/order-life.ts';
import { type Direction, type Ledger, openLedger } from '../../../src/ledger/index.ts';
import type { MakePool } from '../../../src/ledger/pools.ts';
import { listedOrder, listedTrades } from '../../ledger/listed.ts';
import { type ReferenceLedger, type ReferenceOrder, referenceLedger } from '../../ledger/reference-ledger.ts';
import { divide } from '../../ledger/segmented.ts';
import { type Random, random, runSeed } from '../../support/seed.ts';
import { MARKETS, seededEvents, WALLETS } from '../../support/seeded-events.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';

const WIDTH = 16;
const BOUNDARIES = 220;
const EVENTS = WIDTH * BOUNDARIES;
/** Readers beside settlement, each with one list at a time. */
const READERS = 2;

const ALL_FILLS = { maxFillsPerOrder: EVENTS, maxFillsPerReply: EVENTS * EVENTS, orders: EVENTS };

/** Random parameters of lists. */
class Draw {
  readonly reference: ReferenceLedger;
  readonly #random: Random;

  readonly events: readonly EngineEvent[];
  #asOf = { sequence: 0, ledger: referenceLedger([]) };

  constructor(events: readonly EngineEvent[], reference: ReferenceLedger, seed: number) {
    this.events = events;
    this.reference = reference;
    this.#random = random(seed);
  }

  /** Returns the orders of a wallet as of an event, oldest first. */
  ordersAt(sequence: number, wallet: string): ReferenceOrder[] {
    if (this.#asOf.sequence !== sequence)
      this.#asOf = { sequence, ledger: referenceLedger(this.events.slice(0, sequence)) };
    return this.#asOf.ledger.orders.filter((order) => order.wallet === wallet);
  }

  readonly below = (count: number): number => this.#random.below(count);
  readonly oneOf = <Item>(items: readonly Item[]): Item => items[this.below(items.length)]!;
  readonly maybe = <Item>(item: () => Item): Item | undefined => (this.below(3) === 0 ? item() : undefined);
  readonly direction = (): Direction => this.oneOf(['asc', 'desc']);
  readonly limit = (): number => this.oneOf([1, 7, 50, 500]);
  readonly market = (): string | undefined => this.maybe(() => this.oneOf(MARKETS).symbol);
  /** A trade that is settled, or will be. */
  readonly trade = (): Trade => this.oneOf(this.reference.trades);
  readonly tradeId = (): number | undefined => this.maybe(() => this.trade().tradeId);
  readonly sequence = (): number | undefined => this.maybe(() => this.trade().sequence);
  readonly timeMs = (): number | undefined => this.maybe(() => this.trade().timeMs);
}

/** A change of a wallet's order: its event, kind and key, and the order's id. */
type Change = readonly [sequence: number, kind: number, key: number, id: string];

/** Returns the changes that an event makes to a wallet's orders. */
function changesOf(event: EngineEvent, wallet: string): Change[] {
  const changes: Change[] = [];
  const closed: Change[] = [];
  const { sequence } = event;
  visitOrders(event, {
    placed({ order }) {
      if (order.wallet === wallet) changes.push([sequence, KIND.placed, 0, order.id]);
    },
    filled({ makerWallet, tradeId, makerOrderId }) {
      if (makerWallet === wallet) changes.push([sequence, KIND.filled, tradeId, makerOrderId]);
    },
    closed(order) {
      if (order.wallet === wallet) closed.push([sequence, KIND.closed, placedIn(order.id), order.id]);
    },
  });
  return [...changes, ...closed.sort(([, , , one], [, , , other]) => (one < other ? -1 : 1))];
}

/** Asks for a list and compares the answer. @returns the rows that it had */
type Poll = (ledger: Ledger, draw: Draw) => Promise<number>;

const inOrder = <Item>(direction: Direction, oldestFirst: readonly Item[]): Item[] =>
  direction === 'asc' ? [...oldestFirst] : oldestFirst.toReversed();

const listOfWallet = (draw: Draw) => ({
  wallet: draw.oneOf(WALLETS),
  direction: draw.direction(),
  limit: draw.limit(),
  market: draw.market(),
});

const POLLS: Readonly<Record<string, Poll>> = {
  async 'trades of a wallet'(ledger, draw) {
    const { wallet, direction, limit, market } = listOfWallet(draw);
    const afterTradeId = draw.tradeId();
    const beforeTradeId = draw.tradeId();
    const span = draw.maybe(() => ({ sinceMs: draw.timeMs(), untilMs: draw.timeMs() }));
    const filter = { direction, limit, market, afterTradeId, beforeTradeId, span };
    const { cursor, trades } = await ledger.trades.ofWallet(wallet, filter);
    const own = draw.reference.trades.filter(
      (trade) =>
        trade.sequence <= cursor.sequence &&
        (trade.takerWallet === wallet || trade.makerWallet === wallet) &&
        (market === undefined || trade.market === market) &&
        trade.tradeId > (afterTradeId ?? 0) &&
        trade.tradeId < (beforeTradeId ?? Number.POSITIVE_INFINITY) &&
        trade.timeMs >= (span?.sinceMs ?? 0) &&
        trade.timeMs < (span?.untilMs ?? Number.POSITIVE_INFINITY),
    );
    const expected = listedTrades(inOrder(direction, own).slice(0, limit), wallet);
    expect(trades, JSON.stringify({ wallet, cursor, ...filter })).to.deep.equal(expected);
    return trades.length;
  },

  async 'trades of an order'(ledger, draw) {
    const {
      wallet,
      id: orderId,
      trades: own,
    } = draw.oneOf(draw.reference.orders.filter(({ fillCount }) => fillCount > 1));
    const direction = draw.direction();
    const limit = draw.limit();
    const afterTradeId = draw.tradeId();
    const beforeTradeId = draw.tradeId();
    const filter = { orderId, direction, limit, afterTradeId, beforeTradeId };
    const { cursor, trades } = await ledger.trades.ofWallet(wallet, filter);
    const listed = own.filter(
      (trade) =>
        trade.sequence <= cursor.sequence &&
        trade.tradeId > (afterTradeId ?? 0) &&
        trade.tradeId < (beforeTradeId ?? Number.POSITIVE_INFINITY),
    );
    const expected = listedTrades(inOrder(direction, listed).slice(0, limit), wallet);
    expect(trades, JSON.stringify({ wallet, cursor, ...filter })).to.deep.equal(expected);
    return trades.length;
  },

  async 'orders of a wallet'(ledger, draw) {
    const { wallet, direction, limit, market } = listOfWallet(draw);
    const status = draw.maybe(() => draw.oneOf(['live', 'closed'] as const));
    const afterSequence = draw.sequence();
    const beforeSequence = draw.sequence();
    const span = draw.maybe(() => ({ sinceMs: draw.timeMs(), untilMs: draw.timeMs() }));
    const page = { status, direction, limit, market, afterSequence, beforeSequence, span, fills: ALL_FILLS };
    const { cursor, orders } = await ledger.orders.ofWallet(wallet, page);
    const own = draw
      .ordersAt(cursor.sequence, wallet)
      .filter(
        (order) =>
          (status === undefined || isLive(order.status) === (status === 'live')) &&
          (market === undefined || order.market === market) &&
          order.sequence > (afterSequence ?? 0) &&
          order.sequence < (beforeSequence ?? Number.POSITIVE_INFINITY) &&
          order.createdAtMs >= (span?.sinceMs ?? 0) &&
          order.createdAtMs < (span?.untilMs ?? Number.POSITIVE_INFINITY),
      );
    const expected = inOrder(direction, own).slice(0, limit).map(listedOrder);
    expect(orders, JSON.stringify({ wallet, cursor, ...page })).to.deep.equal(expected);
    return orders.length;
  },

  async 'fills within limits'(ledger, draw) {
    const wallet = draw.oneOf(WALLETS);
    const limits = { maxFillsPerOrder: 2, maxFillsPerReply: 1 + draw.below(40), orders: 1 + draw.below(60) };
    const page = { direction: draw.direction(), limit: draw.limit(), fills: limits };
    const { cursor, orders } = await ledger.orders.ofWallet(wallet, page);
    const own = inOrder(page.direction, draw.ordersAt(cursor.sequence, wallet)).slice(0, page.limit);
    let left = limits.maxFillsPerReply;
    const expected = own.map(listedOrder).map((order, at) => {
      const share = Math.min(order.fillCount, limits.maxFillsPerOrder, limits.maxFillsPerReply);
      left -= share;
      return {
        ...order,
        fills: at < limits.orders && left >= 0 ? order.fills.slice(-share || undefined) : [],
      };
    });
    expect(orders, JSON.stringify({ wallet, cursor, ...page })).to.deep.equal(
      expected.map((order) => ({ ...order, fills: order.fillCount === 0 ? [] : order.fills })),
    );
    return orders.length;
  },

  async 'orders by their ids'(ledger, draw) {
    const { wallet, id, clientOrderId, sequence } = draw.oneOf(draw.reference.orders);
    const { cursor, order } = await ledger.orders.byId(wallet, id, 3);
    const known = draw.ordersAt(cursor.sequence, wallet).find((one) => one.id === id);
    const expected = known === undefined ? null : listedOrder(known);
    expect(order, `${id} at ${cursor.sequence}`).to.deep.equal(
      expected && { ...expected, fills: expected.fills.slice(-3) },
    );
    const fills = await ledger.orders.fills(new Map([[id, EVENTS]]), cursor);
    expect(fills.get(id) ?? []).to.deep.equal(expected?.fills ?? []);
    if (clientOrderId !== null && sequence <= cursor.sequence)
      expect(await ledger.orders.idByClientId(wallet, clientOrderId)).to.equal(id);
    return order === null ? 0 : 1;
  },

  async 'changes of orders'(ledger, draw) {
    const wallet = draw.oneOf(WALLETS);
    const limit = draw.limit();
    const sequence = draw.sequence() ?? 0;
    const own = draw.events.flatMap((event) => changesOf(event, wallet));
    // A place after a change, or after all those of an event.
    const from = own.find((change) => change[0] >= sequence);
    const after =
      from === undefined || draw.below(2) === 0
        ? { sequence, kind: KIND.after as number, key: 0 }
        : { sequence: from[0], kind: from[1], key: from[2] };
    const orderIds = [draw.oneOf(draw.reference.orders.filter((order) => order.wallet === wallet)).id];
    const page = { after, limit, maxFills: 2, orderIds };
    const { cursor, changes, orders } = await ledger.changes.ofWallet(wallet, page);
    const next =
      after.kind === KIND.after
        ? own.filter((change) => change[0] > sequence)
        : own.slice(own.indexOf(from!) + 1);
    const expected = next.filter((change) => change[0] <= cursor.sequence);
    const told = changes.map((change) => [change.sequence, change.kind, change.key, change.orderId]);
    expect(told, JSON.stringify({ wallet, cursor, ...page })).to.deep.equal(expected.slice(0, limit));
    const known = draw.ordersAt(cursor.sequence, wallet);
    const named = new Set([...orderIds, ...changes.map(({ orderId }) => orderId)]);
    const listed = known
      .filter(({ id }) => named.has(id))
      .map(listedOrder)
      .map(({ fills: _fills, ...order }) => order);
    const inOrder = orders.toSorted((one, other) => one.sequence - other.sequence);
    expect(inOrder, JSON.stringify({ wallet, cursor, ...page })).to.deep.equal(listed);
    return changes.length;
  },

  async 'lines of a statement'(ledger, draw) {
    const wallet = draw.oneOf(WALLETS);
    const fromMs = draw.timeMs() ?? 0;
    const toMs = draw.timeMs() ?? Number.MAX_SAFE_INTEGER;
    const limit = draw.limit();
    const isNewest = draw.below(2) === 0;
    const statements = isNewest ? ledger.statements.newestPage : ledger.statements.page;
    const page = await statements({ wallet, fromMs, toMs }, null, limit);
    const own = draw.reference.trades.filter(
      (trade) =>
        (trade.takerWallet === wallet || trade.makerWallet === wallet) &&
        trade.sequence <= page.settled.sequence &&
        trade.timeMs >= fromMs &&
        trade.timeMs < toMs,
    );
    // Movements lie between trades, so the trades of a page are the first ones.
    const told = page.stated.flatMap((line) => (line.kind === 'trade' ? [Number(line.tradeId)] : []));
    const ids = own.map(({ tradeId }) => tradeId);
    const expected = (isNewest ? ids.toReversed() : ids).slice(0, told.length);
    expect(told, JSON.stringify({ wallet, fromMs, toMs, limit, isNewest })).to.deep.equal(expected);
    if (page.next === null) expect(told).to.have.length(own.length);
    else expect(page.stated).to.have.length(limit);
    return page.stated.length;
  },

  async 'trades of a market'(ledger, draw) {
    const market = draw.oneOf(MARKETS).symbol;
    const [limit, side, afterId] = [
      draw.limit(),
      draw.maybe(() => draw.oneOf(['buy', 'sell'] as const)),
      draw.tradeId(),
    ];
    const beforeId = afterId === undefined ? draw.tradeId() : undefined;
    const filter = { limit, side, afterId, beforeId, fromMs: draw.timeMs(), toMs: draw.timeMs() };
    const { cursor, trades } = await ledger.trades.ofMarket(market, filter);
    const own = draw.reference.trades.filter(
      (trade) =>
        trade.sequence <= cursor.sequence &&
        trade.market === market &&
        (side === undefined || trade.takerSide === side) &&
        trade.tradeId > (afterId ?? 0) &&
        trade.tradeId < (beforeId ?? Number.POSITIVE_INFINITY) &&
        trade.timeMs >= (filter.fromMs ?? 0) &&
        trade.timeMs < (filter.toMs ?? Number.POSITIVE_INFINITY),
    );
    const listed = afterId === undefined ? own.slice(-limit) : own.slice(0, limit);
    const inDigits = listed
      .toReversed()
      .map(publicTradeOf)
      .map((trade) => ({
        ...trade,
        priceTicks: String(trade.priceTicks),
        sizeSteps: String(trade.sizeSteps),
        notionalAtoms: String(trade.notionalAtoms),
      }));
    expect(trades, JSON.stringify({ market, cursor, ...filter })).to.deep.equal(inDigits);
    return trades.length;
  },

  async 'sums of seconds'(ledger, draw) {
    const after = draw.tradeId() ?? 0;
    const limit = draw.limit();
    const beforeMs = draw.timeMs() ?? Number.MAX_SAFE_INTEGER;
    const read = await ledger.trades.secondsAfter({ tradeId: after, place: null }, beforeMs, limit);
    const listed = draw.reference.trades
      .filter(
        ({ sequence, tradeId, timeMs }) =>
          sequence <= read.place.sequence && tradeId > after && timeMs < beforeMs,
      )
      .slice(0, limit);
    const sum = (trades: readonly { sizeSteps: bigint }[]): bigint =>
      trades.reduce((total, { sizeSteps }) => total + sizeSteps, 0n);
    expect(read.seconds.reduce((total, { trades }) => total + trades, 0)).to.equal(listed.length);
    expect(sum(read.seconds)).to.equal(sum(listed));
    expect(read.lastTradeId).to.equal(listed.at(-1)?.tradeId ?? after);
    expect(read.isPart).to.equal(listed.length === limit);
    // A read that goes on from this one finds its place, and one from a place that never was does not.
    const { place, lastTradeId } = read;
    for (const [from, goesOn] of [
      [place, true],
      [{ ...place, links: `${place.links}x` }, place.sequence === 0],
    ] as const) {
      const next = await ledger.trades.secondsAfter({ tradeId: lastTradeId, place: from }, beforeMs, 1);
      expect(next.goesOn, JSON.stringify(from)).to.equal(goesOn);
    }
    return read.seconds.length;
  },

  async 'last trades'(ledger, draw) {
    const before = await ledger.settlement.cursor();
    const timeMs = draw.trade().timeMs;
    const found = await ledger.trades.lastBefore(timeMs);
    const after = await ledger.settlement.cursor();
    const lastAt = (sequence: number): Trade[] =>
      MARKETS.flatMap(({ symbol }) =>
        draw.reference.trades
          .filter((trade) => trade.market === symbol && trade.sequence <= sequence && trade.timeMs < timeMs)
          .slice(-1),
      );
    const ids = (trades: readonly Trade[]): string => String(trades.map(({ tradeId }) => tradeId).sort());
    const possible = new Set<string>();
    for (let sequence = before.sequence; sequence <= after.sequence; sequence += 1)
      possible.add(ids(lastAt(sequence)));
    expect([...possible]).to.include(ids(found));
    return found.length;
  },
};

describe('reads beside settlement, through many segments', function () {
  this.timeout(300_000);
  let ledger: Ledger;
  after(() => ledger.close());

  it(`answer as one table would, through ${BOUNDARIES} boundaries`, async () => {
    const databaseUrl = await freshLedgerDatabase();
    await divide(databaseUrl, WIDTH);
    // A list of everything reads every segment, which may take long on a busy machine.
    const makePool: MakePool = ({ query_timeout: _limit, ...config }) => new pg.Pool(config);
    ledger = openLedger({ databaseUrl, makePool });
    const events = seededEvents(runSeed()).next(EVENTS);
    const reference = referenceLedger(events);
    let settled = 0;
    const settling = async (): Promise<void> => {
      for (const draw = random(runSeed()); settled < EVENTS; ) {
        const batch = events.slice(settled, settled + (1 + draw.below(2 * WIDTH)));
        await ledger.settlement.settle(batch);
        settled += batch.length;
      }
    };
    const rowsOf = new Map<string, number>(Object.keys(POLLS).map((name) => [name, 0]));
    const reading = async (seed: number): Promise<void> => {
      const draw = new Draw(events, reference, seed);
      const pollEach = async (): Promise<void> => {
        for (const [name, poll] of Object.entries(POLLS))
          rowsOf.set(name, rowsOf.get(name)! + (await poll(ledger, draw)));
      };
      while (settled < EVENTS) await pollEach();
      for (let round = 0; round < 5; round += 1) await pollEach();
    };
    await Promise.all([settling(), ...Array.from({ length: READERS }, (_, at) => reading(runSeed() + at))]);
    for (const [name, rows] of rowsOf) expect(rows, name).to.be.above(20);
  });
});
