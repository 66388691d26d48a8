/**
 * The clients of a campaign. Each wallet sends one request at a time, writes its intent into the journal before it and
 * the outcome after it, and holds each reply against what it was told before.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Broken, type Reply } from '../../support/http-exchange.ts';
import type { Random } from '../../support/seed.ts';
import type { Intent, Journal, OrderBody, Outcome, Replaces, Shown } from './journal.ts';
import { isLive, type Model, sequenceOf, type Told } from './model.ts';
import { type Asked, ask, signIn, type Wallet, walletOf } from './wallet.ts';

export const MARKETS = ['ETH/USDC', 'BTC/USDC'] as const;
const MID = 2_000;
/** A wallet cancels rather than places beyond this many resting orders. */
const MAX_RESTING = 12;
/** A replica that was not reached is left alone for a moment. */
const SHY_MS = 250;
/** At a price of 1,000 beyond the funds of any wallet, and below the largest order. */
const POOR_SIZE = 5_000_000;
const RESOLVE_WITHIN_MS = 60_000;

/** Share of each action among the next actions of a wallet, in percent. */
const MIX = {
  rest: 22,
  cross: 14,
  ioc: 6,
  fok: 4,
  'post-only': 6,
  'market order': 4,
  poor: 3,
  batch: 4,
  replace: 10,
  repeat: 6,
  cancel: 10,
  'cancel batch': 2,
  'cancel all': 1,
  list: 6,
  book: 4,
  read: 4,
  'sign in': 1,
} as const;
type Act = keyof typeof MIX;

/** Acts that place one order. */
const ORDERS = ['rest', 'cross', 'ioc', 'fok', 'post-only', 'market order'] as const;
type OrderAct = (typeof ORDERS)[number];
const MAX_BATCH = 6;
const MAX_NAMED = 4;
/** Share of orders with a deadline, which passes before it or up to so many milliseconds later. */
const DEADLINES = { share: 0.15, soonMs: 40, lateMs: 3_000 };

/** Paths of other reads. */
const READ: readonly string[] = [
  '/v1/markets',
  '/v1/trades',
  '/v1/market-data/pairs',
  '/v1/market-data/summary',
  '/v1/market-data/tickers',
  '/v1/market-data/trades/BTC_USDC?limit=50',
];

const GONE = 'ORDER_NOT_FOUND';
/** The refusal of an order whose deadline has passed. */
const LATE = 'BAD_REQUEST';
/** Codes of refusals that these clients earn. */
export const EARNED: ReadonlySet<string> = new Set([
  'INSUFFICIENT_BALANCE',
  'ORDER_NOT_FOUND',
  'CONFLICT',
  'NOT_FOUND',
  'NO_REFERENCE_PRICE',
  'BAD_REQUEST',
]);
/** Codes of refusals that a fault may cause. */
const CAUSED: ReadonlySet<string> = new Set(['SERVICE_UNAVAILABLE', 'RATE_LIMITED']);
const DECK = Object.entries(MIX).flatMap(([act, share]) => Array<Act>(share).fill(act as Act));

export interface DriverParts {
  readonly seed: number;
  /** Wallets that do whatever traders do. */
  readonly traders: number;
  /** Ports of the api replicas. */
  readonly ports: readonly number[];
  readonly journal: Journal;
  readonly model: Model;
  /** Told of each contradiction at once. */
  readonly onViolation: (invariant: string, detail: string) => void;
  readonly onAsked?: (asked: Asked) => void;
}

type Draft = Intent extends infer One
  ? One extends Intent
    ? Omit<One, 'entry' | 'n' | 'wallet'>
    : never
  : never;

interface Asking {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly port?: number | undefined;
}

interface Result {
  readonly status: number;
  /** Undefined: an error stands in its place. */
  readonly order?: Record<string, unknown>;
}

