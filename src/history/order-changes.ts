/**
 * Reads the changes of a wallet's orders after a place. Settled ones come from Postgres, later ones from the engine, with
 * the orders as they are now.
 */

import { createHash } from 'node:crypto';
import { Refusal } from '../domain/errors.ts';
import type { Cursor, EngineEvent } from '../domain/event.ts';
import { fillOf, placedIn } from '../domain/order.ts';
import { KIND, type OrderVisitor, visitOrders } from '../domain/order-life.ts';
import type { EnginePosition } from '../engine/index.ts';
import type { OrderChange } from '../ledger/changes.ts';
import type { ChangeTail } from './change-tails.ts';
import { type FoldedOrder, foldOrders } from './order-fold.ts';
import { NOTHING_SETTLED, type Stores, settledCounts, withFills } from './order-history.ts';
import { fitting, newest, type OrderWithFills, shownFillsOf } from './shown-fills.ts';
import { reaching, unsettledEvents } from './unsettled.ts';

/**
 * A place between two changes. The epoch is the one in which the place was told: an engine that lost its last events
 * gives their sequences again in a later epoch. Where the engine and Postgres were put back together, the number of the
 * epoch is given again, too, on another server.
 */
export interface ChangePlace extends Cursor {
  /** Digest of the run id of the server on which the epoch began. */
  readonly server: bigint;
  /** Kind and key of the last change before the place, as in `OrderChange`; the kind `after`: all of the event. */
  readonly kind: number;
  readonly key: number;
}

/** The place after every change of an event. */
const AFTER_EVENT = { kind: KIND.after, key: 0 };

const SERVER_DIGEST_BYTES = 8;

/** The latest digest: each change asks for that of the present server, once for each wallet that waits. */
let latest = { server: '', digest: 0n };

function digestOf(server: string): bigint {
  if (latest.digest === 0n || server !== latest.server) {
    const hash = createHash('sha256').update(server).digest();
    latest = { server, digest: hash.subarray(0, SERVER_DIGEST_BYTES).readBigUInt64BE() };
  }
  return latest.digest;
}

const endOf = ({ server, epoch, sequence }: Omit<EnginePosition, 'settled'>): ChangePlace => ({
  server: digestOf(server),
  epoch,
  sequence,
  ...AFTER_EVENT,
});

/** A place among the events of the present history. */
type PresentPlace = Omit<ChangePlace, 'server' | 'epoch'>;

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
  return endOf(await engine.reads.position());
}

/**
 * Returns the first changes after a place. A change stands in exactly one part, whichever process returns it, as long as
 * each part begins where the one before it ended.
 * @throws Refusal VALIDATION_ERROR for a place that is not in the present history; SERVICE_UNAVAILABLE if Postgres is
 *   needed and unavailable, or the engine was replaced meanwhile
 */
