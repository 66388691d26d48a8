/**
 * Every event that the engine ever appended, as it appeared in the stream, folded into what may be known at any moment:
 * live orders, used ids, closed orders. Ids and the lives of orders are checked with each event.
 */

import type { EngineEvent, OrderPlacedEvent } from '../../../src/domain/event.ts';
import type { Market } from '../../../src/domain/market.ts';
import { isLive } from '../../../src/domain/order.ts';
import { readEvent, type StreamEntry } from '../../../src/engine/event-codec.ts';
import type { Switches } from './switches.ts';

export class Violation extends Error {
  override readonly name = 'Violation';
  /** Name of the invariant. */
  readonly invariant: string;

  constructor(invariant: string, found: string) {
    super(`${invariant}: ${found}`);
    this.invariant = invariant;
  }
}

interface Fold {
  readonly events: EngineEvent[];
  /** Remaining steps of each live order, by id. */
  readonly live: Map<string, { readonly wallet: string; readonly market: string; steps: bigint }>;
  readonly placed: Map<string, OrderPlacedEvent>;
  /** Steps that each closed order had filled, by id. */
  readonly closed: Map<string, bigint>;
  /** `wallet client-order-id` -> order id; `kind reference` -> sequence. */
  readonly used: Map<string, string>;
}

/** An event that is in force no longer, or never was. */
interface Replaced {
  readonly event: EngineEvent;
  /** Id of the event before it, on the server that appended it. */
  readonly after: string;
}

const idOf = ({ epoch, sequence }: EngineEvent): string => `${epoch}-${sequence}`;

/** Name of the order or movement of an event, as `lost` has it. */
const nameOf = (event: EngineEvent): string | undefined => {
  if (event.kind === 'order_placed') return event.order.id;
  return 'amountAtoms' in event ? `${event.kind} ${event.reference}` : undefined;
};

const nothing = (): Fold => ({
  events: [],
  live: new Map(),
  placed: new Map(),
  closed: new Map(),
  used: new Map(),
});

export class Journal {
  /** Orders and movements that were lost with a server, by id and by `kind reference`. */
  readonly lost = new Set<string>();
  /** Number of times that the server was lost. */
  losses = 0;
  /** Set after the server was lost, until its successor has appended an event. */
  isLost = false;
  /** Set while the server lacks events that Postgres has, until an operator has emptied it. */
  isBehind = false;
  lastId = '';
  /** False where nothing that was answered or shown may be lost. */
  mayLose = true;
  #fold = nothing();
  /** By their ids. */
  readonly #replaced = new Map<string, Replaced>();
  readonly #markets: readonly Market[];
  readonly #switches: Switches;

  /** @param markets in the order of their numbers */
  constructor(markets: readonly Market[], switches: Switches) {
    this.#markets = markets;
    this.#switches = switches;
  }

  get events(): readonly EngineEvent[] {
    return this.#fold.events;
  }

  get last(): EngineEvent | undefined {
    return this.#fold.events.at(-1);
  }

  isLive(id: string): boolean {
    return this.#fold.live.has(id);
  }

  isLiveIn(id: string, market: string): boolean {
    return this.#fold.live.get(id)?.market === market;
  }

  /** Steps that an order has filled; undefined for one that was never placed. */
  filledOf(id: string): bigint | undefined {
    const { live, placed, closed } = this.#fold;
    const left = live.get(id)?.steps;
    return left === undefined ? closed.get(id) : placed.get(id)!.order.sizeSteps - left;
  }

  isClosed(id: string): boolean {
    return this.#fold.closed.has(id);
  }

  placed(id: string): OrderPlacedEvent | undefined {
    return this.#fold.placed.get(id);
  }

  orderIdOf(wallet: string, clientOrderId: string): string | undefined {
    return this.#fold.used.get(`${wallet} ${clientOrderId}`);
  }

  hasMovement(kind: string, reference: string): boolean {
    return this.#fold.used.has(`${kind} ${reference}`);
  }