function nextBurst(): { readonly begun: Promise<true>; readonly begin: (is: true) => void } {
  let begin: (is: true) => void = () => undefined;
  const begun = new Promise<true>((resolve) => {
    begin = resolve;
  });
  return { begun, begin };
}

export class Driver {
  /** The traders, then the owners of the marker market and of the dead-man switch. */
  readonly wallets: readonly Wallet[];
  readonly marker: Wallet;
  readonly deadMan: Wallet;
  /** Milliseconds of the longest answer so far, the request that it answered, and how many answers there were. */
  readonly answers = { longestMs: 0, longest: '', count: 0 };
  /** True while a fault may honestly end sessions. */
  signsInAgain = false;
  /** False while the clock of the engine is not that of the campaign. */
  setsDeadlines = true;
  readonly #parts: DriverParts;
  #working: Promise<unknown> = Promise.resolve();
  #stopping = true;
  #n: number;
  #burst = nextBurst();

  constructor(parts: DriverParts) {
    this.#parts = parts;
    this.#n = parts.model.lastIntent;
    const { seed, traders } = parts;
    this.wallets = Array.from({ length: traders + 2 }, (_none, index) => walletOf(seed, index));
    [this.marker, this.deadMan] = this.wallets.slice(traders) as [Wallet, Wallet];
  }

  get model(): Model {
    return this.#parts.model;
  }

  get ports(): readonly number[] {
    return this.#parts.ports;
  }

  async signIn(): Promise<void> {
    await Promise.all(
      this.wallets.map(async (wallet) => {
        const endMs = Date.now() + RESOLVE_WITHIN_MS;
        while (!(await signIn(wallet, wallet.dice.pick(this.ports)))) {
          if (Date.now() > endMs) throw new Error('a wallet cannot sign in');
          await sleep(250);
        }
      }),
    );
  }

  /** All wallets together send so many requests a second, at most. */
  begin(perSecond: number): void {
    this.#stopping = false;
    const traders = this.wallets.slice(0, this.#parts.traders);
    const everyMs = (1_000 * traders.length) / perSecond;
    this.#working = Promise.all(traders.map((wallet) => this.#work(wallet, everyMs)));
  }

  /** The next request of each wallet places an order, and is sent now. */
  burst(): void {
    this.#burst.begin(true);
    this.#burst = nextBurst();
  }

  /** Stops when each request under way has its outcome. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#working;
  }

  close(): void {
    for (const { agent } of this.wallets) agent.destroy();
  }

  async #work(wallet: Wallet, everyMs: number): Promise<void> {
    const { dice } = wallet;
    let waitMs = dice.below(everyMs);
    for (;;) {
      const isBursting = await Promise.race([sleep(Math.max(0, waitMs)), this.#burst.begun]);
      if (this.#stopping) return;
      const begunMs = performance.now();
      await this.#act(wallet, isBursting ? 'rest' : dice.pick(DECK));
      waitMs = begunMs + everyMs * (0.5 + dice.below(100) / 100) - performance.now();
    }
  }

  async #act(wallet: Wallet, act: Act): Promise<unknown> {
    const { dice } = wallet;
    switch (act) {
      case 'rest':
        return wallet.resting.length > MAX_RESTING
          ? this.#act(wallet, 'cancel')
          : this.#placeNew(wallet, this.#drawn(wallet, 'rest'));
      case 'poor':
        return this.#placePoor(wallet);
      case 'batch':
        return this.#placeBatch(wallet);
      case 'replace':
        return this.#replace(wallet);
      case 'repeat':
        return this.#repeat(wallet);
      case 'cancel': {
        const id = wallet.resting.shift();
        return id === undefined
          ? this.#placeNew(wallet, this.#drawn(wallet, 'rest'))
          : this.cancel(wallet, id);
      }
      case 'cancel batch':
        return this.#cancelBatch(wallet);
      case 'cancel all':
        return this.#cancelAll(wallet);
      case 'list':
        return this.#list(wallet);
      case 'book':
        return this.#book(wallet);
      case 'read':
        return this.read(wallet, dice.pick([...READ, `/v1/portfolio/${wallet.address}`]));
      case 'sign in':
        return signIn(wallet, dice.pick(this.ports), this.#noteAsked);
      default:
        return this.#placeNew(wallet, this.#drawn(wallet, act));
    }
  }

  #drawn({ dice }: Wallet, act: OrderAct): Omit<OrderBody, 'clientOrderId'> {
    const side = dice.pick(['buy', 'sell'] as const);
    const away = (1 + dice.below(40)) / 4;
    const passive = side === 'buy' ? MID - away : MID + away;
    const aggressive = side === 'buy' ? MID + 20 : MID - 20;
    const steps = 1 + dice.below(300);
    const order = { market: dice.pick(MARKETS), side, size: steps / 10_000, ...this.#deadline(dice) };
    const limit = { ...order, type: 'limit', price: aggressive } as const;
    switch (act) {
      case 'rest':
        return { ...limit, price: passive };
      case 'cross':
        return { ...limit, size: steps / 5_000 };
      case 'ioc':
        return { ...limit, timeInForce: 'IOC' };
      case 'fok':
        return { ...limit, timeInForce: 'FOK' };
      case 'post-only':
        return { ...limit, price: dice.chance(0.3) ? aggressive : passive, postOnly: true };
      case 'market order':
        return { ...order, type: 'market' };
    }
  }

  /** Half of the deadlines pass about when the request arrives, the others while its outcome may be unknown. */
  #deadline(dice: Random): { readonly expiresAfter?: number } {
    const { share, soonMs, lateMs } = DEADLINES;
    if (!this.setsDeadlines || !dice.chance(share)) return {};
    const aheadMs = dice.chance(0.5) ? dice.below(2 * soonMs) - soonMs : dice.below(lateMs);
    return { expiresAfter: Date.now() + aheadMs };
  }

