/**
 * Reads the changes of a wallet's orders after a place. Settled ones come from Postgres, later ones from the engine, with
 * the orders as they are now.
 */

import { Refusal } from '../domain/errors.ts';
import type { Cursor, EngineEvent } from '../domain/event.ts';
import { fillOf } from '../domain/order.ts';
import { type OrderVisitor, visitOrders } from '../domain/order-life.ts';
import type { OrderChange } from '../ledger/changes.ts';
import type { ChangeTail } from './change-tails.ts';
import { type FoldedOrder, foldOrders } from './order-fold.ts';
import { NOTHING_SETTLED, type Stores, settledCounts, withFills } from './order-history.ts';
import { fitting, newest, type OrderWithFills, shownFillsOf } from './shown-fills.ts';
import { reaching, unsettledEvents } from './unsettled.ts';

/**
 * A place between two changes. The epoch is the one in which the place was told: an engine that lost its last events
 * gives their sequences again in a later epoch.
 */
export interface ChangePlace extends Cursor {
  /** Number of changes of this event before the place; 0: all of them. */
  readonly told: number;
}

export interface ToldChange extends OrderChange {
  readonly order: OrderWithFills;
}

export interface ChangesPart {
  /** In the order of the engine. */
  readonly changes: readonly ToldChange[];
  /** Place after the last of them. */
  readonly place: ChangePlace;
  /** True if there are later changes already. */
  readonly more: boolean;
}

/** Returns the present place, after every change so far. */
export async function presentPlace({ engine }: Stores): Promise<ChangePlace> {
  const { epoch, sequence } = await engine.reads.position();
  return { epoch, sequence, told: 0 };
}

/**
 * Returns the first changes after a place. A change stands in exactly one part, whichever process returns it, as long as
 * each part begins where the one before it ended.
 * @throws Refusal VALIDATION_ERROR for a place that the engine has not reached; SERVICE_UNAVAILABLE if Postgres is
 *   needed and unavailable
 */
export async function readChanges(
  stores: Stores,
  wallet: string,
  after: ChangePlace,
  limit: number,
): Promise<ChangesPart> {
  const present = await stores.engine.reads.position();
  const from = await placeIn(stores, after, present);
  const since = from.told === 0 ? from.sequence : from.sequence - 1;
  if (present.sequence <= since) return { changes: [], place: { ...present, told: 0 }, more: false };
  const wanted = from.told + limit + 1;
  const read = await readSince(stores, wallet, { since, wanted, settled: present.settled });
  const { settled, events } = read;
  const { settings, ledger } = stores;
  const chosen = choose(read, wallet, from, limit, settings);
  const fills = await ledger.orders.fills(settledCounts(chosen.orders, settings), settled.cursor);
  const epoch = Math.max(present.epoch, settled.cursor.epoch, events.at(-1)?.epoch ?? 0);
  return partOf(chosen, withFills(chosen.orders, fills, settings), {
    epoch,
    ...placeAfter(chosen.told, chosen.found, from, present),
  });
}

/**
 * Like `readChanges`, from events that the process has.
 * @returns undefined if the stores must be read: the place is not among the events, or an order was placed before them
 */
export function changesInTail(
  { settings }: Pick<Stores, 'settings'>,
  wallet: string,
  after: ChangePlace,
  limit: number,
  { position, since: begin, events }: ChangeTail,
): ChangesPart | undefined {
  const since = after.told === 0 ? after.sequence : after.sequence - 1;
  if (after.epoch !== position.epoch || after.sequence > position.sequence || since < begin) return undefined;
  const place = { epoch: position.epoch, sequence: position.sequence, told: 0 };
  if (position.sequence <= since) return { changes: [], place, more: false };
  const maxFills = shownFillsOf({ fillCount: Number.POSITIVE_INFINITY }, settings);
  const changes = changesIn(events, wallet, maxFills).filter(({ sequence }) => sequence > since);
  if (!placesAll(events, changes)) return undefined;
  const found = changes.slice(0, after.told + limit + 1);
  const chosen = choose({ settled: NOTHING_SETTLED, events, found }, wallet, after, limit, settings);
  return partOf(chosen, withFills(chosen.orders, new Map(), settings), {
    epoch: position.epoch,
    ...placeAfter(chosen.told, chosen.found, after, position),
  });
}

/** Changes that were found, those of them that a part tells, and the orders of these. */
interface Chosen {
  readonly found: readonly OrderChange[];
  readonly told: readonly OrderChange[];
  readonly orders: readonly FoldedOrder[];
}

function choose(
  read: Pick<Awaited<ReturnType<typeof readSince>>, 'settled' | 'events' | 'found'>,
  wallet: string,
  from: Omit<ChangePlace, 'epoch'>,
  limit: number,
  settings: Stores['settings'],
): Chosen {
  const found = read.found.filter(({ sequence }, at) => at >= from.told || sequence !== from.sequence);
  const folded = new Map(foldOrders(read.settled, read.events, wallet).map((one) => [one.order.id, one]));
  const listed = found.slice(0, limit).map((change) => ({ ...change, ...folded.get(change.orderId)! }));
  const told = fitting(listed, settings, ({ fills }) => fills.length);
  return { found, told, orders: [...new Set(told.map(({ orderId }) => folded.get(orderId)!))] };
}