  liveOf(wallet: string, market: string | null): string[] {
    return [...this.#fold.live]
      .filter(([, order]) => order.wallet === wallet && (market ?? order.market) === order.market)
      .map(([id]) => id);
  }

  /** Ids of the wallet's orders. */
  idsOf(wallet: string): string[] {
    return [...this.#fold.placed].filter(([, { order }]) => order.wallet === wallet).map(([id]) => id);
  }

  append(found: readonly StreamEntry[]): void {
    if (this.isBehind && found.length > 0)
      throw new Violation('an engine that lost what Postgres has does nothing', found.join(' '));
    for (const entry of found) {
      const event = readEvent(entry, (number) => this.#markets[number]!);
      this.#follow(event);
      this.#checkSwitch(event);
      this.#add(event);
      this.lastId = entry[0].toString();
    }
  }

  /**
   * Events of a primary that was replaced: nobody may be told of them.
   * @param after id of the event before them
   */
  appendInVain(found: readonly StreamEntry[], after: string): void {
    let before = after;
    for (const entry of found) {
      this.#lose(
        readEvent(entry, (number) => this.#markets[number]!),
        before,
      );
      before = entry[0].toString();
    }
  }

  #lose(event: EngineEvent, after: string): void {
    this.#replaced.set(idOf(event), { event, after });
    if (event.kind === 'order_placed' && this.#fold.placed.has(event.order.id))
      throw new Violation('an order id is given once', event.order.id);
    const name = nameOf(event);
    if (name !== undefined) this.lost.add(name);
  }

  #follow({ epoch, sequence, timeMs }: EngineEvent): void {
    const { last } = this;
    if (last === undefined) return;
    if (this.isLost && epoch > last.epoch && sequence <= last.sequence + 1) {
      this.forgetAfter(sequence - 1);
      return;
    }
    if (sequence !== last.sequence + 1 || epoch < last.epoch)
      throw new Violation(
        'event ids without gaps',
        `${epoch}-${sequence} follows ${last.epoch}-${last.sequence}`,
      );
    if (timeMs < last.timeMs)
      throw new Violation(
        'time does not run backwards',
        `${timeMs} of event ${sequence} follows ${last.timeMs}`,
      );
  }

  #checkSwitch(event: EngineEvent): void {
    if (event.kind !== 'orders_closed') return;
    for (const { id, reason } of event.orders) {
      if (reason !== 'user_cancelled' && reason !== 'cancel_after') continue;
      const { order } = this.#fold.placed.get(id) ?? {};
      if (order !== undefined && !this.#switches.mayCancel(order))
        throw new Violation('orders that are placed after a switch has fired stay', id);
    }
  }

  #add(event: EngineEvent): void {
    this.#fold.events.push(event);
    if (event.kind === 'order_placed') this.#addOrder(event);
    else if (event.kind === 'orders_closed') for (const { id } of event.orders) this.#close(id);
    else if ('amountAtoms' in event) this.#use(`${event.kind} ${event.reference}`, `${event.sequence}`);
  }

  #addOrder(event: EngineEvent & OrderPlacedEvent): void {
    const { order, status, filledSteps, trades, expired } = event;
    if (this.#fold.placed.has(order.id)) throw new Violation('an order id is given once', order.id);
    if (this.lost.has(order.id)) throw new Violation('the id of a lost order is not given again', order.id);
    this.#fold.placed.set(order.id, event);
    if (order.clientOrderId !== null) this.#use(`${order.wallet} ${order.clientOrderId}`, order.id);
    for (const { makerOrderId, sizeSteps } of trades) {
      const maker = this.#living(makerOrderId);
      maker.steps -= sizeSteps;
      if (maker.steps === 0n) this.#fold.live.delete(makerOrderId);
      if (maker.steps < 0n) throw new Violation('no order is filled beyond its size', makerOrderId);
    }
    for (const { id } of expired) this.#close(id);
    if (!isLive(status)) return;
    const { wallet, market } = order;
    this.#fold.live.set(order.id, { wallet, market, steps: order.sizeSteps - filledSteps });
  }

  #close(id: string): void {
    this.#living(id);
    this.#fold.closed.set(id, this.filledOf(id)!);
    this.#fold.live.delete(id);
  }

  #living(id: string): { steps: bigint } {
    const found = this.#fold.live.get(id);
    if (found === undefined) throw new Violation('a terminal order never lives again', id);
    return found;
  }

  #use(name: string, meaning: string): void {
    if (this.#fold.used.has(name)) throw new Violation('an id counts once for ever', name);
    this.#fold.used.set(name, meaning);
  }

  /** The server and all it holds are gone. A rebuilt one goes on after what Postgres has. */
  lose(): void {
    this.isLost = true;
    this.isBehind = false;
    this.losses += 1;
  }

  /** Another server takes over, whose last event is this one. */
  failOver(sequence: number): void {
    this.losses += 1;
    this.forgetAfter(sequence);
  }

  /** The engine goes on after an event: later ones of the lost server are not in force. */
  forgetAfter(sequence: number): void {
    this.isLost = false;
    const { events } = this.#fold;
    this.#fold = nothing();
    let after = '0-0';
    for (const event of events) {
      if (event.sequence <= sequence) this.#add(event);
      else this.#lose(event, after);
      after = idOf(event);
    }
  }

  /**
   * The next epoch begins on a server whose last event is this one. It may have events that are not in force: of a
   * primary that was replaced while this server still followed it. They come into force.
   */
  takeOver(lastId: string): void {
    const revived: EngineEvent[] = [];
    let id = lastId;
    while (!this.#isInForce(id)) {
      const found = this.#replaced.get(id);
      if (found === undefined) throw new Violation('each epoch goes on from events that were appended', id);
      revived.unshift(found.event);
      id = found.after;
    }
    this.failOver(Number(id.split('-')[1]));
    for (const event of revived) {
      this.#replaced.delete(idOf(event));
      const name = nameOf(event);
      if (name !== undefined) this.lost.delete(name);
      this.#add(event);
    }
  }

  #isInForce(id: string): boolean {
    const [epoch, sequence] = id.split('-').map(Number);
    return this.events.findLast((event) => event.sequence === sequence)?.epoch === epoch;
  }
}
