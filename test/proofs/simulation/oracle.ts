/**
 * Checks both servers at the end of a history. The accepted events are replayed through the naive exchange of the
 * equivalence, which gives every order, trade, balance and entry that the servers must hold.
 */

import type { EngineEvent, OrderPlacedEvent } from '../../../src/domain/event.ts';
import type { ClosedOrder, Side } from '../../../src/domain/order.ts';
import { readBookMember, readLiveMember } from '../../../src/engine/codec.ts';
import { balancesKey, bookKey, KEYS, levelsKey, takenField } from '../../../src/engine/keys.ts';
import { writeDecimal } from '../equivalence/decimals.ts';
import { rulesIn } from '../equivalence/engine-words.ts';
import { ReferenceExchange, type ReferenceOrder } from '../equivalence/reference-book.ts';
import type { Promises } from './clients.ts';
import { Violation } from './journal.ts';
import { WALLETS } from './wallets.ts';
import { ASSETS, LIMITS, MARKETS, type World } from './world.ts';

type Ask = <Row>(text: string) => Promise<Row[]>;

/** @throws Violation */
export async function checkServers(world: World, promises: Promises): Promise<void> {
  const expected = new Replay(world.journal.events);
  for (const redis of await world.engines()) await checkRedis({ redis, markets: world.markets }, expected);
  const monitor = await world.sessions.monitor();
  const ask: Ask = async (text) => (await monitor.query({ name: nameOf(text), text })).rows as never;
  await checkPostgres(ask, expected);
  checkPromises(world, promises, expected);
}

const names = new Map<string, string>();

/** Returns the name of a statement, which a connection plans once. */
function nameOf(text: string): string {
  const name = names.get(text) ?? `check ${names.size}`;
  names.set(text, name);
  return name;
}

const json = (value: unknown): string =>
  JSON.stringify(value, (_name, part) => (typeof part === 'bigint' ? `${part}` : part));

function same(invariant: string, subject: string, expected: unknown, found: unknown): void {
  const wanted = json(expected);
  const had = json(found);
  if (wanted !== had) throw new Violation(invariant, `${subject}: expected ${wanted}, found ${had}`);
}

interface Traded {
  readonly tradeId: number;
  readonly maker: string;
  readonly taker: string;
  readonly price: string;
  readonly size: string;
  readonly fee: string;
}

/** The events, taken by the naive exchange one by one. */
class Replay {
  readonly book = new ReferenceExchange(LIMITS);
  readonly orders = new Map<
    string,
    { readonly order: ReferenceOrder; readonly event: OrderPlacedEvent; closed: number | null }
  >();
  readonly trades: Traded[] = [];
  readonly movements: string[] = [];
  readonly last: EngineEvent | undefined;
  readonly #ids: string[] = [];

  constructor(events: readonly EngineEvent[]) {
    for (const event of events) this.#take(event);
    this.last = events.at(-1);
  }

