/** Orders waiting commands so that wallets take turns, and a wallet that causes more work waits for more rounds. */

interface WalletLane<Item> {
  /** In order of arrival. */
  readonly items: Item[];
  /** Number of rounds that the wallet has to let pass. */
  owed: number;
}

/**
 * Goes around the waiting wallets and takes one command of each. A wallet that arrives comes last in the round under
 * way. If all waiting wallets owe rounds, as many rounds pass at once as one of them owes.
 *
 * Items are first planned and leave their lanes when they were used, because a call may not use all of them.
 */
export class Turns<Item> {
  readonly #lanes = new Map<string, WalletLane<Item>>();
  /** Lanes in the order of their next turns. */
  #ring: WalletLane<Item>[] = [];
  /** The planned turns: the lane's place in the ring, and the number of rounds before it. */
  #plan: { readonly at: number; readonly round: number }[] = [];
  #size = 0;

  /** Number of waiting items, the planned ones included. */
  get size(): number {
    return this.#size;
  }

  add(wallet: string, item: Item): void {
    let lane = this.#lanes.get(wallet);
    if (lane === undefined) {
      lane = { items: [], owed: 0 };
      this.#lanes.set(wallet, lane);
      this.#ring.push(lane);
    }
    lane.items.push(item);
    this.#size += 1;
  }

  /** Removes the items at the front of each lane for which the test holds. Nothing may be planned. */
  removeFront(test: (item: Item) => boolean): Item[] {
    const removed: Item[] = [];
    for (const { items } of this.#ring)
      while (items.length > 0 && test(items[0]!)) removed.push(items.shift()!);
    this.#size -= removed.length;
    return removed;
  }

  /**
   * Plans the next items, in turn.
   * @param max maximum items
   * @param maxOfLane maximum items of one wallet
   */
  plan(max: number, maxOfLane: number): Item[] {
    const planned: Item[] = [];
    this.#plan = [];
    for (let round = this.#minOwed(); planned.length < max; round += 1) {
      const before = planned.length;
      for (let at = 0; at < this.#ring.length && planned.length < max; at += 1) {
        const { items, owed } = this.#ring[at]!;
        const next = round - owed;
        if (next < 0 || next >= items.length) continue;
        planned.push(items[next]!);
        this.#plan.push({ at, round });
        if (next + 1 === maxOfLane) return planned;
      }
      if (planned.length === before) break;
    }
    return planned;
  }

  /**
   * Takes the planned items that were used, and forgets the plan.
   * @param costs rounds that each used item costs its wallet besides its own
   */
  use(costs: readonly number[]): void {
    const last = this.#plan[costs.length - 1];
    if (last === undefined) return;
    for (const [at, lane] of this.#ring.entries()) {
      const passed = last.round + (at <= last.at ? 1 : 0);
      lane.owed = Math.max(0, lane.owed - passed);
    }
    for (const [index, cost] of costs.entries()) {
      const lane = this.#ring[this.#plan[index]!.at]!;
      lane.items.shift();
      lane.owed += cost;
    }
    this.#size -= costs.length;
    this.#plan = [];
    this.#ring = [...this.#ring.slice(last.at + 1), ...this.#ring.slice(0, last.at + 1)];
    this.#forget();
  }

  /** Forgets wallets that neither wait nor owe rounds. */
  #forget(): void {
    if (!this.#ring.some(isIdle)) return;
    this.#ring = this.#ring.filter((lane) => !isIdle(lane));
    for (const [wallet, lane] of this.#lanes) if (isIdle(lane)) this.#lanes.delete(wallet);
  }

  #minOwed(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { items, owed } of this.#ring) if (items.length > 0) least = Math.min(least, owed);
    return least === Number.POSITIVE_INFINITY ? 0 : least;
  }
}

const isIdle = ({ items, owed }: WalletLane<unknown>): boolean => items.length === 0 && owed === 0;
