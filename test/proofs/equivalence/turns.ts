/**
 * Generates commands that are sent in one turn of the event loop, so that the engine runs them together. The engine
 * processes them in a defined order, so the reference can execute them one by one in the same order.
 */

import type { Random } from '../../support/seed.ts';
import type { Generator, Operation } from './generator.ts';
import type { PlaceAnswer, ReferenceExchange } from './reference-book.ts';
import { refusalByRules } from './reference-rules.ts';
import { WALLETS } from './stage.ts';

export type Placing = Operation & { readonly do: 'place' };
export type Closing = Operation & { readonly do: 'cancel' | 'void' };

/** Executes an order in the reference. */
export const takenBy = (
  book: ReferenceExchange,
  { wallet, request, isRestricted, replaces, filledSize }: Placing,
): PlaceAnswer =>
  book.place(
    wallet,
    request,
    isRestricted,
    replaces === undefined ? undefined : { number: replaces, filledSize },
  );

/** An order that the reference has executed, and the reference's answer. */
export interface Placed {
  readonly operation: Placing;
  readonly expected: PlaceAnswer;
}

export type Turn =
  | { readonly do: 'place_together'; readonly orders: readonly Placed[] }
  | { readonly do: 'close_together'; readonly closings: readonly Closing[] }
  /** All orders of each of these wallets. */
  | { readonly do: 'cancel_all_together'; readonly wallets: readonly string[] };

/** Draws per command of a turn. Operations that do not fit the turn are dropped. */
const DRAWS_EACH = 8;
/** After this many makers a call leaves its other orders to the next call, behind those of other markets. */
const MAKERS_OF_CALL = 200;
/** Wallets with more live orders are closed in pages, and pages of different wallets interleave. */
const MAX_LIVE_OF_PAGE = 100;

/** Generates turns of 1 to 64 commands. */
export class Turns {
  readonly #dice: Random;
  readonly #generator: Generator;
  readonly #book: ReferenceExchange;
  /** Number of orders that were recorded before this turn. Those of the turn have no ids yet. */
  #known = 0;

  constructor(dice: Random, generator: Generator, book: ReferenceExchange) {
    this.#dice = dice;
    this.#generator = generator;
    this.#book = book;
  }

  /**
   * Returns the next turn. The reference has already executed the orders of a turn that places, but not other turns.
   */
  next(): Turn {
    this.#known = this.#book.recorded;
    const size = 1 + this.#dice.below(this.#dice.pick([4, 16, 64]));
    const isPaged = this.#book.limits.maxLiveOrders > MAX_LIVE_OF_PAGE;
    const kind = this.#dice.below(100);
    if (kind < 60) return { do: 'place_together', orders: this.#ofOneMarket(size) };
    if (kind < 85) return { do: 'place_together', orders: this.#ofMarkets(size) };
    if (kind < 95 || isPaged) return { do: 'close_together', closings: this.#closings(size) };
    return {
      do: 'cancel_all_together',
      wallets: WALLETS.filter(() => this.#dice.chance(0.4)),
    };
  }

  /**
   * Orders of one market. Each is drawn after the reference has executed the previous ones, so that they match one
   * another.
   */
  #ofOneMarket(size: number): Placed[] {
    const orders: Placed[] = [];
    for (let draws = 0; draws < size * DRAWS_EACH && orders.length < size; draws += 1) {
      const operation = this.#place(orders);
      const [first] = orders;
      if (operation === undefined || this.#isRefusedAhead(operation)) continue;
      if (first !== undefined && operation.request.market !== first.operation.request.market) continue;
      orders.push({ operation, expected: this.#take(operation) });
    }
    return orders;
  }

  /**
   * Orders of any markets. A replica refuses orders that break the rules before it sends any. It sends the others
   * grouped by market, in the order in which the markets first occur.
   */
  #ofMarkets(size: number): Placed[] {
    const maxOfMarket = Math.max(1, Math.floor((MAKERS_OF_CALL - 1) / this.#book.limits.maxMakers));
    const drawn: Placing[] = [];
    for (let draws = 0; draws < size * DRAWS_EACH && drawn.length < size; draws += 1) {
      const operation = this.#place(drawn.map((one) => ({ operation: one })));
      if (operation === undefined || this.#mayBeLookedUpLate(operation, drawn)) continue;
      const { market } = operation.request;
      const ofMarket = drawn.filter(({ request }) => request.market === market);
      if (this.#book.market(market) !== undefined && ofMarket.length < maxOfMarket) drawn.push(operation);
    }
    const ahead = drawn.filter((one) => this.#isRefusedAhead(one));
    const rest = drawn.filter((one) => !ahead.includes(one));
    const markets = new Set(rest.map(({ request }) => request.market));
    const taken = new Map<Placing, PlaceAnswer>();
    for (const one of ahead) taken.set(one, this.#take(one));
    for (const market of markets)
      for (const one of rest) if (one.request.market === market) taken.set(one, this.#take(one));
    return drawn.map((operation) => ({ operation, expected: taken.get(operation)! }));
  }

  /** The next order, sometimes with a client order id of the same turn. */
  #place(before: readonly { readonly operation: Placing }[]): Placing | undefined {
    const operation = this.#generator.next();
    if (operation.do !== 'place' || (operation.replaces ?? -1) >= this.#known) return undefined;
    const named = before.filter((one) => one.operation.request.clientOrderId !== null);
    if (named.length === 0 || !this.#dice.chance(0.05)) return operation;
    const { wallet, request } = this.#dice.pick(named).operation;
    return {
      ...operation,
      wallet,
      request: { ...operation.request, clientOrderId: request.clientOrderId },
    };
  }

  /**
   * True for an order that is refused ahead and has its client order id with another of the turn. Its look-up comes after
   * theirs if the replica has to read its market again.
   */
  #mayBeLookedUpLate(operation: Placing, before: readonly Placing[]): boolean {
    return before.some(
      (other) =>
        isSameClaim(other, operation) && (this.#isRefusedAhead(other) || this.#isRefusedAhead(operation)),
    );
  }

  #isRefusedAhead({ request }: Placing): boolean {
    return refusalByRules(request, this.#book.market(request.market)) !== undefined;
  }

  #take(operation: Placing): PlaceAnswer {
    return takenBy(this.#book, operation);
  }

  /** Drawn from one state, so that some of them name the same order. */
  #closings(size: number): Closing[] {
    return Array.from({ length: size }, () => this.#generator.closing());
  }
}

const isSameClaim = (one: Placing, other: Placing): boolean =>
  one.request.clientOrderId !== null &&
  one.wallet === other.wallet &&
  one.request.clientOrderId === other.request.clientOrderId;
