/** Folds the journal into the answers that clients of a campaign received. */

import {
  type Entry,
  type Intent,
  type Movement,
  nameOf,
  type OrderBody,
  type Outcome,
  type Replaces,
  type Shown,
} from './journal.ts';

/** An order under its client order id. */
export interface Told {
  readonly wallet: number;
  /** As it was asked for first, or after its last refusal, or as it was placed. */
  order: OrderBody;
  readonly replaces: Replaces | undefined;
  /** Number of the intent that first asked for it. */
  readonly n: number;
  /** `asked`: the outcome of at least one request is unknown, and no request was answered with an order. */
  state: 'asked' | 'placed' | 'refused';
  id: string | undefined;
  /** The last terminal status that a reply showed. */
  ended: string | undefined;
  /** Number of the intent whose reply showed it. */
  endedBy: number;
  /** Number of the last intent whose reply implies that the order is not live; 0: there was none. */
  goneBy: number;
}

export interface ToldMovement {
  readonly wallet: number;
  readonly movement: Movement;
  readonly n: number;
  state: 'asked' | 'moved' | 'refused';
  /** True once an outcome was unknown: a request that was held up may still arrive. */
  isUnsure: boolean;
}

const LIVE = new Set(['open', 'resting', 'partially_filled']);
export const isLive = (status: string): boolean => LIVE.has(status);

/** The sequence of the event that placed an order: the last 12 hex digits of its id. */
export const sequenceOf = (id: string): number => Number.parseInt(id.slice(-12), 16);

export class Model {
  readonly orders = new Map<string, Told>();
  readonly movements = new Map<string, ToldMovement>();
  /** Requests without an outcome. */
  readonly open = new Map<number, Intent>();
  /** Contradictions between two replies. */
  readonly contradictions: string[] = [];
  lastIntent = 0;
  /** Number of the last intent to place an order that was answered with one. */
  lastAccepted = 0;
  requests = 0;
  /** Requests that were answered with an order. */
  accepted = 0;
  unknowns = 0;
  readonly #byId = new Map<string, Told>();
  readonly #intents = new Map<number, Intent>();
  /** Orders of which a request had an unknown outcome: one that was held up may still arrive. */
  readonly unsure = new Set<Told>();

  apply(entry: Entry): void {
    switch (entry.entry) {
      case 'intent':
        this.#begin(entry);
        return;
      case 'outcome':
        this.#end(entry);
        return;
      case 'lost':
        this.#lose(entry.afterSequence, entry.sinceIntent);
        return;
      case 'round':
        return;
    }
  }

  /** The order that a reply placed under an id. */
  placed(id: string): Told | undefined {
    return this.#byId.get(id);
  }

  keyOf(wallet: number, clientOrderId: string): string {
    return `${wallet} ${clientOrderId}`;
  }

