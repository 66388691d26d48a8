/**
 * Draws order batches, replacements, cancels of named orders and reads of changes, sends them to two replicas, and
 * holds each reply and each change against the reference exchange. A run is repeated by its seed.
 */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'lossless-json';
import { openSessions } from '../../src/auth/session.ts';
import type { EngineEvent } from '../../src/domain/event.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { writeDecimal } from '../proofs/equivalence/decimals.ts';
import { compare, Divergence, show } from '../proofs/equivalence/divergence.ts';
import { Generator } from '../proofs/equivalence/generator.ts';
import {
  type ClosedRecord,
  type PlaceAnswer,
  ReferenceExchange,
  type ReferenceOrder,
} from '../proofs/equivalence/reference-book.ts';
import { type Request, refusalByRules } from '../proofs/equivalence/reference-rules.ts';
import {
  BUSY,
  DEFAULT_SCALE,
  MARKETS,
  SCALES,
  TRADERS,
  WALLETS,
  WHALES,
} from '../proofs/equivalence/stage.ts';
import { type Placing, takenBy } from '../proofs/equivalence/turns.ts';
import { LIMITS } from '../support/limits.ts';
import { type Random, random } from '../support/seed.ts';
import { type Fixture, SECRET } from './fixture.ts';

/** Kinds of requests that a run counts. It ends when each reaches the number of cases. */
export const KINDS = ['batch', 'replace', 'cancel-batch', 'changes'] as const;
type Kind = (typeof KINDS)[number];

const MAX_WATCHERS = 8;
const DRAWS_EACH = 10;
const UNKNOWN_ORDER_ID = `0000${'00'.repeat(15)}`;
/** Markets without a common asset: the order in which a replica begins them cannot be seen. */
const APART = [
  [BUSY[0], BUSY[2]],
  [BUSY[1], BUSY[2]],
] as const;

/** JSON as it was sent, with numbers as their texts. */
// biome-ignore lint/suspicious/noExplicitAny: replies are compared with what the reference says
type Json = any;

interface Answer {
  readonly status: number;
  readonly body: Json;
}

interface Change {
  readonly order: number;
  readonly fills: readonly object[];
}

interface OwnOrder {
  readonly wallet: string;
  readonly clientOrderId: string | null;
  readonly size: bigint;
  filled: bigint;
  status: string;
  reason: string | null;
}

/** Reads the changes of a wallet as a client does. */
interface Watcher {
  readonly wallet: string;
  cursor: string;
  /** Number of changes of the wallet before the cursor. */
  told: number;
  /** The request that waits, if one does. */
  waiting: Promise<Answer> | undefined;
}

const sessions = openSessions({
  issuer: 'Redbook',
  secret: SECRET,
  previousSecret: undefined,
  nowMs: Date.now,
});

const bodyOf = ({ clientOrderId, leverage, ...rest }: Request): object => ({
  ...rest,
  ...(clientOrderId !== null && { clientOrderId }),
  ...(leverage !== null && { leverage }),
});

const fillOf = (role: 'maker' | 'taker', price: bigint, size: bigint): object => ({
  role,
  price: writeDecimal(price),
  size: writeDecimal(size),
});
const fillsIn = (fills: readonly Json[]): object[] =>
  fills.map(({ role, price, size }) => ({ role, price, size }));

export async function compareRoutes(
  fixture: Fixture,
  seed: number,
  cases: number,
): Promise<Map<string, number>> {
  const replicas = [fixture.app, (await fixture.replica()).app];
  const servers = await Promise.all(replicas.map(listen));
  const run = new Run(fixture, servers.map(urlOf), random(seed));
  try {
    await run.prepare();
    await run.perform(cases);
  } catch (error) {
    if (error instanceof Error) error.message = `seed ${seed}, ${run.place}\n${error.message}`;
    throw error;
  } finally {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  }
  return run.counts;
}