function partOf({ found, told }: Chosen, shown: readonly OrderWithFills[], place: ChangePlace): ChangesPart {
  const orders = new Map(shown.map((one) => [one.order.id, one]));
  return {
    changes: told.map(({ sequence, orderId, timeMs, fills }) => ({
      sequence,
      orderId,
      timeMs,
      fills,
      order: orders.get(orderId)!,
    })),
    place,
    more: found.length > told.length,
  };
}

/** Returns the place after the first changes of those that were found. */
function placeAfter(
  told: readonly OrderChange[],
  found: readonly OrderChange[],
  from: Omit<ChangePlace, 'epoch'>,
  present: Cursor,
): Omit<ChangePlace, 'epoch'> {
  const last = told.at(-1)?.sequence ?? 0;
  const next = found[told.length];
  if (next === undefined) return { sequence: Math.max(present.sequence, last), told: 0 };
  if (next.sequence !== last) return { sequence: last, told: 0 };
  const before = last === from.sequence ? from.told : 0;
  return { sequence: last, told: before + told.filter(({ sequence }) => sequence === last).length };
}

const unknownPlace = (): Refusal =>
  new Refusal('VALIDATION_ERROR', 'after: must be a cursor of this route for the same wallet');

/** Returns a place as the present history has it: without the events that a lost engine had told. */
async function placeIn(
  { engine, ledger }: Stores,
  { epoch, sequence, told }: ChangePlace,
  present: Cursor,
): Promise<Omit<ChangePlace, 'epoch'>> {
  const isAhead = epoch > present.epoch || (epoch === present.epoch && sequence > present.sequence);
  if (isAhead) throw unknownPlace();
  if (epoch === present.epoch) return { sequence, told };
  // The engine is asked first: what it has no more is in Postgres.
  const unsettled = await engine.outbox.firstAfterEpoch(epoch);
  const next = (await ledger.epochs.startAfter(epoch)) ?? unsettled?.sequence;
  const last = Math.min(present.sequence, next === undefined ? present.sequence : next - 1);
  return sequence <= last ? { sequence, told } : { sequence: last, told: 0 };
}

interface Since {
  /** Sequence after which changes are wanted. */
  readonly since: number;
  /** Number of changes that are wanted. */
  readonly wanted: number;
  /** Sequence up to which the engine knew events to be settled. */
  readonly settled: number;
}

/** Reads the changes, the later events of the wallet, and what Postgres has of the orders. */
async function readSince(stores: Stores, wallet: string, { since, wanted, settled: known }: Since) {
  const { engine, ledger, settings } = stores;
  const maxFills = shownFillsOf({ fillCount: Number.POSITIVE_INFINITY }, settings);
  const changesSince = (events: readonly EngineEvent[]): OrderChange[] =>
    changesIn(events, wallet, maxFills).filter(({ sequence }) => sequence > since);
  const { events, isEnough, isWhole, settledTo } = await unsettledEvents(stores, wallet, {
    isEnough: (found) => found[0]!.sequence <= since && placesAll(found, changesSince(found)),
  });
  const fresh = changesSince(events);
  const isAlone =
    isEnough ||
    (Math.max(known, settledTo) <= since &&
      isWhole &&
      placesAll(events, fresh) &&
      (await engine.reads.position()).settled <= since);
  if (isAlone) return { settled: NOTHING_SETTLED, events, found: fresh.slice(0, wanted) };
  const orderIds = [...new Set(fresh.slice(0, wanted).map(({ orderId }) => orderId))];
  const page = { afterSequence: since, limit: wanted, maxFills, orderIds };
  const settled = reaching(Math.max(known, settledTo), await ledger.changes.ofWallet(wallet, page));
  const later = fresh.filter(({ sequence }) => sequence > settled.cursor.sequence);
  return { settled, events, found: [...settled.changes, ...later].slice(0, wanted) };
}

/** True if the events have the placement of each order that changes. */
function placesAll(events: readonly EngineEvent[], changes: readonly OrderChange[]): boolean {
  const placed = new Set(events.map((event) => (event.kind === 'order_placed' ? event.order.id : '')));
  return changes.every(({ orderId }) => placed.has(orderId));
}

/** Returns the changes that events make to the wallet's orders, in the order in which the ledger returns them. */
function changesIn(events: readonly EngineEvent[], wallet: string, maxFills: number): OrderChange[] {
  const changes: OrderChange[] = [];
  const closed: OrderChange[] = [];
  const visitor: OrderVisitor = {
    placed({ order, trades, sequence, timeMs }) {
      if (order.wallet !== wallet) return;
      const fills = newest(trades, maxFills).map((trade) => fillOf(trade, order.id));
      changes.push({ sequence, orderId: order.id, timeMs, fills });
    },
    filled(trade, { sequence, timeMs }) {
      if (trade.makerWallet !== wallet) return;
      changes.push({
        sequence,
        orderId: trade.makerOrderId,
        timeMs,
        fills: [fillOf(trade, trade.makerOrderId)],
      });
    },
    closed: ({ id, wallet: owner }, { sequence, timeMs }) => {
      if (owner === wallet) closed.push({ sequence, orderId: id, timeMs, fills: [] });
    },
  };
  for (const event of events) {
    visitOrders(event, visitor);
    changes.push(...closed.splice(0).sort((one, other) => (one.orderId < other.orderId ? -1 : 1)));
  }
  return changes;
}