  #take(event: EngineEvent): void {
    const { book } = this;
    book.nowMs = event.timeMs;
    switch (event.kind) {
      case 'order_placed':
        this.#place(event);
        return;
      case 'orders_closed':
        for (const order of event.orders) this.#close(order, event);
        return;
      case 'credited':
      case 'debited':
      case 'requested':
      case 'confirmed':
      case 'returned':
      case 'announced':
      case 'dropped': {
        const { kind, wallet, asset, amountAtoms: atoms, reference, reverses } = event;
        const asked = { kind, wallet, asset, atoms, reference };
        const takenBy = book.takes.get(reference)?.by;
        const answer = book.move(reverses === undefined ? asked : { ...asked, reverses }, takenBy);
        if (!('moved' in answer))
          throw new Violation('the naive exchange takes each event', json([event, answer]));
        same('what is owed follows the events', reference, answer.moved.owed ?? 0n, event.owedAtoms ?? 0n);
        this.movements.push(`${event.sequence} ${kind} ${wallet} ${asset} ${atoms} ${reference}`);
        return;
      }
      case 'withdrawal_taken':
      case 'withdrawal_released': {
        const by = book.takes.get(event.reference)?.by ?? '';
        const answer =
          event.kind === 'withdrawal_taken' ? book.take(event, event.take) : book.giveUp(event, by);
        if (answer !== 'changed')
          throw new Violation('the naive exchange takes each event', json([event, answer]));
        return;
      }
      case 'account_held':
        book.held.add(event.wallet);
        return;
      case 'account_released':
        book.held.delete(event.wallet);
        return;
      case 'trading_paused':
      case 'trading_resumed':
        book.isPaused = event.kind === 'trading_paused';
        return;
      case 'asset_changed':
        book.scales.set(event.asset.symbol, event.asset.scale);
        return;
      case 'market_changed':
        if (book.market(event.market.symbol) === undefined) book.publish(rulesIn(event.market));
        else book.change(event.market.symbol, rulesIn(event.market));
        return;
      default:
        throw new Error(`the simulation makes no ${event.kind}`);
    }
  }

  #place(event: OrderPlacedEvent & { readonly sequence: number }): void {
    const { order, status, filledSteps, reason, trades, expired } = event;
    const { market, side, type, clientOrderId, timeInForce, postOnly, wallet, priceTicks } = order;
    const answer = this.book.place(
      wallet,
      {
        market,
        side,
        type,
        clientOrderId,
        timeInForce,
        postOnly,
        reduceOnly: false,
        leverage: null,
        ...(priceTicks !== null && { price: `${priceTicks}` }),
        size: `${order.sizeSteps}`,
      },
      false,
    );
    if (!('placed' in answer))
      throw new Violation('the naive exchange takes each event', json([event, answer]));
    const { placed } = answer;
    this.#ids[placed.number] = order.id;
    const isLive = this.book.live.find(({ number }) => number === placed.number);
    this.orders.set(order.id, { order: isLive ?? placed, event, closed: isLive ? null : event.sequence });
    same('price and time decide', order.id, this.#told(answer), {
      status,
      filled: filledSteps,
      reason,
      trades: trades.map((trade) => [trade.makerOrderId, trade.priceTicks, trade.sizeSteps, trade.feeAtoms]),
      expired: expired.map(({ id }) => id).sort(),
    });
    for (const { tradeId, makerOrderId, takerOrderId, priceTicks: price, sizeSteps, feeAtoms } of trades) {
      const size = `${sizeSteps}`;
      const fee = `${feeAtoms}`;
      this.trades.push({ tradeId, maker: makerOrderId, taker: takerOrderId, price: `${price}`, size, fee });
      if (!this.book.live.some(({ number }) => this.#ids[number] === makerOrderId))
        this.orders.get(makerOrderId)!.closed = event.sequence;
    }
    for (const { id } of expired) this.orders.get(id)!.closed = event.sequence;
  }

  #told({
    placed,
    trades,
    plan,
  }: Extract<ReturnType<ReferenceExchange['place']>, { placed: unknown }>): unknown {
    return {
      status: placed.status,
      filled: writeDecimal(placed.filled),
      reason: placed.reason,
      trades: trades.map(({ maker, price, size, feeAtoms }) => [
        this.#ids[maker],
        writeDecimal(price),
        writeDecimal(size),
        feeAtoms,
      ]),
      expired: plan.expired.map(({ number }) => this.#ids[number]!).sort(),
    };
  }

  #close({ id, status, reason }: ClosedOrder, event: EngineEvent): void {
    const number = this.#ids.indexOf(id);
    const closed = this.book.closeOne(null, number, reason!);
    same('a closed order was live', id, 'refused' in closed ? closed.refused : closed.status, status);
    this.orders.get(id)!.closed = event.sequence;
  }

  id = (number: number): string => this.#ids[number]!;
}

// --- the engine --------------------------------------------------------------------------------------------

type EngineData = Pick<World, 'redis' | 'markets'>;

/** Asks for everything that is checked, in one packet. */
function readEngine({ redis, markets }: EngineData) {
  redis.stream.cork();
  const reads = {
    balances: ASSETS.map((asset) => ({
      asset,
      fields: redis.callBuffer('HGETALL', balancesKey(asset)) as Promise<Buffer[]>,
    })),
    live: redis.zrangeBuffer(KEYS.live, '0', '-1'),
    own: redis.hgetall(KEYS.engine),
    sides: markets.flatMap(({ symbol, number }) =>
      (['buy', 'sell'] as const).map((side) => {
        const name = side === 'buy' ? 'bids' : 'asks';
        const members = redis.zrangeBuffer(bookKey(symbol, name), '0', '-1');
        return { symbol, number, side, members, levels: redis.hvals(levelsKey(symbol, name)) };
      }),
    ),
  };
  redis.stream.uncork();
  return reads;
}

