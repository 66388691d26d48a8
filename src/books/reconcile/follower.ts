/**
 * Follows the engine's event stream from the ledger's snapshot onwards, so that each page of the engine is compared
 * with the ledger at the same event.
 *
 * The follower is always at one event and only moves forward. Events stay in the stream for seconds after they are
 * settled, and none of them was settled when the snapshot was taken. While Postgres works on a long query, the follower
 * keeps reading.
 *
 * It interprets events by the same `visitOrders` and `SwitchChanges` as settlement. It computes remaining sizes,
 * reservations, book levels and balances by its own arithmetic, so that a wrong sum in settlement or in a script shows
 * as a difference.
 */

import { type AccountMoved, type Cursor, type EngineEvent, isMovement } from '../../domain/event.ts';
import type { Asset } from '../../domain/market.ts';
import { canonicalMarketRecord } from '../../domain/market-record.ts';
import { type ClosedOrder, heldAtoms, isLive, type OrderTerms, type Trade } from '../../domain/order.ts';
import { type OrderVisitor, type PlacedEvent, visitOrders } from '../../domain/order-life.ts';
import { SwitchChanges } from '../../domain/switches.ts';
import { withTimeLimit } from '../../domain/time-limit.ts';
import { writeTake } from '../../domain/withdrawal-states.ts';
import type { Engine } from '../../engine/index.ts';
import {
  type Audit,
  type AuditedOrder,
  CUSTODY,
  debtorOf,
  entriesOfMovement,
  entriesOfTrade,
  HOUSE,
  WITHDRAWALS,
} from '../../ledger/index.ts';

/** Thrown when events after the snapshot are no longer in the stream, or never were. */
export class EventsLost extends Error {
  override readonly name = 'EventsLost';
  readonly sequence: number;

  constructor(sequence: number) {
    super(`event ${sequence} is not in the stream`);
    this.sequence = sequence;
  }
}

/** An order that some event touched. */
export interface FollowedOrder extends Omit<AuditedOrder, 'remainingSteps'> {
  /** Zero once the order is no longer live. */
  remainingSteps: bigint;
  /** Terms from the event that placed the order; undefined when the ledger has the order. */
  readonly placed?: OrderTerms;
}

/** Amounts by name within a group, such as an asset or a side of a book. */
class GroupedAmounts {
  readonly #groups = new Map<string, Map<string, bigint>>();

  of(group: string): Map<string, bigint> {
    let found = this.#groups.get(group);
    if (found === undefined) {
      found = new Map();
      this.#groups.set(group, found);
    }
    return found;
  }

  add(group: string, name: string, amount: bigint): void {
    const amounts = this.of(group);
    amounts.set(name, (amounts.get(name) ?? 0n) + amount);
  }
}

export const SUPPLY = 'supply';
export const availableTo = (account: string): string =>
  account === HOUSE || account === WITHDRAWALS ? account : `available to ${account}`;
export const reservedBy = (wallet: string): string => `reserved by ${wallet}`;
const owedBy = (wallet: string): string => `owed by ${wallet}`;
/** Returns the fields of balances that hold an account, each with its sign. The supply is what all others hold. */
export function fieldsOf(account: string): readonly (readonly [name: string, sign: 1n | -1n])[] {
  if (account === CUSTODY) return [[SUPPLY, -1n]];
  const debtor = debtorOf(account);
  if (debtor === undefined) return [[availableTo(account), 1n]];
  return [
    [SUPPLY, -1n],
    [owedBy(debtor), -1n],
  ];
}
/** A side of a market's book. */
export const bookName = ({ market, side }: Pick<AuditedOrder, 'market' | 'side'>): string =>
  `${side === 'buy' ? 'bids' : 'asks'} of ${market}`;

const EVENTS_TOGETHER = 500;
/** Milliseconds between reads; far below the time that settled events stay in the stream. */
const READS_ON_EVERY_MS = 1_000;

export class Follower implements OrderVisitor {
  readonly #engine: Engine;
  readonly #audit: Audit;
  readonly #orders = new Map<string, FollowedOrder>();
  #cursor: Cursor;
  #timeMs: number;