  /** An id that no other request of the wallet has, in any run of the same campaign. */
  #freshId(): string {
    return `c${this.#n + 1}`;
  }

  #placeNew(wallet: Wallet, order: Omit<OrderBody, 'clientOrderId'>): Promise<Outcome> {
    return this.place(wallet, { ...order, clientOrderId: this.#freshId() });
  }

  /** An order batch whose outcome is unknown is sent again as it was: its orders are placed once. */
  async #placeBatch(wallet: Wallet): Promise<void> {
    const { dice } = wallet;
    const orders = Array.from({ length: 1 + dice.below(MAX_BATCH) }, (_none, at) => ({
      ...this.#drawn(wallet, dice.pick(ORDERS)),
      clientOrderId: `c${this.#n + 1 + at}`,
    }));
    const send = (): Promise<Outcome[]> =>
      this.#changeAll(
        wallet,
        orders.map((order) => ({ does: 'place', order })),
        { method: 'POST', path: '/v1/orders/batch', body: { orders } },
      );
    const outcomes = await send();
    for (const market of MARKETS) {
      const sequences = outcomes.flatMap((one, at) =>
        one.is === 'ok' && orders[at]!.market === market ? [sequenceOf(one.shown[0]!.id)] : [],
      );
      if (sequences.some((sequence, at) => sequence <= (sequences[at - 1] ?? 0)))
        this.#parts.onViolation('order batches', `orders of ${market} have the places ${sequences}`);
    }
    const isLost = outcomes.every(({ is }) => is === 'unknown');
    for (const outcome of isLost && dice.chance(0.5) ? await send() : outcomes) rested(wallet, outcome);
  }

  /** The order stays with the wallet when it is not replaced. */
  async #replace(wallet: Wallet): Promise<void> {
    const id = wallet.resting.shift();
    const market = id === undefined ? undefined : this.model.placed(id)?.order.market;
    if (market === undefined) return;
    const act = wallet.dice.pick(ORDERS);
    const order = { ...this.#drawn(wallet, act), market, clientOrderId: this.#freshId() };
    const filledSize = wallet.dice.chance(0.5) ? 0 : undefined;
    const outcome = await this.place(wallet, order, undefined, { id: id!, filledSize });
    const isKept =
      outcome.is === 'ok' ? outcome.shown.length === 1 : outcome.is === 'refused' && outcome.code !== GONE;
    if (isKept) wallet.resting.push(id!);
  }

  /** A refusal uses no id: an order that the wallet can pay is placed under it afterwards. */
  async #placePoor(wallet: Wallet): Promise<void> {
    const clientOrderId = this.#freshId();
    const order = { market: MARKETS[0], side: 'buy', type: 'limit', clientOrderId } as const;
    const poor = await this.place(wallet, { ...order, price: 1_000, size: POOR_SIZE });
    if (poor.is !== 'refused') {
      if (poor.is === 'ok') this.#parts.onViolation('funds', `an order beyond all funds was accepted`);
      return;
    }
    const again = await this.place(wallet, { ...order, price: MID - 15, size: 0.0001 });
    if (again.is === 'refused' && again.code !== 'RATE_LIMITED')
      this.#parts.onViolation('client ids', `${clientOrderId} is refused with ${again.code} after a refusal`);
  }

  /** A request is sent again as it was: the reply shows the same order. */
  async #repeat(wallet: Wallet): Promise<void> {
    const { dice } = wallet;
    const back = 1 + dice.below(400);
    for (let n = Math.max(1, this.#n - back); n <= this.#n; n += 1) {
      const told = this.model.orders.get(this.model.keyOf(wallet.index, `c${n}`));
      if (told?.state !== 'placed') continue;
      await this.place(wallet, told.order);
      return;
    }
  }

  /** An order that the wallet was told of is in its next list, while it is among the newest. */
  async #list(wallet: Wallet): Promise<void> {
    const placed = await this.#placeNew(wallet, {
      market: wallet.dice.pick(MARKETS),
      side: 'buy',
      type: 'limit',
      price: MID - 10 - wallet.dice.below(10) / 4,
      size: 0.001,
    });
    const reply = await this.read(wallet, '/v1/orders?limit=20');
    if (reply?.status !== 200 || placed.is !== 'ok') return;
    const orders = reply.body.orders as Shown[];
    const [shown] = placed.shown;
    if (!orders.some(({ id }) => id === shown!.id))
      this.#parts.onViolation('read your writes', `${shown!.id} is placed and in no list`);
  }

  async #book(wallet: Wallet): Promise<void> {
    const ticker = wallet.dice.pick(MARKETS).replace('/', '_');
    const reply = await this.read(wallet, `/v1/market-data/orderbook/${ticker}`);
    if (reply?.status !== 200) return;
    const { bids, asks } = reply.body as { bids: string[][]; asks: string[][] };
    if (bids[0] && asks[0] && Number(bids[0][0]) >= Number(asks[0][0]))
      this.#parts.onViolation('book', `${ticker} is crossed in a reply: ${bids[0][0]} and ${asks[0][0]}`);
  }

  /** @returns undefined when no answer came */
  async read(wallet: Wallet, path: string, port = wallet.dice.pick(this.ports)): Promise<Reply | undefined> {
    try {
      const reply = await this.#ask(port, wallet, 'GET', path);
      this.#noteFault(reply, path);
      return reply;
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      await sleep(SHY_MS);
      return undefined;
    }
  }

  async place(wallet: Wallet, order: OrderBody, port?: number, replaces?: Replaces): Promise<Outcome> {
    const asked: Asking =
      replaces === undefined
        ? { method: 'POST', path: '/v1/orders', body: order, port }
        : {
            method: 'POST',
            path: '/v1/orders/replace',
            body: { ...order, ...this.#named(wallet, replaces) },
            port,
          };
    const outcome = await this.#change(wallet, { does: 'place', order, replaces }, asked);
    rested(wallet, outcome);
    return outcome;
  }

  /** Names an order that is replaced by one of its ids. */
  #named({ dice }: Wallet, { id, filledSize }: Replaces): object {
    const told = this.model.placed(id);
    return told !== undefined && dice.chance(0.5)
      ? { replacesClientOrderId: told.order.clientOrderId, filledSize }
      : { orderId: id, filledSize };
  }

  cancel(wallet: Wallet, id: string, port?: number): Promise<Outcome> {
    return this.#change(wallet, { does: 'cancel', id }, { method: 'DELETE', path: `/v1/orders/${id}`, port });
  }

  /** Orders are named by either of their ids. */
  async #cancelBatch(wallet: Wallet): Promise<void> {
    const ids = wallet.resting.splice(0, 1 + wallet.dice.below(MAX_NAMED));
    const byClientId = ids.filter((id) => wallet.dice.chance(0.5) && this.model.placed(id) !== undefined);
    const orderIds = ids.filter((id) => !byClientId.includes(id));
    const clientOrderIds = byClientId.map((id) => this.model.placed(id)!.order.clientOrderId);
    if (ids.length === 0) return;
    await this.#changeAll(
      wallet,
      [...orderIds, ...byClientId].map((id) => ({ does: 'cancel', id })),
      { method: 'POST', path: '/v1/orders/cancel-batch', body: { orderIds, clientOrderIds } },
    );
  }

  #cancelAll(wallet: Wallet): Promise<Outcome> {
    wallet.resting.length = 0;
    return this.#change(wallet, { does: 'cancel all' }, { method: 'DELETE', path: '/v1/orders' });
  }

  async #change(wallet: Wallet, draft: Draft, asking: Asking): Promise<Outcome> {
    const [outcome] = await this.#changeAll(wallet, [draft], asking);
    return outcome!;
  }

  /** Sends a request of one change, or of several with a result each. */
  async #changeAll(wallet: Wallet, drafts: readonly Draft[], asking: Asking): Promise<Outcome[]> {
    const { method, path, body, port = wallet.dice.pick(this.ports) } = asking;
    const intents = drafts.map((draft) => this.begun(wallet.index, draft));
    try {
      const reply = await this.#ask(port, wallet, method, path, body);
      const replies = resultsOf(reply) ?? intents.map(() => reply);
      if (replies.length !== intents.length)
        this.#parts.onViolation('replies', `${path} has ${replies.length} results for ${intents.length}`);
      return intents.map((intent, at) => {
        this.#noteFault(replies[at]!, path, 'order' in intent && intent.order.expiresAfter !== undefined);
        return this.ended(outcomeOf(intent.n, replies[at]!));
      });
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      const why = error.message;
      const outcomes = intents.map(({ n }) => this.ended({ entry: 'outcome', n, is: 'unknown', why }));
      await sleep(SHY_MS);
      return outcomes;
    }
  }

  /** Where a fault may end sessions, a wallet signs in again at the replica that refused, and repeats the request. */
  async #ask(port: number, wallet: Wallet, method: string, path: string, body?: object): Promise<Reply> {
    const reply = await ask(port, wallet, method, path, body, this.#noteAsked);
    if (reply.status !== 401 || !this.signsInAgain || !(await signIn(wallet, port))) return reply;
    return ask(port, wallet, method, path, body, this.#noteAsked);
  }

  readonly #noteAsked = (asked: Asked): void => {
    const { answers } = this;
    answers.count += 1;
    if (asked.tookMs > answers.longestMs)
      [answers.longestMs, answers.longest] = [asked.tookMs, `${asked.method} ${asked.path}`];
    this.#parts.onAsked?.(asked);
  };

  /** Writes an intent, before anything is sent. */
  begun(wallet: number, draft: Draft): Intent {
    this.#n += 1;
    const intent = { entry: 'intent', n: this.#n, wallet, ...draft } as Intent;
    this.#parts.journal.write(intent);
    this.model.apply(intent);
    return intent;
  }

  ended(outcome: Outcome): Outcome {
    this.#parts.journal.write(outcome);
    this.model.apply(outcome);
    for (const what of this.model.contradictions.splice(0)) this.#parts.onViolation('replies', what);
    return outcome;
  }

  /** No fault excuses an answer that the service itself calls unexpected, or one that no client of these earns. */
  #noteFault({ status, body }: Reply, path: string, hasDeadline = false): void {
    const code = String(body.code);
    const isEarned = EARNED.has(code) && (hasDeadline || code !== LATE);
    const isExpected = status === 200 || isEarned || CAUSED.has(code);
    if (!isExpected) this.#parts.onViolation('answers', `${path} answered ${status} ${code}`);
  }

  /** Looks up each order whose outcome is unknown, and asks for it again under its client order id. */
  async resolve(): Promise<void> {
    const asked = [...this.model.orders.values()].filter(({ state }) => state === 'asked');
    await Promise.all(
      this.wallets.map(({ index }) => this.#resolveAll(asked.filter(({ wallet }) => wallet === index))),
    );
    // An intent without an outcome was under way when an earlier run of the campaign was killed.
    for (const { n, does } of [...this.model.open.values()])
      if (does !== 'move') this.ended({ entry: 'outcome', n, is: 'unknown', why: 'the campaign was killed' });
  }

  async #resolveAll(orders: readonly Told[]): Promise<void> {
    for (const told of orders) {
      for (const endMs = Date.now() + RESOLVE_WITHIN_MS; told.state === 'asked'; await sleep(20)) {
        if (Date.now() > endMs) {
          this.#parts.onViolation('lookup', `${told.order.clientOrderId} cannot be resolved in a minute`);
          return;
        }
        await this.#resolveOne(told);
      }
    }
  }

  async #resolveOne(told: Told): Promise<void> {
    const wallet = this.wallets[told.wallet]!;
    const { clientOrderId } = told.order;
    const found = await this.read(wallet, `/v1/orders/by-client-id/${encodeURIComponent(clientOrderId)}`);
    if (found?.status !== 200 && found?.status !== 404) return;
    const outcome = await this.place(wallet, told.order, undefined, told.replaces);
    if (found.status !== 200 || outcome.is === 'unknown') return;
    const { id } = found.body.order as Shown;
    if (outcome.is === 'refused' || outcome.shown[0]!.id !== id)
      this.#parts.onViolation('client ids', `${clientOrderId} is ${id} by look-up and not by its repetition`);
  }
}

