/**
 * Clients and operators: each request is noted before it is sent and after it is answered, and what an answer promises is
 * held against the events of the engine. A request whose answer is unknown is looked up and repeated under its id.
 */

import { OperatorRefusal, Refusal } from '../../../src/domain/errors.ts';
import type { MovementKind } from '../../../src/domain/event.ts';
import { parseDecimal } from '../../../src/domain/units.ts';
import type { PlaceOrder } from '../../../src/engine/index.ts';
import type { OrderRequest } from '../../../src/order/request.ts';
import { atMarket, limit } from '../../engine/fixture.ts';
import { type Journal, Violation } from './journal.ts';
import { candleDifference, figuresDifference } from './market-figures.ts';
import type { EndOperation, MoveOperation, Operation, PlaceOperation } from './operations.ts';
import type { PlaceAnswer, Service } from './service.ts';
import type { World } from './world.ts';

export interface Request {
  readonly number: number;
  readonly operation: Operation;
  state: 'running' | 'unknown' | 'done' | 'refused' | 'given up';
  /** Process that answers the present attempt. */
  actor: string;
  /** Attempts whose outcome is unknown: any of them may still take effect. */
  unknowns: number;
  attempts: number;
}

/** A dead-man switch that is set. */
interface DueSwitch {
  /** Unix milliseconds by the server's clock when it was set. */
  readonly dueMs: number;
  /** Milliseconds of the history before which it does not fire. */
  readonly notBeforeMs: number;
}

/** A movement that was answered as done. */
interface Moved {
  readonly do: MovementKind;
  readonly reference: string;
}

/** Answers that clients received. The whole history is checked against them at its end. */
export interface Promises {
  /** Orders that were answered as placed, or as known, by id. */
  readonly orders: Map<string, { readonly operation: PlaceOperation; readonly answer: PlaceAnswer }>;
  /** Movements that were answered as done. */
  readonly movements: Moved[];
  /** Orders that a list or a look for an id has shown. */
  readonly shown: Set<string>;
  /** Ids that were answered as cancelled, with the number of losses before. */
  readonly cancelled: Map<string, number>;
  /** The switch of a wallet as answered last; null: off. */
  readonly switches: Map<string, DueSwitch | null>;
  /** Wallets with an unknown answer about their switch. */
  readonly unsure: Set<string>;
  /** Requests to place an order without a client order id, by wallet. */
  readonly unnamed: Map<string, number>;
}

/** Requests that may be repeated after an unknown answer, because they count once. */
const MOVEMENTS = [
  'credited',
  'debited',
  'requested',
  'confirmed',
  'returned',
  'announced',
  'arrived',
  'dropped',
  'reversed',
] as const;
const REPEATED = new Set<Operation['do']>(['place', 'switch', ...MOVEMENTS]);

export class Clients {
  readonly requests: Request[] = [];
  readonly promises: Promises = {
    orders: new Map(),
    movements: [],
    cancelled: new Map(),
    switches: new Map(),
    shown: new Set(),
    unsure: new Set(),
    unnamed: new Map(),
  };
  /** The first broken promise, or unexpected error. */
  violation: Violation | undefined;
  readonly #replaced = new WeakMap<PlaceOperation, string>();
  readonly #world: World;
  readonly #onActivity: () => void;

  constructor(world: World, onActivity: () => void) {
    this.#world = world;
    this.#onActivity = onActivity;
  }