  /** Changes of the fields of balances, by asset. */
  readonly balances = new GroupedAmounts();
  /** Changes of the size at each price, by `bookName`. */
  readonly levels = new GroupedAmounts();
  /** New values of fields of the engine hash; null for a removed field. */
  readonly switches = new Map<string, string | null>();
  /** Prices of the last trades, in ticks, by the field of the engine hash. */
  readonly lastPrices = new Map<string, string>();
  /** New records by symbol, in canonical text. */
  readonly markets = new Map<string, string>();
  /** New fields of the assets. */
  readonly assets = new Map<string, string>();
  /** Orders and movements that the snapshot lacks. */
  readonly ordersPlaced: FollowedOrder[] = [];
  readonly moved: (EngineEvent & AccountMoved)[] = [];
  /** Null while nothing was traded since the snapshot. */
  lastTradeId: number | null = null;
  /** Orders that events changed, but that neither the ledger nor an event has. */
  readonly unknown = new Set<string>();

  constructor(engine: Engine, audit: Audit) {
    this.#engine = engine;
    this.#audit = audit;
    this.#cursor = audit.cursor;
    this.#timeMs = audit.cursor.timeMs ?? 0;
  }

  get sequence(): number {
    return this.#cursor.sequence;
  }

  /** Unix milliseconds of the event that the follower is at. */
  get timeMs(): number {
    return this.#timeMs;
  }

  /** Returns the current state of the order if an event touched it. */
  order = (id: string): FollowedOrder | undefined => this.#orders.get(id);