/** The results of a request for several orders, each as its own reply. */
function resultsOf({ status, body: { results } }: Reply): Reply[] | undefined {
  if (status !== 200 || results === undefined) return undefined;
  return (results as Result[]).map(({ status: own, order, ...rest }) => ({
    status: own,
    body: order ?? rest,
  }));
}

/** An order that lives is one of those that the wallet cancels and replaces. */
function rested(wallet: Wallet, outcome: Outcome): void {
  if (outcome.is !== 'ok') return;
  const [{ id, status }] = outcome.shown as [Shown];
  if (isLive(status) && !wallet.resting.includes(id)) wallet.resting.push(id);
}

/** 503 leaves the outcome open, unless it says that trading is paused. */
function outcomeOf(n: number, { status, body }: Reply): Outcome {
  const code = String(body.code);
  if (status === 200) {
    const { cancelled, replaced } = body;
    const shown = (cancelled ?? (replaced === undefined ? [body] : [body, replaced])) as Shown[];
    return { entry: 'outcome', n, is: 'ok', shown: shown.map(shownOf) };
  }
  if (status >= 500 && code !== 'OPERATIONAL_PAUSED')
    return { entry: 'outcome', n, is: 'unknown', why: `${status} ${code}` };
  return { entry: 'outcome', n, is: 'refused', code };
}

const shownOf = ({ id, status }: Shown): Shown => ({ id, status });