async function checkRedis(world: EngineData, { book, id }: Replay): Promise<void> {
  const reads = readEngine(world);
  same(
    'takes follow the events',
    'key engine',
    [...book.takes.keys()].map(takenField).sort(),
    Object.keys(await reads.own)
      .filter((field) => field.startsWith(takenField('')))
      .sort(),
  );
  for (const { asset, fields } of reads.balances) {
    const found = await fields;
    const held = new Map<string, bigint>();
    for (let at = 0; at < found.length; at += 2)
      held.set(found[at]!.toString('latin1'), BigInt(found[at + 1]!.toString()));
    checkSums(asset, held);
    for (const wallet of WALLETS) {
      const field = Buffer.from(wallet.slice(2), 'hex').toString('latin1');
      const { available, reserved } = book.account(wallet, asset);
      const amounts = ['a', 'r', 'o'].map((part) => held.get(`${field}${part}`) ?? 0n);
      const owed = book.owed.get(`${wallet} ${asset}`) ?? 0n;
      same('balances follow the events', `${asset} of ${wallet}`, [available, reserved, owed], amounts);
    }
    same(
      'balances follow the events',
      `${asset} of the house`,
      book.house.get(asset),
      held.get('house') ?? 0n,
    );
    same(
      'balances follow the events',
      `pending withdrawals of ${asset}`,
      book.pending.get(asset) ?? 0n,
      held.get('withdrawals') ?? 0n,
    );
    same(
      'balances follow the events',
      `supply of ${asset}`,
      book.supply.get(asset),
      held.get('supply') ?? 0n,
    );
  }
  const listed = (await reads.live).map(readLiveMember).map((order) => [order.id, order.sizeSteps]);
  const live = book.live.map(({ number, size }) => [id(number), writeDecimal(size)]);
  same('live orders are listed', 'live', live.sort(), listed.sort());
  for (const { symbol, number, side, members, levels } of reads.sides) {
    const resting = book.book(symbol, side);
    const found = (await members).map((member) => readBookMember(member, number, side));
    same(
      'books follow the events',
      `${symbol} ${side}`,
      resting.map((order) => [id(order.number), writeDecimal(order.size - order.filled)]),
      found.map((order) => [order.id, order.remainingSteps]),
    );
    const sums = (await levels).sort();
    same('levels are the sums of their orders', `${symbol} ${side}`, levelsOf(resting), sums);
  }
  for (const symbol of MARKETS) checkUncrossed(book, symbol);
}

function checkSums(asset: string, held: ReadonlyMap<string, bigint>): void {
  let sum = 0n;
  for (const [field, atoms] of held) {
    if (atoms < 0n) throw new Violation('nothing is negative', `${asset} ${field}: ${atoms}`);
    // Receivables are no part of the supply.
    if (field !== 'supply' && !(field.length === 21 && field.endsWith('o'))) sum += atoms;
  }
  same('assets are conserved in Redis', asset, held.get('supply') ?? 0n, sum);
}

const levelsOf = (resting: readonly ReferenceOrder[]): string[] => {
  const sums = new Map<bigint, bigint>();
  for (const { price, size, filled } of resting) sums.set(price!, (sums.get(price!) ?? 0n) + size - filled);
  return [...sums.values()].map(writeDecimal).sort();
};

function checkUncrossed(book: ReferenceExchange, symbol: string): void {
  const best = (side: Side): bigint | null | undefined => book.book(symbol, side)[0]?.price;
  const bid = best('buy');
  const ask = best('sell');
  if (bid != null && ask != null && bid >= ask) throw new Violation('a book is never crossed', symbol);
}

// --- the ledger --------------------------------------------------------------------------------------------

