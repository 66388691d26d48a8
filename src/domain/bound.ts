/**
 * Bounds what all callers hold together of something scarce, so that only the largest holder feels a full bound. A
 * holder is a wallet, a key or an address. `bounds.ts` has the numbers.
 */

export interface BoundRule {
  /** Share of one holder. */
  readonly ofHolder: number;
  /** Maximum that all holders may hold together. */
  readonly inAll: number;
}

/** Something that is held. */
export interface Place {
  /** Gives it back. A second call does nothing. */
  giveBack(): void;
}

/** Whoever holds a place. */
export interface Taker {
  /** Ends what holds the place. Called at most once, and never after `giveBack`. */
  giveWay(): void;
}

interface Holder {
  readonly name: string;
  held: number;
  /** First of the places, in order of arrival: a set for each holder takes more than the places. */
  oldest: HeldPlace | undefined;
  newest: HeldPlace | undefined;
}

/** Holders are ranked by steps of their share, so that the largest holder is found without a search. */
const STEPS_OF_SHARE = 64;
/** Holders without a place that are kept for their next one, because a holder costs more than a place. */
const MAX_IDLE = 1_024;

export class Bound {
  readonly #rule: BoundRule;
  readonly #step: number;
  readonly #holders = new Map<string, Holder>();
  /** Holders by rank: what they hold, in steps. */
  readonly #ranks: Set<Holder>[] = [new Set()];
  /** No holder has a higher rank. */
  #top = 0;
  #held = 0;
  #idle = 0;

  constructor(rule: BoundRule) {
    this.#rule = rule;
    this.#step = Math.max(1, Math.floor(rule.ofHolder / STEPS_OF_SHARE));
  }

  /** The amount that all holders hold together. */
  get held(): number {
    return this.#held;
  }

  /** True if the holder has its share already. */
  isFull(name: string): boolean {
    return (this.#holders.get(name)?.held ?? 0) >= this.#rule.ofHolder;
  }

  /**
   * Takes an amount. If that passes the total, places of the largest holder give way, the oldest first.
   * @returns undefined if no other holder holds more than this one then would
   */
  take(name: string, amount: number, taker: Taker): Place | undefined {
    const wanted = (this.#holders.get(name)?.held ?? 0) + amount;
    while (this.#held + amount > this.#rule.inAll) {
      const largest = this.#largest();
      if (largest === undefined || largest.name === name || largest.held <= wanted) return undefined;
      const oldest = largest.oldest!;
      oldest.giveBack();
      oldest.taker.giveWay();
    }
    const holder = this.#holderOf(name);
    if (holder.oldest === undefined) this.#idle -= 1;
    const place = new HeldPlace(this, holder, amount, taker);
    append(holder, place);
    this.#change(holder, amount);
    return place;
  }

  /** For places only. */
  remove(place: HeldPlace): void {
    if (!place.isHeld) return;
    place.isHeld = false;
    const { holder, amount } = place;
    unlink(holder, place);
    this.#change(holder, -amount);
    if (holder.oldest !== undefined) return;
    this.#idle += 1;
    if (this.#idle > MAX_IDLE) this.#forgetIdle();
  }

  #holderOf(name: string): Holder {
    let holder = this.#holders.get(name);
    if (holder === undefined) {
      holder = { name, held: 0, oldest: undefined, newest: undefined };
      this.#holders.set(name, holder);
      this.#idle += 1;
    }
    return holder;
  }

  #forgetIdle(): void {
    for (const [name, { oldest }] of this.#holders) if (oldest === undefined) this.#holders.delete(name);
    this.#idle = 0;
  }

  #change(holder: Holder, amount: number): void {
    const from = this.#rankOf(holder);
    this.#held += amount;
    holder.held += amount;
    const to = this.#rankOf(holder);
    this.#ranks[from]!.delete(holder);
    while (this.#ranks.length <= to) this.#ranks.push(new Set());
    if (holder.held > 0) this.#ranks[to]!.add(holder);
    this.#top = Math.max(this.#top, to);
    while (this.#top > 0 && this.#ranks[this.#top]!.size === 0) this.#top -= 1;
  }

  #rankOf({ held }: Holder): number {
    return Math.ceil(held / this.#step);
  }

  /** Returns a holder of the highest rank: the one that has been there for longest. */
  #largest(): Holder | undefined {
    return this.#ranks[this.#top]!.values().next().value;
  }
}

function append(holder: Holder, place: HeldPlace): void {
  place.before = holder.newest;
  if (holder.newest === undefined) holder.oldest = place;
  else holder.newest.after = place;
  holder.newest = place;
}

/** The place forgets its neighbours: V8 may keep it longer than them, and would keep them with it. */
function unlink(holder: Holder, place: HeldPlace): void {
  const { before, after } = place;
  place.before = undefined;
  place.after = undefined;
  if (before === undefined) holder.oldest = after;
  else before.after = after;
  if (after === undefined) holder.newest = before;
  else after.before = before;
}

class HeldPlace implements Place {
  readonly holder: Holder;
  readonly amount: number;
  readonly taker: Taker;
  /** Places of the same holder that came directly before and after this one. */
  before: HeldPlace | undefined;
  after: HeldPlace | undefined;
  isHeld = true;
  readonly #bound: Bound;

  constructor(bound: Bound, holder: Holder, amount: number, taker: Taker) {
    this.#bound = bound;
    this.holder = holder;
    this.amount = amount;
    this.taker = taker;
  }

  giveBack(): void {
    this.#bound.remove(this);
  }
}