  /** @throws EventsLost when an event up to this sequence cannot be read */
  async advanceTo(sequence: number): Promise<void> {
    while (this.#cursor.sequence < sequence) {
      const read = await this.#engine.outbox.readEvents(this.#cursor, EVENTS_TOGETHER);
      const events = read.filter(
        (event) => event.sequence > this.#cursor.sequence && event.sequence <= sequence,
      );
      events.forEach((event, index) => {
        if (event.sequence !== this.#cursor.sequence + 1 + index)
          throw new EventsLost(this.#cursor.sequence + 1 + index);
      });
      if (events.length === 0) throw new EventsLost(this.#cursor.sequence + 1);
      await this.#meet(events);
      for (const event of events) this.#apply(event);
    }
  }

  /**
   * Waits for a ledger query while the follower keeps reading. Must not be used between reading a page and comparing
   * it.
   */
  async during<Result>(work: Promise<Result>): Promise<Result> {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    done.catch(() => undefined);
    for (;;) {
      const ended = done.catch(() => undefined);
      await withTimeLimit(READS_ON_EVERY_MS, ended, () => undefined);
      if (isDone) return done;
      await this.advanceTo((await this.#engine.reads.state()).sequence);
    }
  }

  /** Loads the ledger's orders that the events change. */
  async #meet(events: readonly EngineEvent[]): Promise<void> {
    const placed = new Set<string>();
    const missing = new Set<string>();
    const touch = (id: string): void => {
      if (!placed.has(id) && !this.#orders.has(id)) missing.add(id);
    };
    const visitor: OrderVisitor = {
      placed: ({ order }) => void placed.add(order.id),
      filled: ({ makerOrderId }) => touch(makerOrderId),
      closed: ({ id }) => touch(id),
    };
    for (const event of events) visitOrders(event, visitor);
    if (missing.size === 0) return;
    for (const order of await this.#audit.ordersById([...missing])) this.#orders.set(order.id, { ...order });
    for (const id of missing) if (!this.#orders.has(id)) this.unknown.add(id);
  }

  #apply(event: EngineEvent): void {
    if (isMovement(event)) this.#move(event);
    else this.#change(event);
    this.#cursor = event;
    this.#timeMs = event.timeMs;
  }

  #move(event: EngineEvent & AccountMoved): void {
    this.moved.push(event);
    for (const { account, asset, amountAtoms } of entriesOfMovement(event))
      this.#book(asset, account, amountAtoms);
    this.assets.set(`${event.asset} used`, '1');
    this.#switch(event);
  }

  #change(event: EngineEvent): void {
    switch (event.kind) {
      case 'order_placed':
      case 'orders_closed':
        visitOrders(event, this);
        break;
      case 'asset_changed':
        this.#scale(event.asset);
        break;
      case 'market_changed': {
        const { market } = event;
        this.markets.set(market.symbol, canonicalMarketRecord(market));
        this.switches.set(`rules of market ${market.number}`, `${market.version} ${market.symbol}`);
        for (const asset of [market.base, market.quote]) {
          this.#scale(asset);
          this.assets.set(`${asset.symbol} used`, '1');
        }
        break;
      }
      case 'operator_acted':
        break;
      default:
        this.#switch(event);
    }
  }

  placed(event: PlacedEvent): void {
    const { order: terms, trades, filledSteps, status } = event;
    const order: FollowedOrder = { ...terms, remainingSteps: 0n, placed: terms };
    this.#orders.set(order.id, order);
    this.ordersPlaced.push(order);
    if (isLive(status)) this.#setRemaining(order, order.sizeSteps - filledSteps);
    const last = trades.at(-1);
    if (last === undefined) return;
    this.lastTradeId = last.tradeId;
    const number = Number.parseInt(order.id.slice(0, 4), 16) >> 1;
    this.lastPrices.set(`last price of market ${number}`, `${last.priceTicks}`);
  }

  filled(trade: Trade): void {
    for (const { account, asset, amountAtoms } of entriesOfTrade(trade))
      this.#book(asset, account, amountAtoms);
    const maker = this.#orders.get(trade.makerOrderId);
    if (maker !== undefined) this.#setRemaining(maker, maker.remainingSteps - trade.sizeSteps);
  }

  closed({ id }: ClosedOrder): void {
    const order = this.#orders.get(id);
    if (order !== undefined) this.#setRemaining(order, 0n);
  }

  /** Sets the resting size of the order, and with it the level and the reservation. */
  #setRemaining(order: FollowedOrder, remainingSteps: bigint): void {
    const { priceTicks } = order;
    if (priceTicks === null) return;
    const heldBefore = heldAtoms({ ...order, priceTicks }, order.units);
    this.levels.add(bookName(order), `${priceTicks}`, remainingSteps - order.remainingSteps);
    order.remainingSteps = remainingSteps;
    const held = heldAtoms({ ...order, priceTicks }, order.units) - heldBefore;
    const asset = order.side === 'sell' ? order.units.base : order.units.quote;
    this.balances.add(asset, reservedBy(order.wallet), held);
    this.balances.add(asset, availableTo(order.wallet), -held);
  }

  #book(asset: string, account: string, atoms: bigint): void {
    for (const [name, sign] of fieldsOf(account)) this.balances.add(asset, name, sign * atoms);
  }

  #scale({ symbol, scale }: Asset): void {
    this.assets.set(symbol, `${scale}`);
  }

  #switch(event: EngineEvent): void {
    const changes = new SwitchChanges();
    changes.apply(event);
    for (const [name, value] of fieldsOfChanges(changes)) this.switches.set(name, value);
  }
}

/** Yields the fields of the engine hash that the changes set, null where they remove one. */
function* fieldsOfChanges(changes: SwitchChanges): Generator<readonly [name: string, value: string | null]> {
  const { paused, termsVersion, holds, takes, acceptedTerms } = changes;
  if (paused !== undefined) yield ['paused', paused ? '1' : null];
  if (termsVersion !== undefined) yield ['terms', termsVersion];
  for (const [wallet, heldAtMs] of holds) yield [`hold of ${wallet}`, heldAtMs === null ? null : '1'];
  for (const [reference, taken] of takes)
    yield [`taken withdrawal ${reference}`, taken === null ? null : writeTake(taken.take)];
  for (const [wallet, { version }] of acceptedTerms) yield [`terms of ${wallet}`, version];
}