  #begin(intent: Intent): void {
    this.lastIntent = Math.max(this.lastIntent, intent.n);
    this.requests += 1;
    this.open.set(intent.n, intent);
    this.#intents.set(intent.n, intent);
    const { wallet, n } = intent;
    if (intent.does === 'place') {
      const key = this.keyOf(wallet, intent.order.clientOrderId);
      const earlier = this.orders.get(key);
      // A refusal uses no id, so only the later terms can have been placed.
      if (earlier?.state === 'refused') earlier.order = intent.order;
      if (earlier === undefined) {
        const { order, replaces } = intent;
        const told = { wallet, order, replaces, n, state: 'asked' as const };
        this.orders.set(key, { ...told, id: undefined, ended: undefined, endedBy: 0, goneBy: 0 });
      }
    } else if (intent.does === 'move' && !this.movements.has(nameOf(intent.movement))) {
      const { movement } = intent;
      this.movements.set(nameOf(movement), { wallet, movement, n, state: 'asked', isUnsure: false });
    }
  }

  #end(outcome: Outcome): void {
    const intent = this.#intents.get(outcome.n);
    if (intent === undefined) return;
    this.open.delete(outcome.n);
    this.#intents.delete(outcome.n);
    if (outcome.is === 'unknown') this.unknowns += 1;
    if (outcome.is === 'ok' && intent.does === 'place') {
      this.accepted += 1;
      this.lastAccepted = Math.max(this.lastAccepted, outcome.n);
    }
    switch (intent.does) {
      case 'place':
        this.#endPlacing(intent.wallet, intent.order, outcome);
        return;
      case 'move':
        this.#endMovement(intent.movement, outcome);
        return;
      default:
        if (outcome.is === 'ok') for (const shown of outcome.shown) this.#show(shown, outcome.n);
        this.#endCancelling(intent, outcome);
    }
  }

  /**
   * A wallet sends one request at a time, so the reply to a cancel of all its orders leaves none of those that it was
   * told of before. An order that a cancel does not find is not live either.
   */
  #endCancelling(intent: Intent, outcome: Outcome): void {
    if (intent.does === 'cancel all' && outcome.is === 'ok') {
      for (const told of this.orders.values())
        if (told.wallet === intent.wallet && told.state === 'placed') told.goneBy = outcome.n;
    } else if (intent.does === 'cancel' && outcome.is === 'refused' && outcome.code === 'ORDER_NOT_FOUND') {
      this.#gone(intent.id, outcome.n);
    }
  }

  #gone(id: string, n: number): void {
    const told = this.#byId.get(id);
    if (told !== undefined) told.goneBy = n;
  }

  #endPlacing(wallet: number, order: OrderBody, outcome: Outcome): void {
    const told = this.orders.get(this.keyOf(wallet, order.clientOrderId))!;
    switch (outcome.is) {
      case 'unknown':
        if (told.state === 'refused') told.state = 'asked';
        if (told.state !== 'placed') this.unsure.add(told);
        return;
      case 'refused':
        if (told.state === 'placed') this.#contradict(told, `was placed and is refused with ${outcome.code}`);
        else told.state = 'refused';
        // The deadline has passed at the engine: no request that was held up can place the order any more.
        if (outcome.code === 'BAD_REQUEST') this.unsure.delete(told);
        if (outcome.code === 'ORDER_NOT_FOUND' && told.replaces !== undefined)
          this.#gone(told.replaces.id, outcome.n);
        return;
      case 'ok': {
        const [shown, replaced] = outcome.shown;
        if (told.id !== undefined && told.id !== shown!.id)
          this.#contradict(told, `is answered as ${shown!.id}`);
        if (told.id === undefined) told.order = order;
        told.state = 'placed';
        told.id = shown!.id;
        this.#byId.set(told.id, told);
        this.#show(shown!, outcome.n);
        if (replaced !== undefined) this.#show(replaced, outcome.n);
      }
    }
  }

  #endMovement(movement: Movement, outcome: Outcome): void {
    const name = nameOf(movement);
    const told = this.movements.get(name)!;
    if (outcome.is === 'ok') told.state = 'moved';
    else if (outcome.is === 'unknown') {
      told.isUnsure = true;
      if (told.state !== 'moved') told.state = 'asked';
    } else if (told.state === 'moved')
      this.contradictions.push(`movement ${name} was done and is refused with ${outcome.code}`);
    else told.state = 'refused';
  }

  #show({ id, status }: Shown, n: number): void {
    const told = this.#byId.get(id);
    if (told === undefined || isLive(status)) {
      // A reply may overtake a later one, so a live status after a terminal one is judged at rest.
      return;
    }
    if (told.ended !== undefined && told.ended !== status)
      this.#contradict(told, `ended as ${told.ended} and is answered as ${status}`);
    told.ended = status;
    told.endedBy = n;
  }

  #contradict(told: Told, what: string): void {
    this.contradictions.push(
      `order ${told.order.clientOrderId} of wallet ${told.wallet} (${told.id}) ${what}`,
    );
  }

  /** Forgets what a loss may have undone: orders of later events, and ends and movements of later requests. */
  #lose(afterSequence: number, sinceIntent: number): void {
    for (const told of this.orders.values()) {
      if (told.id !== undefined && told.n > sinceIntent && sequenceOf(told.id) > afterSequence) {
        this.#byId.delete(told.id);
        told.id = undefined;
        told.state = 'asked';
        told.ended = undefined;
        this.unsure.add(told);
      } else if (told.endedBy > sinceIntent) told.ended = undefined;
      if (told.goneBy > sinceIntent) told.goneBy = 0;
    }
    for (const told of this.movements.values()) {
      if (told.n <= sinceIntent) continue;
      told.isUnsure = true;
      if (told.state === 'moved') told.state = 'asked';
    }
  }
}
