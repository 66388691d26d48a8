/**
 * Bounds what all callers hold together of something scarce, so that only the holder of most feels a full bound. A holder
 * is a wallet, a key or an address. `bounds.ts` has the numbers.
 */

export interface BoundRule {
  /** Share of one holder. */
  readonly ofHolder: number;
  /** Most that all holders may hold. */
  readonly inAll: number;
}

/** Something that is held. */
export interface Place {
  /** Gives it back. A second call does nothing. */
  giveBack(): void;
}

interface Holder {
  readonly name: string;
  held: number;
  /** In order of arrival. */
  readonly places: Set<HeldPlace>;
}

/** Holders are ranked by steps of their share, so that the holder of most is found without a search. */
const STEPS_OF_SHARE = 64;

export class Bound {
  readonly #rule: BoundRule;
  readonly #step: number;
  readonly #holders = new Map<string, Holder>();
  /** Holders by rank: what they hold, in steps. */
  readonly #ranks: Set<Holder>[] = [];
  #held = 0;

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
   * Takes an amount. If that passes the total, places of the holder of most give way, the oldest first.
   * @param giveWay ends what is held; called at most once, and never after `giveBack`
   * @returns undefined if no other holder holds more than this one then would
   */
  take(name: string, amount: number, giveWay: () => void): Place | undefined {
    const wanted = (this.#holders.get(name)?.held ?? 0) + amount;
    while (this.#held + amount > this.#rule.inAll) {
      const most = this.#most();
      if (most === undefined || most.name === name || most.held <= wanted) return undefined;
      const [oldest] = most.places;
      oldest!.giveBack();
      oldest!.giveWay();
    }
    const holder = this.#holderOf(name);
    const place = new HeldPlace(this, holder, amount, giveWay);
    holder.places.add(place);
    this.#change(holder, amount);
    return place;
  }

  /** For places only. */
  remove(place: HeldPlace): void {
    const { holder, amount } = place;
    if (!holder.places.delete(place)) return;
    this.#change(holder, -amount);
    if (holder.places.size === 0) this.#holders.delete(holder.name);
  }

  #holderOf(name: string): Holder {
    let holder = this.#holders.get(name);
    if (holder === undefined) {
      holder = { name, held: 0, places: new Set() };
      this.#holders.set(name, holder);
    }
    return holder;
  }

  #change(holder: Holder, amount: number): void {
    const from = this.#rankOf(holder);
    this.#held += amount;
    holder.held += amount;
    const to = this.#rankOf(holder);
    this.#ranks[from]?.delete(holder);
    while (this.#ranks.length <= to) this.#ranks.push(new Set());
    if (holder.held > 0) this.#ranks[to]!.add(holder);
    while (this.#ranks.at(-1)?.size === 0) this.#ranks.pop();
  }

  #rankOf({ held }: Holder): number {
    return Math.ceil(held / this.#step);
  }

  /** Returns a holder of the highest rank: the one that has been there for longest. */
  #most(): Holder | undefined {
    return this.#ranks.at(-1)?.values().next().value;
  }
}

class HeldPlace implements Place {
  readonly holder: Holder;
  readonly amount: number;
  readonly giveWay: () => void;
  readonly #bound: Bound;

  constructor(bound: Bound, holder: Holder, amount: number, giveWay: () => void) {
    this.#bound = bound;
    this.holder = holder;
    this.amount = amount;
    this.giveWay = giveWay;
  }

  giveBack(): void {
    this.#bound.remove(this);
  }
}