  get #journal(): Journal {
    return this.#world.journal;
  }

  /** Returns the number of requests that run now, of all kinds or of one. */
  running(kind?: Operation['do']): number {
    return this.requests.filter(
      ({ operation, state }) => state === 'running' && (kind ?? operation.do) === operation.do,
    ).length;
  }

  unknown(): Request[] {
    return this.requests.filter(({ state }) => state === 'unknown');
  }

  start(operation: Operation, actor: string, service: Service): Request {
    const request: Request = {
      number: this.requests.length,
      operation,
      state: 'running',
      actor,
      unknowns: 0,
      attempts: 0,
    };
    this.requests.push(request);
    this.#attempt(request, service);
    return request;
  }

  repeat(request: Request, actor: string, service: Service): void {
    request.state = 'running';
    request.actor = actor;
    this.#attempt(request, service);
  }

  /** The process that would have answered is gone. */
  loseActor(actor: string): void {
    for (const request of this.requests)
      if (request.actor === actor && request.state === 'running') this.#noAnswer(request);
  }

  #noAnswer(request: Request): void {
    request.unknowns += 1;
    request.state = this.#mayRepeat(request.operation) ? 'unknown' : 'given up';
    if (request.operation.do === 'switch') this.promises.unsure.add(request.operation.wallet);
  }

  #mayRepeat(operation: Operation): boolean {
    if (operation.do === 'place') return operation.clientOrderId !== null;
    return REPEATED.has(operation.do);
  }

  #attempt(request: Request, service: Service): void {
    request.attempts += 1;
    const attempt = request.attempts;
    // An attempt of a process that crashed is answered by nobody, and its request goes on elsewhere.
    const isCurrent = (): boolean => request.state === 'running' && request.attempts === attempt;
    this.#run(request, service).then(
      () => {
        this.#onActivity();
        if (isCurrent()) request.state = 'done';
      },
      (error: unknown) => {
        this.#onActivity();
        if (isCurrent()) this.#fail(request, error);
      },
    );
  }

  #fail(request: Request, error: unknown): void {
    if (error instanceof Refusal && error.code === 'SERVICE_UNAVAILABLE') this.#noAnswer(request);
    else if (error instanceof Refusal || error instanceof OperatorRefusal) this.#refused(request, error);
    else if (error instanceof Violation) this.violation ??= error;
    else if (isLostConnection(error)) this.#noAnswer(request);
    else this.violation ??= new Violation('no unexpected error', `${request.operation.do}: ${error}`);
  }

  /** A refusal means that this attempt did nothing, and none will do anything unless an earlier one may. */
  #refused(request: Request, refusal: Refusal | OperatorRefusal): void {
    request.state = 'refused';
    const { operation, unknowns } = request;
    if (operation.do === 'cancel' || operation.do === 'void') return;
    if (unknowns > 0 || refusal.code === 'REFERENCE_CONFLICT') return;
    if (refusal.code === 'SETTLEMENT_FAILED')
      this.violation ??= new Violation('every reservation is there', operation.do);
  }

  async #run({ operation, attempts }: Request, service: Service): Promise<void> {
    const { losses } = this.#journal;
    switch (operation.do) {
      case 'place':
        return this.#place(operation, attempts > 1 && attempts % 2 === 0, service);
      case 'credited':
      case 'debited':
      case 'requested':
      case 'announced':
        return this.#move(operation, service);
      case 'confirmed':
      case 'returned':
      case 'arrived':
      case 'dropped':
        return this.#end(operation, service);
      case 'take':
        return void (await service.take(operation.reference, operation.by));
      case 'give up':
        return void (await service.giveUp(operation.reference, operation.by));
      case 'reversed': {
        await service.reverse(operation.of, BigInt(operation.amount), operation.reference);
        return this.#moved({ do: 'debited', reference: operation.reference }, losses);
      }
      case 'cancel':
      case 'void':
        return this.#cancel(operation, service);
      case 'cancel_all':
        return this.#cancelAll(operation.wallet, operation.market, () =>
          service.cancelAll(operation.wallet, operation.market),
        );
      case 'hold':
        return this.#cancelAll(operation.wallet, null, () => service.hold(operation.wallet));
      case 'clear':
        return this.#closed(await service.clear(operation.market), losses);
      case 'find':
        return this.#find(operation.wallet, operation.clientOrderId, service);
      case 'list':
        return this.#list(operation.wallet, service);
      case 'book':
        return this.#book(operation.market, service);
      case 'candles':
        return this.#candles(operation, service);
      case 'figures':
        return this.#figures(service);
      case 'switch': {
        const notBeforeMs = performance.now() + operation.timeoutMs;
        const dueMs = await service.setSwitch(operation.wallet, operation.timeoutMs);
        this.promises.switches.set(operation.wallet, dueMs === null ? null : { dueMs, notBeforeMs });
        return;
      }
      case 'release':
        return service.release(operation.wallet);
      case 'pause':
      case 'resume':
        return service.pause(operation.do === 'pause');
      case 'fee':
        return service.setMarket(operation.market, { feeBps: operation.feeBps });
      case 'filter':
        return service.growFilter();
      case 'rebuild':
        return service.rebuild();
      case 'adopt':
        return service.adopt();
      case 'adopt anyway':
        return service.adoptAnyway();
      case 'reconcile': {
        const [difference] = await service.reconcile();
        if (difference !== undefined) throw new Violation('reconcile holds', difference);
        return;
      }
    }
  }

  async #place(operation: PlaceOperation, looksFirst: boolean, service: Service): Promise<void> {
    const { wallet, clientOrderId } = operation;
    const journal = this.#journal;
    const { losses } = journal;
    const isSteady = this.#steady();
    const { unnamed } = this.promises;
    if (clientOrderId === null) unnamed.set(wallet, (unnamed.get(wallet) ?? 0) + 1);
    if (looksFirst && clientOrderId !== null) {
      const found = await service.find(wallet, clientOrderId);
      if (found !== null) return this.#known(operation, { outcome: 'claimed', orderId: found }, losses);
    }
    const before = clientOrderId === null ? undefined : journal.orderIdOf(wallet, clientOrderId);
    const replacing = this.#replacing(operation);
    let answer: PlaceAnswer;
    try {
      answer = await service.place({ wallet, request: requestOf(operation), ...replacing });
    } catch (error) {
      if (isSteady()) this.#refusedOrder(operation, before, error);
      if (isSteady() && replacing !== undefined) this.#unreplaced(operation, replacing.replaces, error);
      throw error;
    }
    if (answer.outcome === 'unchecked') throw new Refusal('SERVICE_UNAVAILABLE');
    if (answer.outcome === 'placed' && answer.replaced !== null) {
      const { id } = answer.replaced;
      this.#closed([id], losses);
      if (isSteady()) this.#guarded(operation, id);
    }
    this.#known(operation, answer, losses);
  }

  /** A refusal may not be one that the order, as it still is, gave no reason for. */
  #unreplaced({ market, filledSize }: PlaceOperation, id: string, error: unknown): void {
    const journal = this.#journal;
    if (!(error instanceof Refusal) || !journal.isLiveIn(id, market)) return;
    if (error.code === 'ORDER_NOT_FOUND') throw new Violation('a live order can be replaced', id);
    // Orders only fill more: one that has not filled yet had not filled when the request came.
    if (error.code === 'CONFLICT' && filledSize === 0 && journal.filledOf(id) === 0n)
      throw new Violation('an order that has filled what its wallet believes can be replaced', id);
  }

  #guarded({ filledSize }: PlaceOperation, id: string): void {
    const filled = this.#journal.filledOf(id);
    if (filledSize !== null && filled !== BigInt(filledSize))
      throw new Violation(
        'a guarded order is replaced as its wallet believes it',
        `${id} had filled ${filled}`,
      );
  }

  #replacing(operation: PlaceOperation): (Pick<PlaceOrder, 'filledSize'> & { replaces: string }) | undefined {
    const replaces = this.#replacedBy(operation);
    if (replaces === undefined) return undefined;
    const { filledSize } = operation;
    return { replaces, ...(filledSize !== null && { filledSize: parseDecimal(`${filledSize}`)! }) };
  }

  /** Returns the order that a request replaces, the same one however often it is repeated. */
  #replacedBy(operation: PlaceOperation): string | undefined {
    const { wallet, replaces } = operation;
    if (replaces === null) return undefined;
    const known = this.#replaced.get(operation);
    if (known !== undefined) return known;
    const ids = this.#journal.idsOf(wallet);
    const id = ids[replaces % Math.max(1, ids.length)] ?? 'no order yet';
    this.#replaced.set(operation, id);
    return id;
  }

  /** A request whose id was used before is never refused: it is answered with its order. */
  #refusedOrder({ clientOrderId }: PlaceOperation, before: string | undefined, error: unknown): void {
    const isRefused = error instanceof Refusal && error.code !== 'SERVICE_UNAVAILABLE';
    if (isRefused && clientOrderId !== null && before !== undefined)
      throw new Violation('a used client id is answered with its order', `${before}, and ${error.code}`);
  }

  /** @returns a function that tells whether nothing was lost meanwhile, so that what was known before still holds */
  #steady(): () => boolean {
    const { losses, isLost } = this.#journal;
    return () => !isLost && this.#journal.losses === losses;
  }

  #known(operation: PlaceOperation, answer: PlaceAnswer, losses: number): void {
    const journal = this.#journal;
    if (answer.outcome === 'unchecked') return;
    const id = answer.outcome === 'placed' ? answer.order.id : answer.orderId;
    this.promises.orders.set(id, { operation, answer });
    if (journal.mayLose && (journal.losses !== losses || journal.lost.has(id))) return;
    const placed = journal.placed(id);
    if (placed === undefined) throw new Violation('every acknowledged order is present', id);
    const { order } = placed;
    if (order.wallet !== operation.wallet || order.clientOrderId !== operation.clientOrderId)
      throw new Violation('a client id names its own order', `${operation.clientOrderId} ${id}`);
  }

  async #move(operation: MoveOperation, service: Service): Promise<void> {
    const { do: kind, wallet, asset, amount, reference } = operation;
    const { losses } = this.#journal;
    await service.move({ kind, wallet, asset, amountAtoms: BigInt(amount), reference });
    this.#moved(operation, losses);
  }

  async #end(operation: EndOperation, service: Service): Promise<void> {
    const { losses } = this.#journal;
    const { do: kind, reference, by } = operation;
    if (kind === 'confirmed' || kind === 'returned') await service.endWithdrawal(reference, kind, by);
    else await service.endDeposit(reference, kind);
    this.#moved({ do: kind === 'arrived' ? 'credited' : kind, reference }, losses);
  }

  #moved(operation: Moved, losses: number): void {
    const { do: kind, reference } = operation;
    this.promises.movements.push(operation);
    if (this.#isSteadySince(losses) && !this.#journal.hasMovement(kind, reference))
      throw new Violation('every acknowledged movement is present', `${kind} ${reference}`);
  }

  #isSteadySince(losses: number): boolean {
    return !this.#journal.mayLose || this.#journal.losses === losses;
  }

  async #cancel(operation: Operation & { readonly do: 'cancel' | 'void' }, service: Service): Promise<void> {
    const journal = this.#journal;
    const { losses } = journal;
    const isSteady = this.#steady();
    const ids = journal.idsOf(operation.wallet);
    const id = ids[operation.order % Math.max(1, ids.length)];
    if (id === undefined) return;
    try {
      const closed = await (operation.do === 'void'
        ? service.voidOrder(id)
        : service.cancel(operation.wallet, id));
      this.#closed(closed, losses);
    } catch (error) {
      const isUnfound = error instanceof Refusal && error.code === 'ORDER_NOT_FOUND';
      if (isUnfound && isSteady() && journal.isLive(id))
        throw new Violation('a live order can be cancelled', id);
      throw error;
    }
  }

  async #cancelAll(wallet: string, market: string | null, cancel: () => Promise<string[]>): Promise<void> {
    const journal = this.#journal;
    const { losses } = journal;
    const isSteady = this.#steady();
    const before = journal.liveOf(wallet, market);
    this.#closed(await cancel(), losses);
    const left = before.filter((id) => journal.isLive(id));
    if (left.length > 0 && isSteady()) throw new Violation('a cancel of all leaves no order', left.join(' '));
  }

  #closed(ids: readonly string[], losses: number): void {
    const journal = this.#journal;
    for (const id of ids) {
      this.promises.cancelled.set(id, losses);
      if (this.#isSteadySince(losses) && !journal.isClosed(id))
        throw new Violation('every acknowledged cancel is present', id);
    }
  }

  async #find(wallet: string, clientOrderId: string, service: Service): Promise<void> {
    const journal = this.#journal;
    const isSteady = this.#steady();
    const before = journal.orderIdOf(wallet, clientOrderId);
    const found = await service.find(wallet, clientOrderId);
    if (found !== null) this.promises.shown.add(found);
    if (!isSteady()) return;
    const now = journal.orderIdOf(wallet, clientOrderId);
    if (found === null ? before !== undefined : found !== now)
      throw new Violation('a look for a client id finds its order', `${clientOrderId}: ${found}, not ${now}`);
  }

  async #list(wallet: string, service: Service): Promise<void> {
    const journal = this.#journal;
    const isSteady = this.#steady();
    const before = journal.idsOf(wallet);
    const listed = await service.list(wallet);
    for (const id of listed) this.promises.shown.add(id);
    if (!isSteady()) return;
    const missing = before.filter((id) => !listed.has(id));
    if (missing.length > 0) throw new Violation('a list has every order', missing.join(' '));
  }

  async #candles(
    operation: Operation & { readonly do: 'candles' },
    service: Pick<Service, 'candles'>,
  ): Promise<void> {
    const isSteady = this.#steady();
    const from = this.#journal.events.length;
    const candles = await service.candles(operation.market, operation.timeframe);
    const difference = candleDifference(candles, operation, { events: this.#journal.events, from });
    if (difference !== undefined && isSteady()) throw new Violation('candles equal the trades', difference);
  }

  async #figures(service: Pick<Service, 'figures'>): Promise<void> {
    const isSteady = this.#steady();
    // After a step of the server's clock, an answer of the last second may lie before trades of its own window.
    const from = this.#world.hasSteppedClock ? 0 : this.#journal.events.length;
    const figures = await service.figures();
    const difference = figuresDifference(figures, { events: this.#journal.events, from });
    if (difference !== undefined && isSteady())
      throw new Violation('24 h figures equal the trades', difference);
  }

  async #book(market: string, service: Service): Promise<void> {
    const { bid, ask } = await service.best(market);
    if (bid !== undefined && ask !== undefined && bid >= ask)
      throw new Violation('a book is never crossed', `${market}: ${bid} and ${ask}`);
  }
}

/** Errors that a command of an operator ends with when a connection broke. */
const isLostConnection = (error: unknown): boolean =>
  error instanceof Error &&
  /^Connection (terminated|is closed)|timed out|canceling statement/.test(error.message);

function requestOf(operation: PlaceOperation): OrderRequest {
  const { market, side, price, size, timeInForce, postOnly, clientOrderId } = operation;
  const own = { timeInForce, postOnly, clientOrderId };
  return price === null
    ? atMarket(market, side, size, { ...own, timeInForce: 'GTC' })
    : limit(market, side, price, size, own);
}