export async function readChanges(
  stores: Stores,
  wallet: string,
  after: ChangePlace,
  limit: number,
): Promise<ChangesPart> {
  const present = await stores.engine.reads.position();
  await checkPlace(stores, after, present);
  if (present.sequence <= lastWhole(after)) return { changes: [], place: endOf(present), more: false };
  const read = await readSince(stores, wallet, { from: after, wanted: limit + 1, settled: present.settled });
  const { settled, events } = read;
  const { settings, ledger } = stores;
  const chosen = choose(read, wallet, limit, settings);
  const fills = await ledger.orders.fills(settledCounts(chosen.orders, settings), settled.cursor);
  if (Math.max(settled.cursor.epoch, events.at(-1)?.epoch ?? 0) > present.epoch)
    throw new Refusal('SERVICE_UNAVAILABLE', 'the engine was started again during this read: try again');
  return partOf(chosen, withFills(chosen.orders, fills, settings), {
    ...endOf(present),
    ...placeAfter(chosen.told, chosen.found, present),
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
  const since = lastWhole(after);
  if (after.epoch !== position.epoch || after.sequence > position.sequence || since < begin) return undefined;
  if (after.server !== digestOf(position.server)) return undefined;
  if (position.sequence <= since) return { changes: [], place: endOf(position), more: false };
  const maxFills = shownFillsOf({ fillCount: Number.POSITIVE_INFINITY }, settings);
  const found = changesSince(events, wallet, maxFills, after).slice(0, limit + 1);
  // Earlier events do not tell of their orders, and a wallet's events are many beside one change.
  const own = eventsFrom(events, Math.min(...found.map(({ orderId }) => placedIn(orderId))));
  if (!placesAll(own, found)) return undefined;
  const chosen = choose({ settled: NOTHING_SETTLED, events: own, found }, wallet, limit, settings);
  return partOf(chosen, withFills(chosen.orders, new Map(), settings), {
    ...endOf(position),
    ...placeAfter(chosen.told, chosen.found, position),
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
  limit: number,
  settings: Stores['settings'],
): Chosen {
  const { found } = read;
  const listed = found.slice(0, limit);
  const ids = new Set(listed.map(({ orderId }) => orderId));
  const folded = new Map(
    foldOrders(read.settled, read.events, wallet, ids).map((one) => [one.order.id, one]),
  );
  const changes = listed.map((change) => ({ change, order: folded.get(change.orderId)!.order }));
  const told = fitting(changes, settings, ({ change }) => change.fills.length).map(({ change }) => change);
  return { found, told, orders: [...new Set(told.map(({ orderId }) => folded.get(orderId)!))] };
}

function partOf({ found, told }: Chosen, shown: readonly OrderWithFills[], place: ChangePlace): ChangesPart {
  const orders = new Map(shown.map((one) => [one.order.id, one]));
  return {
    changes: told.map((change) => ({ ...change, order: orders.get(change.orderId)! })),
    place,
    more: found.length > told.length,
  };
}

/** Returns the place after the first changes of those that were found. */
function placeAfter(
  told: readonly OrderChange[],
  found: readonly OrderChange[],
  present: Cursor,
): PresentPlace {
  const last = told.at(-1);
  const next = found[told.length];
  if (last !== undefined && next?.sequence === last.sequence)
    return { sequence: last.sequence, kind: last.kind, key: last.key };
  const sequence = last?.sequence ?? 0;
  return { sequence: next === undefined ? Math.max(present.sequence, sequence) : sequence, ...AFTER_EVENT };
}

/** Returns the last event of which every change lies before a place. */
const lastWhole = ({ sequence, kind }: PresentPlace): number => (kind < KIND.after ? sequence - 1 : sequence);

/** Returns the changes that events make to the wallet's orders after a place. */
function changesSince(
  events: readonly EngineEvent[],
  wallet: string,
  maxFills: number,
  place: PresentPlace,
): OrderChange[] {
  return changesAfter(changesIn(eventsFrom(events, place.sequence), wallet, maxFills), place);
}

/** Returns the events from a sequence on. It is near the end, where most requests begin. */
function eventsFrom(events: readonly EngineEvent[], sequence: number): readonly EngineEvent[] {
  let begin = events.length;
  while (begin > 0 && events[begin - 1]!.sequence >= sequence) begin -= 1;
  return events.slice(begin);
}

/** Returns the changes after a place, of changes in order. */
function changesAfter(changes: readonly OrderChange[], place: PresentPlace): OrderChange[] {
  const isAt = ({ sequence, kind, key }: OrderChange): boolean =>
    sequence === place.sequence && kind === place.kind && key === place.key;
  const at = changes.findIndex(isAt);
  return changes.filter(({ sequence, kind }, index) => {
    if (sequence !== place.sequence) return sequence > place.sequence;
    return kind === place.kind ? index > at : kind > place.kind;
  });
}

const unknownPlace = (): Refusal =>
  new Refusal('VALIDATION_ERROR', 'after: must be a cursor of this route for the same wallet');

const goneFrom = (): Refusal =>
  new Refusal(
    'VALIDATION_ERROR',
    'after: the service was put back to a time before this cursor: read the orders, and begin again without it',
  );

/**
 * Checks that the present history has a place, and did not lose its event with an engine that was put back.
 * @throws Refusal VALIDATION_ERROR
 */
async function checkPlace(
  { engine, ledger }: Stores,
  { server, epoch, sequence }: ChangePlace,
  present: EnginePosition,
): Promise<void> {
  if (epoch === 0) throw unknownPlace();
  if (epoch === present.epoch) {
    if (server !== digestOf(present.server) || sequence > present.sequence) throw goneFrom();
    return;
  }
  if (epoch > present.epoch) throw goneFrom();
  // The engine is asked first: what it has no more is in Postgres.
  const unsettled = await engine.outbox.firstAfterEpoch(epoch);
  const past = await ledger.epochs.past(epoch);
  if (past.server !== null && server !== digestOf(past.server)) throw goneFrom();
  if (sequence >= (past.nextStart ?? unsettled?.sequence ?? present.sequence + 1)) throw goneFrom();
}

interface Asked {
  /** Place after which changes are wanted. */
  readonly from: PresentPlace;
  /** Number of changes that are wanted. */
  readonly wanted: number;
  /** Sequence up to which the engine knew events to be settled. */
  readonly settled: number;
}

/** Reads the changes, the later events of the wallet, and what Postgres has of the orders. */
async function readSince(stores: Stores, wallet: string, { from, wanted, settled: known }: Asked) {
  const since = lastWhole(from);
  const { engine, ledger, settings } = stores;
  const maxFills = shownFillsOf({ fillCount: Number.POSITIVE_INFINITY }, settings);
  const changesOf = (events: readonly EngineEvent[]): OrderChange[] =>
    changesSince(events, wallet, maxFills, from);
  const { events, isEnough, isWhole, settledTo } = await unsettledEvents(stores, wallet, {
    isEnough: (found) => found[0]!.sequence <= since && placesAll(found, changesOf(found)),
  });
  const fresh = changesOf(events);
  const isAlone =
    isEnough ||
    (Math.max(known, settledTo) <= since &&
      isWhole &&
      placesAll(events, fresh) &&
      (await engine.reads.position()).settled <= since);
  if (isAlone) return { settled: NOTHING_SETTLED, events, found: fresh.slice(0, wanted) };
  const orderIds = [...new Set(fresh.slice(0, wanted).map(({ orderId }) => orderId))];
  const page = { after: from, limit: wanted, maxFills, orderIds };
  const settled = reaching(Math.max(known, settledTo), await ledger.changes.ofWallet(wallet, page));
  const later = fresh.filter(({ sequence }) => sequence > settled.cursor.sequence);
  return { settled, events, found: [...settled.changes, ...later].slice(0, wanted) };
}

/** True if the events have the placement of each order that changes. */
function placesAll(events: readonly EngineEvent[], changes: readonly OrderChange[]): boolean {
  const missing = new Set(changes.map(({ orderId }) => orderId));
  for (const event of events) if (event.kind === 'order_placed') missing.delete(event.order.id);
  return missing.size === 0;
}

/** Returns the changes that events make to the wallet's orders, in the order in which the ledger returns them. */
function changesIn(events: readonly EngineEvent[], wallet: string, maxFills: number): OrderChange[] {
  const changes: OrderChange[] = [];
  const closed: OrderChange[] = [];
  const visitor: OrderVisitor = {
    placed({ order, trades, sequence, timeMs }) {
      if (order.wallet !== wallet) return;
      const fills = newest(trades, maxFills).map((trade) => fillOf(trade, order.id));
      changes.push({ sequence, kind: KIND.placed, key: 0, orderId: order.id, timeMs, fills });
    },
    filled(trade, { sequence, timeMs }) {
      if (trade.makerWallet !== wallet) return;
      changes.push({
        sequence,
        kind: KIND.filled,
        key: trade.tradeId,
        orderId: trade.makerOrderId,
        timeMs,
        fills: [fillOf(trade, trade.makerOrderId)],
      });
    },
    closed: ({ id, wallet: owner }, { sequence, timeMs }) => {
      if (owner === wallet)
        closed.push({ sequence, kind: KIND.closed, key: placedIn(id), orderId: id, timeMs, fills: [] });
    },
  };
  for (const event of events) {
    visitOrders(event, visitor);
    changes.push(...closed.splice(0).sort((one, other) => (one.orderId < other.orderId ? -1 : 1)));
  }
  return changes;
}