async function listen(app: RequestListener): Promise<Server> {
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

class Run {
  readonly counts = new Map<string, number>();
  place = 'the beginning';
  readonly #fixture: Fixture;
  readonly #urls: readonly string[];
  readonly #dice: Random;
  readonly #book = new ReferenceExchange(LIMITS);
  readonly #generator: Generator;
  /** Ids of orders by the reference's numbers. */
  readonly #ids: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #orders = new Map<number, OwnOrder>();
  readonly #changes = new Map<string, Change[]>(WALLETS.map((wallet) => [wallet, []]));
  readonly #watchers: Watcher[] = [];
  #cursor = { epoch: 0, sequence: 0 };

  constructor(fixture: Fixture, urls: readonly string[], dice: Random) {
    this.#fixture = fixture;
    this.#urls = urls;
    this.#dice = dice;
    this.#generator = new Generator(dice, this.#book);
  }

  async prepare(): Promise<void> {
    const { engine } = this.#fixture;
    for (const [symbol, scale] of SCALES) {
      await engine.assets.set({ symbol, scale });
      this.#book.scales.set(symbol, scale);
    }
    for (const rules of MARKETS) {
      const { tradingEnabled: _enabled, ...spec } = rules;
      for (const asset of rules.symbol.split('/'))
        if (!this.#book.scales.has(asset)) this.#book.scales.set(asset, DEFAULT_SCALE);
      await engine.markets.create({ ...spec, status: rules.status as 'active', networkId: '1' });
      this.#book.publish(rules);
    }
    const funds = [
      ...TRADERS.flatMap((wallet) =>
        [...this.#book.scales].map(
          ([asset, scale]) => [wallet, asset, BigInt(Math.round(300 * 10 ** scale))] as const,
        ),
      ),
      ...WHALES.flatMap((wallet) =>
        ['USD', 'WHALE', 'ALPHA', 'BETA', 'GAMMA', 'YEN'].map(
          (asset) => [wallet, asset, 10n ** 13n] as const,
        ),
      ),
    ];
    await Promise.all(
      funds.map(([wallet, asset, atoms]) => {
        const reference = `opening ${wallet} ${asset}`;
        this.#book.move({ kind: 'credited', wallet, asset, atoms, reference });
        return engine.funds.move({ kind: 'credited', wallet, asset, amountAtoms: atoms, reference });
      }),
    );
    this.#book.takeEvents();
    this.#cursor = await engine.reads.position();
  }

  async perform(cases: number): Promise<void> {
    const isDone = (kind: Kind): boolean => (this.counts.get(kind) ?? 0) >= cases;
    while (!KINDS.every(isDone)) {
      if (this.#watchers.length < MAX_WATCHERS) await this.#watch(this.#dice.pick(WALLETS));
      const left = KINDS.filter((kind) => !isDone(kind));
      await this.#step(this.#dice.chance(0.3) ? 'any' : this.#dice.pick(left));
      await this.#answerWaiting();
      if (this.#dice.chance(0.1)) await this.#settle();
    }
    await this.#end();
  }

  async #step(kind: Kind | 'any'): Promise<void> {
    if (kind === 'changes') return this.#readChanges(this.#dice.pick(this.#watchers));
    const sent = await this.#send(kind);
    if (sent === undefined) return;
    this.#count(sent);
    await this.#noteEvents();
    return undefined;
  }

  /** Sends a request, and holds its reply against the reference. @returns what was sent, if anything */
  async #send(kind: Exclude<Kind, 'changes'> | 'any'): Promise<string | undefined> {
    if (kind === 'batch') return this.#batch();
    if (kind === 'cancel-batch') return this.#cancelNamed();
    const operation = kind === 'replace' ? this.#generator.replacement() : this.#generator.next();
    this.place = show(operation);
    const { engine } = this.#fixture;
    switch (operation.do) {
      case 'place':
        return isSendable(operation) ? this.#placeOne(operation) : undefined;
      case 'cancel_all': {
        const { wallet, market } = operation;
        const closed = this.#book.closeAll(wallet, market, 'user_cancelled');
        const query = market === null ? '' : `?market=${encodeURIComponent(market)}`;
        const { body } = await this.#call(wallet, 'DELETE', `/v1/orders${query}`);
        compare('cancelled', Number(body.count), closed.length);
        return 'cancel all';
      }
      case 'pause':
      case 'resume':
        this.#book.pause(operation.do === 'pause');
        await engine.switches[operation.do]();
        return operation.do;
      case 'hold':
        this.#book.hold(operation.wallet);
        await engine.switches.hold(operation.wallet);
        return 'hold';
      case 'release':
        this.#book.release(operation.wallet);
        await engine.switches.release(operation.wallet);
        return 'release';
      default:
        return undefined;
    }
  }

  // --- placing -------------------------------------------------------------------------------------------

  /** An order by itself, or the replacement of one. */
  async #placeOne(operation: Placing): Promise<string | undefined> {
    const { wallet, request, replaces, filledSize } = operation;
    const old = replaces === undefined || replaces === null ? undefined : this.#orders.get(replaces);
    const byClientId = old?.wallet === wallet && old.clientOrderId !== null && this.#dice.chance(0.4);
    const named = byClientId
      ? { replacesClientOrderId: old.clientOrderId }
      : { orderId: this.#ids[replaces ?? -1] ?? UNKNOWN_ORDER_ID };
    const isReplacement = replaces !== undefined;
    const expected = takenBy(this.#book, operation);
    const path = isReplacement ? '/v1/orders/replace' : '/v1/orders';
    const body = { ...bodyOf(request), ...(isReplacement && { ...named, filledSize }) };
    const answer = await this.#call(wallet, 'POST', path, body);
    this.#checkPlaced(answer.status, answer.body, expected);
    const replaced = 'placed' in expected ? expected.replaced : undefined;
    compare('replaced', answer.body.replaced, replaced && this.#closedReply(replaced));
    if (replaced !== undefined) this.#count('replaced');
    return isReplacement ? 'replace' : 'place';
  }

  async #batch(): Promise<string | undefined> {
    const drawn = this.#drawBatch();
    if (drawn.length === 0) return undefined;
    const { wallet } = drawn[0]!.operation;
    this.place = `batch ${show(drawn.map(({ operation }) => operation.request))}`;
    const orders = drawn.map(({ operation }) => bodyOf(operation.request));
    const { status, body } = await this.#call(wallet, 'POST', '/v1/orders/batch', { orders });
    compare('reply', [status, body.results?.length], [200, drawn.length]);
    // Placed orders get their numbers before replies that repeat them are compared.
    for (const [at, { expected }] of drawn.entries())
      if ('placed' in expected && body.results[at].id !== undefined)
        this.#bind(body.results[at].id, expected.placed.number);
    await this.#noteEvents();
    for (const [at, { expected }] of drawn.entries()) {
      const { status: own, order, ...rest } = body.results[at];
      this.#checkPlaced(Number(own), { ...rest, order, status: order?.status }, expected);
    }
    this.#count('orders of order batches', drawn.length);
    return 'batch';
  }

  /** Draws the orders of a wallet in one market, or in two. The reference has executed them. */
  #drawBatch(): { readonly operation: Placing; readonly expected: PlaceAnswer }[] {
    const size = 1 + this.#dice.below(this.#dice.pick([4, 12, 50]));
    const wallet = this.#dice.chance(0.9) ? this.#dice.pick(TRADERS) : this.#dice.pick(WHALES);
    const markets: readonly string[] = this.#dice.chance(0.3)
      ? this.#dice.pick(APART)
      : [this.#dice.pick([...BUSY, ...BUSY, ...MARKETS.map(({ symbol }) => symbol)])];
    const drawn: { operation: Placing; expected: PlaceAnswer }[] = [];
    const marketOfId = new Map<string, string>();
    for (let draws = 0; draws < size * DRAWS_EACH && drawn.length < size; draws += 1) {
      const operation = this.#generator.next();
      if (operation.do !== 'place' || !isSendable(operation)) continue;
      const { replaces: _none, filledSize: _any, ...rest } = operation;
      const placing = { ...rest, wallet };
      const { market } = operation.request;
      const clientOrderId = this.#idWithin(drawn, operation.request);
      const request = { ...operation.request, clientOrderId };
      const isElsewhere = clientOrderId !== null && (marketOfId.get(clientOrderId) ?? market) !== market;
      // A replica reads a body, and refuses what its rules do not allow, before an earlier order of the order batch is
      // placed.
      const isRepeated = clientOrderId !== null && marketOfId.has(clientOrderId);
      const isRefused = refusalByRules(request, this.#book.market(market)) !== undefined;
      if (!markets.includes(market) || isElsewhere || (isRepeated && isRefused)) continue;
      if (clientOrderId !== null) marketOfId.set(clientOrderId, market);
      drawn.push({ operation: { ...placing, request }, expected: this.#book.place(wallet, request, false) });
    }
    return drawn;
  }

  /** The client order id of a request, sometimes one of the same order batch. */
  #idWithin(drawn: readonly { readonly operation: Placing }[], { clientOrderId }: Request): string | null {
    const ids = drawn.map(({ operation }) => operation.request.clientOrderId).filter((id) => id !== null);
    return ids.length > 0 && this.#dice.chance(0.06) ? this.#dice.pick(ids) : clientOrderId;
  }

  #checkPlaced(status: number, reply: Json, expected: PlaceAnswer): void {
    if ('refused' in expected) {
      this.#count(expected.refused);
      compare('refusal', [reply.code, status >= 400], [expected.refused, true]);
      return;
    }
    compare('status', [status, reply.code], [200, undefined]);
    if ('replayed' in expected) {
      this.#count('replayed');
      compare('replay', this.#numbers.get(reply.id), expected.replayed);
      this.#checkShown(reply.order, expected.replayed);
      return;
    }
    const { placed, trades } = expected;
    this.#bind(reply.id, placed.number);
    if (placed.status === 'rejected') this.#count('rejected');
    compare('order', stateIn(reply.order), stateOf(placed));
    compare('order at the top', { ...reply.order, status: undefined }, topOf(reply));
    compare('accepted', reply.accepted, placed.status !== 'rejected');
    compare(
      'fills',
      fillsIn(reply.fills),
      trades.map(({ price, size }) => fillOf('taker', price, size)),
    );
  }

  /** Holds a shown order against its present state. */
  #checkShown(order: Json, number: number): void {
    compare(
      'order shown',
      [this.#numbers.get(order.id), stateIn(order)],
      [number, stateOf(this.#orders.get(number)!)],
    );
  }

  #bind(id: string, number: number): void {
    if (this.#numbers.get(id) === number) return;
    if (id === undefined || this.#numbers.has(id)) throw new Divergence('order id', id, 'a new one');
    this.#numbers.set(id, number);
    this.#ids[number] = id;
  }

  // --- cancelling ----------------------------------------------------------------------------------------

  async #cancelNamed(): Promise<string | undefined> {
    const wallet = this.#dice.pick(WALLETS);
    const byId: number[] = [];
    const byClientId: (number | null)[] = [];
    for (let left = 1 + this.#dice.below(this.#dice.pick([3, 20])); left > 0; left -= 1) {
      const own = this.#book.liveOf(wallet);
      const closing = this.#generator.closing();
      const isOwn = own.length > 0 && this.#dice.chance(0.6);
      const number = isOwn ? this.#dice.pick(own).number : (closing.order ?? -1);
      const order = this.#orders.get(number);
      const isNamed = order?.wallet === wallet && order.clientOrderId !== null;
      if (isNamed && this.#dice.chance(0.5)) byClientId.push(number);
      else if (this.#dice.chance(0.05)) byClientId.push(null);
      else byId.push(number);
    }
    const orderIds = byId.map((number) => this.#ids[number] ?? UNKNOWN_ORDER_ID);
    const clientOrderIds = byClientId.map((number) =>
      number === null ? 'never used' : this.#orders.get(number)!.clientOrderId,
    );
    this.place = `cancel-batch ${wallet} ${show({ orderIds, clientOrderIds })}`;
    const expected = [...byId, ...byClientId].map((number) => {
      const closed = this.#book.closeOne(wallet, number ?? -1, 'user_cancelled');
      this.#count('refused' in closed ? 'not cancelled' : 'cancelled');
      if ('refused' in closed) return { status: '400', code: closed.refused };
      const { status, ...item } = this.#closedReply(closed);
      return { ...item, status: '200', order: { ...item, status } };
    });
    const path = '/v1/orders/cancel-batch';
    const { body } = await this.#call(wallet, 'POST', path, { orderIds, clientOrderIds });
    const results = body.results.map(({ error: _error, ...result }: Json) => result);
    compare('results', results, expected);
    return 'cancel-batch';
  }

  #closedReply({ number, market, clientOrderId, status, reason }: ClosedRecord) {
    return { id: this.#ids[number], clientOrderId, market, status, reason };
  }

  // --- changes -------------------------------------------------------------------------------------------

  /** Reads the engine's events, and tells wallets the reference's changes in their order. */
  async #noteEvents(): Promise<void> {
    const events = await this.#fixture.engine.outbox.readEvents(this.#cursor, 1_000);
    const placed = new Map<
      number,
      { order: ReferenceOrder; fills: Json[]; expired: readonly ClosedRecord[] }
    >();
    const closed = new Map<number, ClosedRecord>();
    for (const event of this.#book.takeEvents()) {
      if (event.kind === 'orders_closed') for (const one of event.orders) closed.set(one.number, one);
      if (event.kind !== 'order_placed') continue;
      placed.set(event.order.number, { ...event, fills: [...event.trades] });
    }
    for (const event of events) {
      if (event.sequence <= this.#cursor.sequence) continue;
      this.#cursor = { epoch: event.epoch, sequence: event.sequence };
      this.#note(event, placed, closed);
    }
    compare('events that did not come', [[...placed.keys()], [...closed.keys()]], [[], []]);
  }

  #note(event: EngineEvent, placed: Map<number, Json>, closed: Map<number, ClosedRecord>): void {
    if (event.kind === 'orders_closed') {
      const records = event.orders.map(({ id }) => closed.get(this.#numbers.get(id) ?? -1));
      if (records.includes(undefined)) throw new Divergence('event', event, [...closed.values()]);
      this.#close(records as ClosedRecord[]);
      for (const record of records) closed.delete(record!.number);
    }
    if (event.kind !== 'order_placed') return;
    const number = this.#numbers.get(event.order.id) ?? -1;
    const found = placed.get(number);
    if (found === undefined) throw new Divergence('event', event, [...placed.keys()]);
    placed.delete(number);
    const { order, fills, expired } = found;
    this.#orders.set(number, { ...order });
    this.#tell(order.wallet, {
      order: number,
      fills: fills.map(({ price, size }: Json) => fillOf('taker', price, size)),
    });
    for (const { maker, makerWallet, price, size } of fills) {
      const one = this.#orders.get(maker)!;
      one.filled += size;
      one.status = one.filled === one.size ? 'filled' : 'partially_filled';
      this.#tell(makerWallet, { order: maker, fills: [fillOf('maker', price, size)] });
    }
    this.#close(expired);
  }

  #close(records: readonly ClosedRecord[]): void {
    const inOrder = [...records].sort((a, b) => (this.#ids[a.number]! < this.#ids[b.number]! ? -1 : 1));
    for (const { number, wallet, status, reason } of inOrder) {
      Object.assign(this.#orders.get(number)!, { status, reason });
      this.#tell(wallet, { order: number, fills: [] });
    }
  }

  #tell(wallet: string, change: Change): void {
    this.#changes.get(wallet)!.push(change);
  }

  async #watch(wallet: string): Promise<void> {
    const { body } = await this.#call(wallet, 'GET', '/v1/orders/changes');
    compare('changes without a cursor', body.changes, []);
    const told = this.#changes.get(wallet)!.length;
    this.#watchers.push({ wallet, cursor: body.cursor, told, waiting: undefined });
  }

  /** Reads all pages of what is new, and mostly waits for more. */
  async #readChanges(watcher: Watcher): Promise<void> {
    if (watcher.waiting !== undefined) return;
    const { wallet } = watcher;
    const all = this.#changes.get(wallet)!.length;
    const limit = this.#dice.pick([1, 2, 3, 8, 100]);
    this.place = `changes of ${wallet} after ${watcher.told}, ${limit} at most`;
    const read = (wait: number): Promise<Answer> =>
      this.#call(wallet, 'GET', `/v1/orders/changes?after=${watcher.cursor}&limit=${limit}&wait=${wait}`);
    let isMore = watcher.told < all || this.#dice.chance(0.2);
    while (isMore) {
      const count = Math.min(all - watcher.told, limit);
      const { body } = await read(0);
      this.#checkTold(watcher, body, count);
      isMore = watcher.told < all;
      compare('more', body.more, isMore);
      for (const { order } of body.changes) this.#checkShown(order, this.#numbers.get(order.id)!);
      this.#count('changes');
      this.#count('changes told', count);
    }
    if (this.#dice.chance(0.8)) watcher.waiting = read(25);
  }

  /** Holds the answers of requests that waited against the changes since, of which they may know only the first. */
  async #answerWaiting(): Promise<void> {
    for (const watcher of this.#watchers) {
      const { wallet, told, waiting } = watcher;
      if (waiting === undefined || this.#changes.get(wallet)!.length === told) continue;
      this.place = `${this.place}, awaited by ${wallet} after ${told}`;
      watcher.waiting = undefined;
      const { body } = await waiting;
      this.#checkTold(watcher, body, Math.max(1, body.changes?.length));
      this.#count('changes');
      this.#count('changes awaited');
    }
  }

  #checkTold(watcher: Watcher, body: Json, count: number): void {
    const expected = this.#changes.get(watcher.wallet)!.slice(watcher.told, watcher.told + count);
    const told = body.changes?.map(({ order, fills }: Json) => ({
      order: this.#numbers.get(order.id),
      fills: fillsIn(fills),
    }));
    compare('changes', told, expected);
    watcher.cursor = body.cursor;
    watcher.told += expected.length;
  }

  /** Reads what is left. Requests that still wait get something to tell. */
  async #end(): Promise<void> {
    const { switches } = this.#fixture.engine;
    this.#book.pause(false);
    await switches.resume();
    for (const wallet of this.#book.held) await switches.release(wallet);
    for (const wallet of [...this.#book.held]) this.#book.release(wallet);
    for (const { wallet, waiting } of this.#watchers) {
      if (waiting === undefined) continue;
      await this.#placeOne({ do: 'place', wallet, isRestricted: false, request: REJECTED });
      await this.#noteEvents();
    }
    await this.#answerWaiting();
    for (const watcher of this.#watchers) {
      this.place = `the end of ${watcher.wallet}`;
      const all = this.#changes.get(watcher.wallet)!.length;
      while (watcher.told < all) {
        const path = `/v1/orders/changes?after=${watcher.cursor}`;
        const { body } = await this.#call(watcher.wallet, 'GET', path);
        this.#checkTold(watcher, body, Math.min(100, all - watcher.told));
      }
    }
  }

  // --- stores --------------------------------------------------------------------------------------------

  /** Settles events as far as chance has it, and sometimes drops settled ones from the engine. */
  async #settle(): Promise<void> {
    const { settle, ledger, redis } = this.#fixture;
    const trims = this.#dice.chance(0.6);
    await settle({ behind: this.#dice.below(12), trims });
    if (!trims || this.#dice.chance(0.2)) return;
    const { epoch, sequence } = await ledger.settlement.cursor();
    await redis.xtrim(KEYS.events, 'MINID', `${epoch}-${sequence}`);
    this.#count('trimmed');
  }

  async #call(wallet: string, method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(this.#dice.pick(this.#urls) + path, {
      method,
      headers: {
        authorization: `Bearer ${sessions.issue(wallet)}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      body: parse(await response.text(), undefined, { parseNumber: String }),
    };
  }

  #count(outcome: string, times = 1): void {
    this.counts.set(outcome, (this.counts.get(outcome) ?? 0) + times);
  }
}

/** False for a request from another country, and for a body that is refused before its order is read. */
const isSendable = ({ isRestricted, request }: Placing): boolean => !isRestricted && request.market !== '';

/** An order that the engine rejects and records. */
const REJECTED: Request = {
  market: BUSY[1],
  side: 'buy',
  type: 'limit',
  timeInForce: 'FOK',
  price: '1',
  size: '1',
  clientOrderId: null,
  leverage: null,
  postOnly: false,
  reduceOnly: false,
};

const stateOf = ({ status, reason, filled, size, clientOrderId }: OwnOrder | ReferenceOrder): object => ({
  status,
  reason,
  clientOrderId,
  filledSize: writeDecimal(filled),
  size: writeDecimal(size),
  remainingSize: writeDecimal(size - filled),
});

const stateIn = ({ status, reason, clientOrderId, filledSize, size, remainingSize }: Json): object => ({
  status,
  reason,
  clientOrderId,
  filledSize,
  size,
  remainingSize,
});

/** The members of the order that a placing reply repeats. */
function topOf({
  accepted: _,
  order: _order,
  rejectCode,
  rejectReason,
  replaced: _old,
  ...rest
}: Json): object {
  compare('reason of the refusal', rejectReason, rejectCode);
  return { ...rest, status: undefined };
}
