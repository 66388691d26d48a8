/**
 * Compares a sorted set of the engine with the live orders of the ledger, page by page, each at the event of the page.
 */

import type { MemberPage } from '../../engine/index.ts';
import type { AuditedOrder } from '../../ledger/index.ts';
import type { FollowedOrder, Follower } from './follower.ts';

/** Rows of the ledger in the order of the set, read as far as the current page of the set goes. */
export class LiveOrders {
  readonly #chunks: AsyncIterator<readonly AuditedOrder[]>;
  #chunk: readonly AuditedOrder[] = [];
  #at = 0;
  #isOver = false;

  constructor(chunks: AsyncIterable<readonly AuditedOrder[]>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Starts the query, which sorts all orders in Postgres. */
  async begin(follower: Follower): Promise<void> {
    await follower.during(this.#fetch());
  }

  /** Returns the next row without taking it. */
  async peek(): Promise<AuditedOrder | undefined> {
    while (this.#at === this.#chunk.length && !this.#isOver) await this.#fetch();
    return this.#chunk[this.#at];
  }

  take(): void {
    this.#at += 1;
  }

  async end(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #fetch(): Promise<void> {
    const next = await this.#chunks.next();
    this.#isOver = next.done === true;
    this.#chunk = next.done === true ? [] : next.value;
    this.#at = 0;
  }
}

/** An order as the set stores it: the key that its member sorts by, and the whole member, in hex. */
interface SetMember {
  readonly key: string;
  readonly member: string;
}

/** A sorted set, or the part of the ledger that belongs to it. */
export interface OrderedSet {
  scan(after: Buffer | null): Promise<MemberPage>;
  /** Number of bytes of a member's key; the bytes after the key describe the order further. */
  readonly keyBytes: number;
  /** True if the order belongs in this set. */
  has(order: AuditedOrder | FollowedOrder): boolean;
  /** @param remainingSteps more than zero */
  entryOf(order: AuditedOrder | FollowedOrder): SetMember;
  /** Called with each row of the ledger as it is read. */
  settled?(order: AuditedOrder): void;
}

/** Live orders that were placed since the snapshot and come in the rest of a set, each looked at once. */
class PlacedSince {
  readonly #follower: Follower;
  readonly #set: OrderedSet;
  /** In the order of their keys. */
  #waiting: { readonly key: string; readonly order: FollowedOrder }[] = [];
  #met = 0;

  constructor(follower: Follower, set: OrderedSet) {
    this.#follower = follower;
    this.#set = set;
  }

  /**
   * Takes the orders after `from` and up to `to`. No later call may name a smaller `from`.
   * @param to null: to the end of the set
   */
  take(from: string, to: string | null): FollowedOrder[] {
    const { ordersPlaced } = this.#follower;
    const waited = this.#waiting.length;
    for (; this.#met < ordersPlaced.length; this.#met += 1) {
      const order = ordersPlaced[this.#met]!;
      if (order.remainingSteps === 0n || !this.#set.has(order)) continue;
      const { key } = this.#set.entryOf(order);
      if (key > from) this.#waiting.push({ key, order });
    }
    if (this.#waiting.length > waited) this.#waiting.sort((a, b) => (a.key < b.key ? -1 : 1));
    const later = to === null ? -1 : this.#waiting.findIndex(({ key }) => key > to);
    const taken = this.#waiting.splice(0, later === -1 ? this.#waiting.length : later);
    return taken.map(({ order }) => order).filter(({ remainingSteps }) => remainingSteps > 0n);
  }
}

/** Called with each order that exists or should exist; members are in hex. */
type SeeMember = (expected: string | null, found: string | null) => void;

/**
 * @param orders rows whose query was started; the set's rows come next in it
 * @param misplaced called with a member that its score hides
 * @throws EventsLost
 */
export async function compareMembers(
  follower: Follower,
  set: OrderedSet,
  orders: LiveOrders,
  see: SeeMember,
  misplaced: (member: string) => void,
): Promise<void> {
  const placed = new PlacedSince(follower, set);
  let from = '';
  let page: MemberPage | undefined;
  do {
    page = await set.scan(page?.members.at(-1) ?? null);
    if (page.misplaced !== null && from === '') misplaced(page.misplaced.toString('hex'));
    await follower.advanceTo(page.sequence);
    const found = page.members.map((member) => member.toString('hex'));
    const to = page.isLast ? null : found.at(-1)!.slice(0, set.keyBytes * 2);
    const expected = await expectedUpTo(follower, set, orders, to);
    for (const order of placed.take(from, to)) {
      const { key, member } = set.entryOf(order);
      expected.set(key, member);
    }
    for (const member of found) {
      const key = member.slice(0, set.keyBytes * 2);
      see(expected.get(key) ?? null, member);
      expected.delete(key);
    }
    for (const member of expected.values()) see(member, null);
    from = to ?? from;
  } while (!page.isLast);
}

/**
 * Returns the expected members of the ledger's next orders, up to `to`, by key.
 * @param to null: to the end of the set
 */
async function expectedUpTo(
  follower: Follower,
  set: OrderedSet,
  orders: LiveOrders,
  to: string | null,
): Promise<Map<string, string>> {
  const expected = new Map<string, string>();
  for (;;) {
    const row = await orders.peek();
    if (row === undefined || !set.has(row)) break;
    if (to !== null && set.entryOf(row).key > to) break;
    orders.take();
    set.settled?.(row);
    const order = follower.order(row.id) ?? row;
    if (order.remainingSteps === 0n) continue;
    const { key, member } = set.entryOf(order);
    expected.set(key, member);
  }
  return expected;
}