async function checkPostgres(ask: Ask, expected: Replay): Promise<void> {
  const { book, orders, trades, movements, last } = expected;
  const [cursor] = await ask<{ place: string }>(
    `select epoch || '-' || sequence as place from engine_cursor`,
  );
  same('both sides have the same events', 'cursor', last?.sequence, Number(cursor?.place.split('-')[1]));
  const foundOrders = await ask<{ line: string }>(
    `select id || ' ' || status || ' ' || coalesce(reject_reason, reason, '-') || ' ' || filled_steps || ' ' || coalesce(closed_sequence::text, '-') || ' '
       || coalesce(client_order_id, '-') || ' ' || sequence as line from orders order by id`,
  );
  const lines = [...orders].map(
    ([orderId, { order, event, closed }]) =>
      `${orderId} ${order.status} ${order.reason ?? '-'} ${writeDecimal(order.filled)} ${closed ?? '-'} ${order.clientOrderId ?? '-'} ${event.order.sequence}`,
  );
  same('orders follow the events', 'orders', lines.sort(), foundOrders.map(({ line }) => line).sort());
  const foundTrades = await ask<Traded>(
    `select trade_id::float8 as "tradeId", maker_order_id as maker, taker_order_id as taker, price_ticks::text as price,
       size_steps::text as size, fee_atoms::text as fee from trades order by trade_id`,
  );
  same('trades follow the events', 'trades', trades, foundTrades);
  const foundMovements = await ask<{ line: string }>(
    `select concat_ws(' ', sequence, kind, wallet, asset, amount_atoms, reference) as line from movements order by sequence`,
  );
  same(
    'movements follow the events',
    'movements',
    movements,
    foundMovements.map(({ line }) => line),
  );
  const taken = await ask<{ line: string }>(
    `select concat_ws(' ', reference, take::json ->> 'by') as line from taken_withdrawals order by 1`,
  );
  same(
    'takes follow the events',
    'taken withdrawals',
    [...book.takes].map(([reference, { by }]) => `${reference} ${by}`).sort(),
    taken.map(({ line }) => line),
  );
  await checkEntries(ask, book);
}

async function checkEntries(ask: Ask, book: ReferenceExchange): Promise<void> {
  const sums = await ask<{ account: string; asset: string; atoms: string }>(
    `select account, asset, sum(amount_atoms)::text as atoms from ledger_entries group by account, asset`,
  );
  const found = new Map(sums.map(({ account, asset, atoms }) => [`${account} ${asset}`, atoms]));
  for (const asset of ASSETS) {
    for (const wallet of WALLETS) {
      const { available, reserved } = book.account(wallet, asset);
      same(
        'the ledger has each balance',
        `${asset} of ${wallet}`,
        [available + reserved, -(book.owed.get(`${wallet} ${asset}`) ?? 0n)],
        [found.get(`${wallet} ${asset}`) ?? '0', found.get(`receivable:${wallet} ${asset}`) ?? '0'],
      );
    }
    same(
      'the ledger has each balance',
      `${asset} of the house`,
      book.house.get(asset) ?? 0n,
      found.get(`house ${asset}`) ?? '0',
    );
    same(
      'the ledger has each balance',
      `pending withdrawals of ${asset}`,
      book.pending.get(asset) ?? 0n,
      found.get(`withdrawals ${asset}`) ?? '0',
    );
  }
}

// --- what clients were told --------------------------------------------------------------------------------

function checkPromises(
  { journal }: World,
  { orders, movements, shown, cancelled, unnamed }: Promises,
  { orders: had }: Replay,
): void {
  for (const [orderId, { answer }] of orders) {
    if (journal.mayLose && journal.lost.has(orderId)) continue;
    const known = had.get(orderId);
    if (known === undefined) throw new Violation('every acknowledged order is present', orderId);
    if (answer.outcome !== 'placed') continue;
    const { status, filledSteps, trades } = known.event;
    same(
      'an order is as it was answered',
      orderId,
      [answer.order.status, answer.order.filledSteps, answer.trades.map(({ tradeId }) => tradeId)],
      [status, filledSteps, trades.map(({ tradeId }) => tradeId)],
    );
  }
  for (const id of shown)
    if (!had.has(id) && !(journal.mayLose && journal.lost.has(id)))
      throw new Violation('every order that was shown is present', id);
  for (const wallet of WALLETS) {
    const found = [...had.values()].filter(
      ({ order }) => order.wallet === wallet && order.clientOrderId === null,
    );
    if (found.length > (unnamed.get(wallet) ?? 0))
      throw new Violation('an order without an id is placed at most once', `${found.length} of ${wallet}`);
  }
  for (const { do: kind, reference } of movements)
    if (
      !(journal.mayLose && journal.lost.has(`${kind} ${reference}`)) &&
      !journal.hasMovement(kind, reference)
    )
      throw new Violation('every acknowledged movement is present', `${kind} ${reference}`);
  for (const [orderId, losses] of cancelled)
    if ((!journal.mayLose || losses === journal.losses) && had.get(orderId)?.closed === null)
      throw new Violation('every acknowledged cancel is present', orderId);
}
