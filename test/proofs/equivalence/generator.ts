/**
 * Generates random operations from a seed so that every outcome occurs often. It reads the reference's state to choose,
 * for example, a price that crosses, a size that exactly consumes the book, or a wallet at its order limit.
 */

import type { MovementKind } from '../../../src/domain/event.ts';
import { SELF_TRADE_POLICIES } from '../../../src/domain/market.ts';
import type { Side, TimeInForce } from '../../../src/domain/order.ts';
import type { Take } from '../../../src/domain/withdrawal-states.ts';
import { type Random, random } from '../../support/seed.ts';
import { unitsOf, writeDecimal } from './decimals.ts';
import type { MovementRecord, ReferenceExchange, ReferenceOrder, Requested } from './reference-book.ts';
import { notionalAtoms, type ReferenceMarket, type Request, type Rules } from './reference-rules.ts';
import {
  BUSY,
  BUY_ONLY,
  CLOSED,
  HUGE,
  MID_TICKS,
  NEVER_TRADED,
  PRE_OPEN,
  type Profile,
  STAGE,
  WHALES,
} from './stage.ts';

export type Operation =
  | {
      readonly do: 'place';
      readonly wallet: string;
      readonly request: Request;
      readonly isRestricted: boolean;
      /** Number of the order that it replaces; null is an id that no order has. */
      readonly replaces?: number | null;
      /** Amount that the replaced order must have filled; absent: any amount. */
      readonly filledSize?: string | undefined;
    }
  /** An order by the reference's number; null is an id that no order has. */
  | { readonly do: 'cancel'; readonly wallet: string; readonly order: number | null }
  | { readonly do: 'cancel_all'; readonly wallet: string; readonly market: string | null }
  | { readonly do: 'void'; readonly order: number | null }
  | { readonly do: 'clear'; readonly market: string }
  /** `takenBy`: name of whoever took the withdrawal that is confirmed. */
  | { readonly do: 'move'; readonly movement: MovementRecord; readonly takenBy?: string }
  | { readonly do: 'take'; readonly withdrawal: Requested; readonly take: Take }
  | { readonly do: 'give_up'; readonly withdrawal: Requested; readonly by: string }
  | { readonly do: 'hold' | 'release'; readonly wallet: string }
  | { readonly do: 'pause' | 'resume' }
  | { readonly do: 'require_terms'; readonly version: string | null }
  | { readonly do: 'accept_terms'; readonly wallet: string; readonly version: string }
  | { readonly do: 'change'; readonly market: string; readonly change: Partial<Rules> };

const TIMES_IN_FORCE: readonly TimeInForce[] = ['GTC', 'IOC', 'FOK'];
const SIDES: readonly Side[] = ['buy', 'sell'];
const ID_ALPHABET = [
  'a',
  'B',
  '7',
  ' ',
  '"',
  '\\',
  '\n',
  'é',
  'e\u0301',
  '\u{1f40b}',
  '\ufeff',
  '\u202e',
  '{}',
  '%',
];
const MAX_CODE_POINTS = 128;
const REMEMBERED_IDS = 200;

const opposite = (side: Side): Side => (side === 'buy' ? 'sell' : 'buy');
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);

const STEPS_SEED = 7;
/** Keys of those who pay withdrawals. */
const PAYER_KEYS = ['north', 'south'] as const;
const DAY_MS = 86_400_000;

export class Generator {
  readonly #dice: Random;
  /** Decides about deposits and withdrawals in steps, so that they change nothing else that a seed gives. */
  readonly #steps: Random;
  readonly #book: ReferenceExchange;
  readonly #profile: Profile;
  readonly #wallets: readonly string[];
  readonly #sentIds: { wallet: string; id: string }[] = [];
  readonly #movements: MovementRecord[] = [];
  readonly #intents: readonly (readonly [weight: number, intent: () => Operation])[];
  readonly #weight: number;
  #made = 0;

  constructor(
    dice: Random,
    book: ReferenceExchange,
    { profile = STAGE, steps = random(STEPS_SEED) }: { profile?: Profile; steps?: Random } = {},
  ) {
    this.#dice = dice;
    this.#steps = steps;
    this.#profile = profile;
    this.#wallets = [...new Set([...profile.traders, ...profile.sweepers])];
    this.#book = book;
    this.#intents = this.#plan();
    this.#weight = this.#intents.reduce((sum, [weight]) => sum + weight, 0);
  }

  next(): Operation {
    this.#made += 1;
    const operation = this.#custody() ?? this.#endWindow() ?? this.#draw();
    return operation.do === 'place' ? this.#polish(operation) : operation;
  }

  /** Returns a cancel or, less often, an operator's void. */
  closing(): Operation & { do: 'cancel' | 'void' } {
    return this.#dice.chance(0.1) ? { do: 'void', order: this.#someOrder() } : this.#cancel();
  }

  /** Returns the replacement of an order; another order while none is live. */
  replacement(): Operation {
    this.#made += 1;
    const operation = this.#replace();
    return operation.do === 'place' ? this.#polish(operation) : operation;
  }

  /** Kinds of operations with their relative weights. */
  #plan(): readonly (readonly [number, () => Operation])[] {
    const { hasRefusals } = this.#profile;
    return this.#allKinds()
      .filter(([, , isRefused]) => hasRefusals || isRefused === undefined)
      .map(([weight, intent]) => [weight, intent]);
  }

  #allKinds(): readonly (readonly [weight: number, intent: () => Operation, isRefused?: 'refused'])[] {
    return [
      [330, () => this.#quote()],
      [160, () => this.#take()],
      [44, () => this.#sweep()],
      [90, () => this.#meetOwn()],
      [50, () => this.#huge(), 'refused'],
      [152, () => this.#fillOrKill()],
      [135, () => this.#postOnly()],
      [110, () => this.#spend()],
      [52, () => this.#spendTooLittle(), 'refused'],
      [26, () => this.#spendOnNothing(), 'refused'],
      [50, () => this.#allIn()],
      [20, () => this.#bargain()],
      [270, () => this.#atCap()],
      [105, () => this.#replay(), 'refused'],
      [32, () => this.#unknownMarket(), 'refused'],
      [40, () => this.#invalid(), 'refused'],
      [50, () => this.#place({ ...this.#plain(), market: CLOSED }), 'refused'],
      [30, () => this.#preOpen(), 'refused'],
      [62, () => this.#crossPreOpen(), 'refused'],
      [52, () => this.#preOpenByType(), 'refused'],
      [10, () => this.#place({ ...this.#limit(BUY_ONLY, 'buy', -1n, 1n) }), 'refused'],
      [58, () => this.#place({ ...this.#limit(BUY_ONLY, 'sell', 0n, 1n) }), 'refused'],
      [46, () => this.#place({ ...this.#plain(), reduceOnly: true }), 'refused'],
      [74, () => this.#place(this.#offTick(this.#plain())), 'refused'],
      [74, () => this.#place(this.#offStep(this.#plain())), 'refused'],
      [58, () => this.#tooSmall(), 'refused'],
      [58, () => this.#tooLarge(), 'refused'],
      [58, () => this.#tooLargeToBeExact(), 'refused'],
      [60, () => this.#withoutReference(), 'refused'],
      [48, () => this.#place(this.#plain(), true), 'refused'],
      [170, () => this.#replace()],
      [115, () => this.#cancel()],
      [10, () => this.#cancelAll()],
      [9, () => ({ do: 'void', order: this.#someOrder() })],
      [1, () => ({ do: 'clear', market: this.#dice.pick(this.#openMarkets(PRE_OPEN)) })],
      [70, () => this.#credit()],
      [46, () => this.#debit()],
      [26, () => ({ do: 'hold', wallet: this.#dice.pick(this.#wallets) })],
      [20, () => ({ do: 'pause' })],
      [21, () => ({ do: 'require_terms', version: `v${this.#dice.below(4)}` })],
      [5, () => this.#acceptTerms()],
      [20, () => this.#change()],
    ];
  }

  #draw(): Operation {
    let drawn = this.#dice.below(this.#weight);
    for (const [weight, intent] of this.#intents) {
      if (drawn < weight) return intent();
      drawn -= weight;
    }
    return this.#quote();
  }

  /** Ends pauses, holds, required terms and closed markets after a while, because they block most operations. */
  #endWindow(): Operation | undefined {
    const { isPaused, held, requiredTerms, markets } = this.#book;
    if (isPaused && this.#dice.chance(0.15)) return { do: 'resume' };
    const [wallet] = held;
    if (wallet !== undefined && this.#dice.chance(0.1)) return { do: 'release', wallet };
    if (requiredTerms !== null) {
      const stale = this.#wallets.filter((one) => !this.#book.hasAcceptedTerms(one));
      if (stale.length > 0 && this.#dice.chance(0.35)) {
        return { do: 'accept_terms', wallet: this.#dice.pick(stale), version: requiredTerms };
      }
      if (this.#dice.chance(0.02)) return { do: 'require_terms', version: null };
    }
    for (const { rules } of markets) {
      if (rules.symbol === CLOSED || !this.#dice.chance(0.2)) continue;
      const change = wayBack(rules, this.#profile.markets);
      if (change !== undefined) return { do: 'change', market: rules.symbol, change };
    }
    return undefined;
  }

  // --- orders that trade ---------------------------------------------------------------------------------

  /** A limit order near the middle. Three of four do not cross it. */
  #quote(): Operation {
    const wallet = this.#wallet();
    if (this.#book.liveOf(wallet).length >= this.#book.limits.maxLiveOrders) return this.#cancel(wallet);
    const market = this.#busy();
    const back = this.#dice.chance(0.75) ? -this.#between(1, 8) : this.#between(0, 3);
    const request = this.#limit(market, this.#side(), back, this.#usualSteps(market));
    const timeInForce = this.#dice.chance(0.95) ? 'GTC' : 'IOC';
    return this.#place({ ...request, timeInForce }, false, wallet);
  }

  /** Takes some of the other side's depth, and often more than there is. */
  #take(): Operation {
    const market = this.#busy();
    const side = this.#side();
    const wallet = this.#wallet();
    const price = this.#best(market, opposite(side), wallet) ?? this.#limit(market, side, 0n, 1n).price!;
    const depth = this.#depth(market, opposite(side), wallet, price);
    const steps = this.#dice.chance(0.7) ? depth + this.#between(1, 9) : this.#usualSteps(market);
    const request = { ...this.#limit(market, side, 0n, steps), price };
    if (this.#dice.chance(0.2)) return this.#place(this.#asMarket(request), false, wallet);
    const timeInForce = this.#dice.chance(0.6) ? 'IOC' : 'GTC';
    return this.#place({ ...request, timeInForce }, false, wallet);
  }

  /** Clears a side of a book from a wallet without orders in it. Matches many makers, more than one page of them. */
  #sweep(): Operation {
    const deepest = [...this.#profile.busy]
      .flatMap((symbol) =>
        SIDES.map((side) => ({ symbol, side, orders: this.#book.book(symbol, side).length })),
      )
      .sort((a, b) => b.orders - a.orders)[0]!;
    const isDeep = deepest.orders > 8;
    if (!isDeep && this.#dice.chance(0.6)) return this.#quote();
    const { symbol, side } = isDeep ? deepest : { symbol: this.#busy(), side: this.#side() };
    const steps = this.#depth(symbol, side) + this.#between(-5, 5);
    const deep = this.#limit(symbol, opposite(side), 60n, steps);
    const request = this.#dice.chance(0.6) ? this.#asMarket(deep) : { ...deep, timeInForce: 'IOC' as const };
    return this.#place(request, false, this.#dice.pick(this.#profile.sweepers));
  }

  /** Crosses an order of the same wallet, with or without other makers before it. */
  #meetOwn(): Operation {
    const own = this.#book.live.filter(({ market }) => this.#profile.busy.includes(market));
    if (own.length === 0) return this.#quote();
    const { market, side, wallet, price } = this.#dice.pick(own);
    const { price: _middle, ...request } = this.#limit(
      market,
      opposite(side),
      0n,
      this.#usualSteps(market) * 2n,
    );
    const timeInForce = this.#dice.pick(['GTC', 'GTC', 'IOC'] as const);
    return this.#place({ ...request, price: writeDecimal(price!), timeInForce }, false, wallet);
  }

  /**
   * Trades between whales with amounts near 2^53 atoms. Notional x bps leaves 1 over a multiple of 10,000, which the
   * naive fee formula loses in doubles.
   */
  #huge(): Operation {
    const wallet = this.#dice.pick(WHALES);
    const side = this.#side();
    const market = this.#book.market(HUGE)!;
    const [best] = this.#book.book(HUGE, opposite(side));
    if (best !== undefined && best.wallet !== wallet && this.#dice.chance(0.6)) {
      const request = this.#limit(HUGE, side, 0n, (best.size - best.filled) / market.step);
      return this.#place({ ...request, price: writeDecimal(best.price!), timeInForce: 'IOC' }, false, wallet);
    }
    if (this.#book.liveOf(wallet).length > 4) return { do: 'cancel_all', wallet, market: HUGE };
    const ticks = MID_TICKS[HUGE]! - this.#between(1, 999) * (side === 'buy' ? 1n : -1n);
    const bps = BigInt(market.rules.feeBps);
    const first = 1_100_000n + BigInt(this.#dice.below(5_000_000));
    let steps = first;
    while (steps < first + 10_000n && (ticks * steps * bps) % 10_000n !== 1n) steps += 1n;
    const request = { ...this.#limit(HUGE, side, 0n, steps), price: writeDecimal(ticks * market.tick) };
    return this.#place(request, false, wallet);
  }

  #fillOrKill(): Operation {
    const market = this.#dice.pick(this.#profile.busy);
    const side = this.#side();
    const wallet = this.#wallet();
    const reach = this.#between(0, 8);
    const request = this.#limit(market, side, reach, 1n);
    const depth = this.#depth(market, opposite(side), wallet, request.price);
    const usual = this.#usualSteps(market);
    const wanted = this.#dice.chance(0.75) ? least(usual, max(1n, depth)) : depth + this.#between(1, 3);
    const size = this.#sizeText(market, wanted);
    const killable = { ...request, size, timeInForce: 'FOK' as const };
    return this.#place(this.#dice.chance(0.25) ? this.#asMarket(killable) : killable, false, wallet);
  }

  #postOnly(): Operation {
    const market = this.#dice.pick(this.#profile.busy);
    const side = this.#side();
    const [best] = this.#book.book(market, opposite(side));
    const request = this.#limit(market, side, -this.#between(2, 10), this.#usualSteps(market));
    const price = best && this.#dice.chance(0.5) ? writeDecimal(best.price!) : request.price!;
    const wallet = best && this.#dice.chance(0.2) ? best.wallet : this.#wallet();
    return this.#place({ ...request, price, postOnly: true }, false, wallet);
  }

  /** A market buy by quote amount, often exactly the cost of some asks or one atom off it. */
  #spend(): Operation {
    const market = this.#book.market(this.#dice.pick(this.#profile.busy))!;
    const book = this.#book.book(market.rules.symbol, 'sell');
    const asks = book.slice(0, 1 + this.#dice.below(4));
    const cost = asks.reduce(
      (sum, ask) => sum + notionalAtoms(market, ask.price!, ask.size - ask.filled),
      0n,
    );
    const atoms = this.#dice.chance(0.5)
      ? cost + this.#between(-1, 1)
      : (cost * BigInt(this.#dice.below(1500))) / 1000n;
    // The owner of the next ask. No self-trade may occur when the amount is used up before that ask.
    const next = book[asks.length]?.wallet;
    const wallet = next !== undefined && this.#dice.chance(0.4) ? next : this.#wallet();
    return this.#place(this.#forAmount(market, max(1n, atoms)), false, wallet);
  }

  #spendTooLittle(): Operation {
    const symbols = this.#profile.busy.filter((symbol) => this.#book.book(symbol, 'sell').length > 0);
    if (symbols.length === 0) return this.#quote();
    const market = this.#book.market(this.#dice.pick(symbols))!;
    const [best] = this.#book.book(market.rules.symbol, 'sell');
    const step = notionalAtoms(market, best!.price!, market.step);
    const others = this.#profile.traders.filter((wallet) => wallet !== best!.wallet);
    return this.#place(this.#forAmount(market, max(1n, step - 1n)), false, this.#dice.pick(others));
  }

  #spendOnNothing(): Operation {
    const market = this.#book.market(this.#dice.pick([NEVER_TRADED, BUY_ONLY]))!;
    return this.#place(this.#forAmount(market, this.#between(1, 9_999_999)));
  }

  /** Uses exactly the wallet's whole balance, or one step more. */
  #allIn(): Operation {
    const wallet = this.#wallet();
    const market = this.#book.market(this.#dice.pick(this.#profile.busy.slice(-2)))!;
    const side = this.#side();
    const request = this.#limit(market.rules.symbol, side, -this.#between(9, 20), 1n);
    const asset = side === 'buy' ? market.quote : market.base;
    const { available } = this.#book.account(wallet, asset);
    const each =
      side === 'buy'
        ? notionalAtoms(market, unitsOf(request.price!), market.step)
        : market.step / market.baseAtom;
    const steps = available / each + (this.#dice.chance(0.25) ? 0n : 1n);
    return this.#place({ ...request, size: this.#sizeText(market.rules.symbol, steps) }, false, wallet);
  }

  /** A buy that the wallet cannot pay at its limit price, but often can at the prices of its fills. */
  #bargain(): Operation {
    const market = this.#book.market(this.#dice.pick(this.#profile.busy.slice(-2)))!;
    const { symbol } = market.rules;
    const asks = this.#book.book(symbol, 'sell');
    const strangers = this.#profile.traders.filter((trader) => asks.every((ask) => ask.wallet !== trader));
    const wallet = strangers.length > 0 ? this.#dice.pick(strangers) : this.#wallet();
    const request = this.#limit(symbol, 'buy', this.#between(10, 60), 1n);
    const each = notionalAtoms(market, unitsOf(request.price!), market.step);
    const steps = this.#book.account(wallet, market.quote).available / each + this.#between(1, 5);
    const timeInForce = this.#dice.pick(['GTC', 'IOC'] as const);
    return this.#place({ ...request, size: this.#sizeText(symbol, steps), timeInForce }, false, wallet);
  }

  /** Small orders far from the middle, from the wallet with the most live orders. */
  #atCap(): Operation {
    const byLive = [...this.#profile.traders].sort(
      (a, b) => this.#book.liveOf(b).length - this.#book.liveOf(a).length,
    );
    const market = this.#dice.chance(0.5) ? this.#profile.busy[0]! : this.#busy();
    const side = this.#dice.chance(0.7) ? 'sell' : 'buy';
    const request = this.#limit(market, side, -this.#between(10, 40), this.#minOrderSteps(market));
    return this.#place(request, false, byLive[0]!);
  }

  /** Replaces an order, mostly a live one of the wallet, by one that its funds, its place or its side decide about. */
  #replace(): Operation {
    const own = this.#book.live.filter(({ market }) => this.#profile.busy.includes(market));
    if (own.length === 0) return this.#quote();
    const old = this.#dice.pick(own);
    const { wallet } = old;
    const market = this.#book.market(old.market)!;
    const near = this.#limit(old.market, old.side, -this.#between(0, 8), this.#usualSteps(old.market));
    const [best] = this.#book.book(old.market, opposite(old.side));
    const price = writeDecimal(old.price!);
    const requests: readonly (() => Request)[] = [
      () => near,
      () => ({ ...near, price, size: this.#sizeText(old.market, (old.size - old.filled) / market.step) }),
      () => ({ ...near, side: opposite(old.side), price, postOnly: this.#dice.chance(0.5) }),
      () => ({ ...near, side: opposite(old.side), price, timeInForce: this.#dice.pick(TIMES_IN_FORCE) }),
      () => ({ ...near, price: best === undefined ? price : writeDecimal(best.price!), postOnly: true }),
      () => ({ ...this.#limit(old.market, old.side, 6n, this.#usualSteps(old.market)), timeInForce: 'FOK' }),
      () => ({ ...near, price, size: this.#sizeText(old.market, this.#affordableAgain(old, market)) }),
      () => this.#asMarket({ ...near, side: this.#side() }),
    ];
    const request = this.#dice.pick(requests)();
    const replaces = this.#dice.chance(0.85) ? old.number : this.#someOrder();
    const filledSize = this.#dice.chance(0.5) ? undefined : this.#believedFilled(old, market);
    return { ...this.#place(request, false, wallet), replaces, filledSize };
  }

  /** Filled size of an order, mostly; otherwise an amount near it, none, or one that no order can fill. */
  #believedFilled(old: ReferenceOrder, { step }: ReferenceMarket): string {
    if (this.#dice.chance(0.7)) return writeDecimal(old.filled);
    return this.#dice.pick([
      '0',
      '1e-30',
      '1e30',
      ...[step, step / 2n].map((more) => writeDecimal(old.filled + more)),
    ]);
  }

  /** Steps at the same price that all funds of the wallet pay for, with those that the order holds; or one more. */
  #affordableAgain(old: ReferenceOrder, market: ReferenceMarket): bigint {
    const isBid = old.side === 'buy';
    const each = isBid ? notionalAtoms(market, old.price!, market.step) : market.step / market.baseAtom;
    const { available } = this.#book.account(old.wallet, isBid ? market.quote : market.base);
    const steps = available / each + (old.size - old.filled) / market.step;
    return steps + (this.#dice.chance(0.7) ? 0n : 2n);
  }

  #replay(): Operation {
    if (this.#sentIds.length === 0) return this.#quote();
    const { wallet, id } = this.#dice.pick(this.#sentIds);
    const request = { ...this.#plain(), clientOrderId: id };
    const owner = this.#dice.chance(0.15) ? this.#wallet() : wallet;
    return this.#place(
      this.#dice.chance(0.3) ? { ...request, size: '-1', market: '?' } : request,
      false,
      owner,
    );
  }

  // --- orders that are refused ---------------------------------------------------------------------------

  #unknownMarket(): Operation {
    return this.#place({ ...this.#plain(), market: this.#dice.pick(['NO/SUCH', 'alpha/usd', '']) });
  }

  #tooSmall(): Operation {
    return this.#place({ ...this.#plainOn(BUSY[0]), size: this.#dice.pick(['0.003', '0.006']) });
  }

  #tooLarge(): Operation {
    return this.#place({ ...this.#limit(BUSY[0], this.#side(), 0n, this.#between(1001, 5000)) });
  }

  #invalid(): Operation {
    const request = this.#plain();
    const { price: _price, ...unpriced } = request;
    return this.#place(
      this.#dice.pick<() => Request>([
        () => ({ ...request, size: this.#dice.pick(['0', '-0', '-1', '0e5', '-0.003']) }),
        () => unpriced,
        () => ({ ...this.#asMarket(request), postOnly: true }),
        () => ({ ...request, postOnly: true, timeInForce: this.#dice.pick(['IOC', 'FOK']) }),
        () => ({ ...request, leverage: this.#dice.pick(['101', '100.5', '1e3', '100.00000000000001']) }),
      ])(),
    );
  }

  #preOpen(): Operation {
    const side = this.#side();
    return this.#place(this.#limit(PRE_OPEN, side, -this.#between(1, 5), this.#between(1, 9)));
  }

  #crossPreOpen(): Operation {
    const side = this.#side();
    const [best] = this.#book.book(PRE_OPEN, opposite(side));
    if (best === undefined) return this.#preOpen();
    return this.#place({ ...this.#limit(PRE_OPEN, side, 0n, 1n), price: writeDecimal(best.price!) });
  }

  #preOpenByType(): Operation {
    const request = this.#limit(PRE_OPEN, this.#side(), 0n, 1n);
    if (this.#dice.chance(0.5)) return this.#place(this.#asMarket(request));
    return this.#place({ ...request, timeInForce: this.#dice.pick(['IOC', 'FOK']) });
  }

  #tooLargeToBeExact(): Operation {
    const market = this.#dice.pick([BUSY[1], HUGE]);
    const request = this.#limit(market, this.#side(), 0n, 1n);
    const size = this.#dice.pick(['9007199254740992', '1e11', '900719925474099.2', '1e300', '2000000000']);
    return this.#place(
      this.#dice.chance(0.3) ? { ...this.#asMarket(request), size: '1e20' } : { ...request, size },
    );
  }

  #withoutReference(): Operation {
    return this.#place(this.#asMarket(this.#limit(NEVER_TRADED, this.#side(), 0n, this.#between(100, 300))));
  }

  #offTick(request: Request): Request {
    const extra = this.#dice.pick(['0.00001', '0.0000000000000000001', '0.000123']);
    return { ...request, price: this.#plus(request.price!, extra) };
  }

  #offStep(request: Request): Request {
    const extra = this.#dice.pick(['0.001', '0.000000001', `0.${'0'.repeat(38)}1`]);
    return { ...request, size: this.#plus(request.size!, extra) };
  }

  /** The sum as text, even if it is finer than units. */
  #plus(text: string, extra: string): string {
    const [whole, fraction = ''] = text.split('.') as [string, string?];
    const places = extra.length - 2;
    if (places <= 18) return writeDecimal(unitsOf(text) + unitsOf(extra));
    return `${whole}.${fraction.padEnd(places - 1, '0')}1`;
  }

  // --- everything else -----------------------------------------------------------------------------------

  #cancel(wallet?: string): Operation & { do: 'cancel' } {
    const order = this.#someOrder(wallet);
    const owner = this.#book.live.find(({ number }) => number === order)?.wallet;
    const asks = owner === undefined || this.#dice.chance(0.15) ? this.#wallet() : owner;
    return { do: 'cancel', wallet: wallet ?? asks, order };
  }

  /** A live order or, less often, one that has ended or never existed. */
  #someOrder(wallet?: string): number | null {
    const live = wallet === undefined ? this.#book.live : this.#book.liveOf(wallet);
    const partly = live.filter(({ filled }) => filled > 0n);
    if (partly.length > 0 && this.#dice.chance(0.3)) return this.#dice.pick(partly).number;
    if (live.length > 0 && this.#dice.chance(0.7)) return this.#dice.pick(live).number;
    const newest = this.#book.live.at(-1)?.number ?? 0;
    return this.#dice.chance(0.3) ? null : this.#dice.below(newest + 1);
  }

  #cancelAll(): Operation {
    const market = this.#dice.chance(0.6) ? null : this.#dice.pick(this.#openMarkets(PRE_OPEN, BUY_ONLY));
    return { do: 'cancel_all', wallet: this.#dice.pick(this.#wallets), market };
  }

  #acceptTerms(): Operation {
    return {
      do: 'accept_terms',
      wallet: this.#dice.pick(this.#wallets),
      version: `v${this.#dice.below(4)}`,
    };
  }

  /** The busy markets, and those of the others that the stage has. */
  #openMarkets(...others: readonly string[]): string[] {
    return [...this.#profile.busy, ...others.filter((symbol) => symbol in this.#profile.midTicks)];
  }

  #credit(): Operation {
    const asset = this.#dice.pick(this.#profile.credited);
    const atom = 10 ** (this.#book.scales.get(asset)! - 2);
    // Rare outcomes need a few of these in a short run.
    const atoms = this.#dice.chance(0.2)
      ? 2n ** 62n - BigInt(this.#dice.below(3))
      : BigInt(Math.ceil((1 + this.#dice.below(60_000)) * atom));
    return this.#move('credited', this.#dice.pick(this.#profile.traders), asset, atoms);
  }

  #debit(): Operation {
    const wallet = this.#wallet();
    const asset = this.#dice.pick(this.#profile.debited);
    const { available } = this.#book.account(wallet, asset);
    const part = (available * BigInt(this.#dice.below(300))) / 1000n;
    const atoms = this.#dice.chance(0.6) ? part : available + this.#between(0, 2);
    return this.#move('debited', wallet, asset, max(1n, atoms));
  }

  /** Sometimes a step of custody: of a withdrawal that it pays later, of an announced deposit, or a reversal. */
  #custody(): Operation | undefined {
    if (!this.#steps.chance(this.#profile.custodyChance)) return undefined;
    const { requests, announced } = this.#book;
    // The first funds stay, because books are made of them.
    const credits = this.#book.credits.filter(({ reference }) => !reference.startsWith('opening'));
    const step = this.#steps.below(100);
    if (step < 50 && requests.length > 0) return this.#payment(this.#recent(requests));
    if (step < 65) return { do: 'move', movement: this.#first('requested', this.#profile.debited) };
    if (step < 78) return { do: 'move', movement: this.#first('announced', this.#profile.announced) };
    if (step < 90 && announced.length > 0) {
      const kind = this.#steps.pick(['credited', 'credited', 'dropped', 'announced'] as const);
      return { do: 'move', movement: { ...this.#recent(announced), kind } };
    }
    return credits.length === 0 ? undefined : this.#reversal(this.#deposit(credits));
  }

  /** One of the last, and often of the very last: others have ended. */
  #recent(movements: readonly MovementRecord[]): MovementRecord {
    return this.#steps.pick(movements.slice(this.#steps.chance(0.7) ? -4 : -REMEMBERED_IDS));
  }

  /** Pays, returns, takes or gives up a withdrawal, or one that has ended. Others may have taken it. */
  #payment(request: MovementRecord): Operation {
    const { reference, wallet, asset } = request;
    const withdrawal = { reference, wallet, asset };
    const taken = this.#book.takes.get(reference);
    const by =
      this.#steps.chance(0.7) && taken !== undefined ? taken.by : this.#steps.pick(this.#profile.payers);
    const step = this.#steps.below(100);
    if (step < 50) {
      const key = this.#steps.chance(0.7) && taken !== undefined ? taken.key : this.#steps.pick(PAYER_KEYS);
      const days = this.#steps.pick([2, 2, 2, 3, -1, 30]);
      return { do: 'take', withdrawal, take: { by, key, untilMs: this.#book.nowMs + days * DAY_MS } };
    }
    if (step < 65) return { do: 'give_up', withdrawal, by };
    if (step < 80) return { do: 'move', movement: { ...request, kind: 'returned' } };
    const txid = `tx ${this.#stepText()}`;
    const movement: MovementRecord = { ...request, kind: 'confirmed', txid };
    return taken === undefined && this.#steps.chance(0.7)
      ? { do: 'move', movement }
      : { do: 'move', movement, takenBy: by };
  }

  /** An id of this step, which changes nothing else that a seed gives. */
  #stepText(): string {
    return this.#profile.idText?.(this.#made) ?? `${this.#made}`;
  }

  /** The first step of a withdrawal or of a deposit. */
  #first(kind: 'requested' | 'announced', assets: readonly string[]): MovementRecord {
    const atoms = BigInt(1 + this.#steps.below(10_000));
    const reference = `${kind} ${this.#stepText()}`;
    const wallet = this.#steps.pick(this.#profile.traders);
    return { kind, wallet, asset: this.#steps.pick(assets), atoms, reference };
  }

  /** A deposit, often one that its wallet has spent: what is not there any more is owed. */
  #deposit(credits: readonly MovementRecord[]): MovementRecord {
    const spent = credits.filter(
      ({ wallet, asset, reference }) =>
        this.#book.account(wallet, asset).available < this.#book.leftOf(reference),
    );
    return spent.length > 0 && this.#steps.chance(0.5) ? this.#steps.pick(spent) : this.#recent(credits);
  }

  /** Takes back a part of a deposit, all that is left of it, or more. */
  #reversal({ wallet, asset, reference: reverses }: MovementRecord): Operation {
    const left = this.#book.leftOf(reverses);
    const part = (left * BigInt(this.#steps.below(900))) / 1_000n;
    const atoms = max(1n, this.#steps.pick([part, part, part, left, left + 1n]));
    const reference = `reversal ${this.#stepText()}`;
    return { do: 'move', movement: { kind: 'debited', wallet, asset, atoms, reference, reverses } };
  }

  #move(drawn: 'credited' | 'debited', wallet: string, asset: string, atoms: bigint): Operation {
    const kind: MovementKind = drawn === 'debited' && this.#steps.chance(0.5) ? 'requested' : drawn;
    const reference = `${drawn} ${this.#made} ${this.#idText()}`;
    const movement = { kind, wallet, asset, atoms, reference };
    const earlier = this.#movements.length > 0 && this.#dice.chance(0.4) && this.#dice.pick(this.#movements);
    if (earlier) {
      const again = this.#dice.chance(0.7) ? earlier : { ...movement, reference: earlier.reference };
      return { do: 'move', movement: again };
    }
    this.#movements.push(movement);
    if (this.#movements.length > REMEMBERED_IDS) this.#movements.shift();
    return { do: 'move', movement };
  }

  #change(): Operation {
    const { busy } = this.#profile;
    const market = this.#dice.pick([...busy, ...busy, ...this.#openMarkets(PRE_OPEN, NEVER_TRADED, CLOSED)]);
    const changes: readonly Partial<Rules>[] =
      market === CLOSED
        ? [
            { status: 'halted', tradingEnabled: true },
            { status: 'delisted', tradingEnabled: true },
            { status: 'active', tradingEnabled: false },
          ]
        : [
            { status: this.#dice.pick(['halted', 'delisted']) },
            { tradingEnabled: false },
            { sellEnabled: false },
            { visible: this.#dice.chance(0.5) },
            { feeBps: this.#dice.pick([0, 1, 7, 7, 10, 250, 1000, 1001]) },
            ...SELF_TRADE_POLICIES.map((selfTrade) => ({ selfTrade })),
            { referencePrice: this.#dice.pick(['5', '20.05', '7e-3', null]) },
            this.#dice.pick([{ minOrderSize: '9' }, { maxOrderSize: '5.000' }, { maxOrderSize: '0.001' }]),
            { minNotional: this.#dice.pick(['0.3', '2.50', '1e-7', null]) },
            { minOrderSize: '0.05', maxOrderSize: '0.049' },
            ...(market === PRE_OPEN ? [{ status: 'active' as const }] : []),
          ];
    return { do: 'change', market, change: this.#dice.pick(changes) };
  }

  // --- parts of requests ---------------------------------------------------------------------------------

  #place(request: Request, isRestricted = false, wallet = this.#wallet()): Operation & { do: 'place' } {
    return { do: 'place', wallet, request, isRestricted };
  }

  /**
   * Sometimes adds a second fault, to test the precedence of refusals. Also adds client order ids and other spellings
   * of numbers.
   */
  #polish(operation: Operation & { do: 'place' }): Operation {
    let { request } = operation;
    if (this.#dice.chance(0.04)) request = this.#blemish(request);
    if (request.clientOrderId === null && this.#dice.chance(0.3)) {
      request = { ...request, clientOrderId: this.#idText() };
    }
    if (request.clientOrderId !== null) {
      this.#sentIds.push({ wallet: operation.wallet, id: request.clientOrderId });
      if (this.#sentIds.length > REMEMBERED_IDS) this.#sentIds.shift();
    }
    if (request.leverage === null && this.#dice.chance(0.1)) {
      request = { ...request, leverage: this.#dice.pick(['1', '10', '50']) };
    }
    if (this.#dice.chance(0.02)) {
      request = { ...request, expiresAfter: this.#dice.pick([1, 2 ** 48 - 1]) };
    }
    const { price, size } = request;
    if (price !== undefined) request = { ...request, price: this.#respell(price) };
    if (size !== undefined) request = { ...request, size: this.#respell(size) };
    return { ...operation, request };
  }

  #blemish(request: Request): Request {
    const faults: readonly (() => Request)[] = [
      () => ({ ...request, market: this.#dice.pick(['NO/SUCH', CLOSED, PRE_OPEN, BUY_ONLY]) }),
      () => ({ ...request, reduceOnly: true }),
      () => ({ ...request, leverage: '101' }),
      () => ({ ...request, timeInForce: this.#dice.pick(TIMES_IN_FORCE) }),
      () => (request.price === undefined ? request : this.#offTick({ ...request, price: '20' })),
      () => (request.size === undefined ? request : this.#offStep({ ...request, size: '20' })),
      () =>
        request.size === undefined ? request : { ...request, size: this.#dice.pick(['0', '1e30', '1e-9']) },
    ];
    return this.#dice.pick(faults)();
  }

  #respell(text: string): string {
    if (!this.#dice.chance(0.08) || /e/i.test(text)) return text;
    return this.#dice.pick([`${text}e0`, `${text}E+0`, text.includes('.') ? `${text}000` : `${text}.0`]);
  }

  /** Prefers a wallet on hold, so that the hold is tested. */
  #wallet(): string {
    const [held] = this.#book.held;
    return held !== undefined && this.#dice.chance(0.5) ? held : this.#dice.pick(this.#profile.traders);
  }

  /** Prefers one market, so that its book gets deep. */
  #busy(): string {
    const { busy } = this.#profile;
    return this.#dice.chance(0.3) ? busy[0]! : this.#dice.pick(busy);
  }

  #side(): Side {
    return this.#dice.pick(SIDES);
  }

  #between(first: number, last: number): bigint {
    return BigInt(first + this.#dice.below(last - first + 1));
  }

  #idText(): string {
    const { idText } = this.#profile;
    if (idText !== undefined) return idText(this.#made);
    if (this.#dice.chance(0.04)) return '\u{1f40b}'.repeat(MAX_CODE_POINTS - 8) + this.#made;
    const length = 1 + this.#dice.below(6);
    return `${this.#made}${Array.from({ length }, () => this.#dice.pick(ID_ALPHABET)).join('')}`;
  }

  /** A GTC limit order `reach` ticks from the middle towards the other side. */
  #limit(symbol: string, side: Side, reach: bigint, steps: bigint): Request {
    const market = this.#book.market(symbol)!;
    const { midTicks, reachTicks } = this.#profile;
    const ticks = midTicks[symbol]! + reach * (reachTicks[symbol] ?? 1n) * (side === 'buy' ? 1n : -1n);
    return {
      market: symbol,
      side,
      type: 'limit',
      timeInForce: 'GTC',
      clientOrderId: null,
      leverage: null,
      postOnly: false,
      reduceOnly: false,
      price: writeDecimal(max(1n, ticks) * market.tick),
      size: this.#sizeText(symbol, steps),
    };
  }

  #plain(): Request {
    return this.#plainOn(this.#dice.pick(this.#profile.busy));
  }

  #plainOn(market: string): Request {
    return this.#limit(market, this.#side(), -this.#between(1, 9), this.#usualSteps(market));
  }

  #asMarket(request: Request): Request {
    const { price, ...rest } = request;
    const timeInForce = this.#dice.pick(TIMES_IN_FORCE);
    const market = {
      ...rest,
      type: 'market' as const,
      timeInForce: request.timeInForce === 'FOK' ? 'FOK' : timeInForce,
    };
    return this.#dice.chance(0.2) && price !== undefined ? { ...market, price } : market;
  }

  #forAmount(market: ReferenceMarket, atoms: bigint): Request {
    const { size: _size, ...request } = this.#asMarket(this.#limit(market.rules.symbol, 'buy', 0n, 1n));
    const exact = writeDecimal(atoms * market.quoteAtom);
    const finer = exact.includes('.') ? `${exact}${'0'.repeat(20)}9` : `${exact}.000000000000000000000001`;
    return { ...request, quoteAmount: this.#dice.chance(0.2) ? finer : exact };
  }

  #sizeText(symbol: string, steps: bigint): string {
    return writeDecimal(max(this.#minOrderSteps(symbol), steps) * this.#book.market(symbol)!.step);
  }

  #minOrderSteps(symbol: string): bigint {
    const { rules, step } = this.#book.market(symbol)!;
    if (rules.minOrderSize === null) return 1n;
    return (unitsOf(rules.minOrderSize) + step - 1n) / step;
  }

  #usualSteps(symbol: string): bigint {
    return symbol === this.#profile.busy[0] ? this.#between(3, 60) : this.#between(1, 90);
  }

  /** The best price of a side without the wallet's own orders, or a price slightly behind it. */
  #best(symbol: string, side: Side, wallet: string): string | undefined {
    const others = this.#book.book(symbol, side).filter((order) => order.wallet !== wallet);
    const order = others[Math.min(this.#dice.below(3), others.length - 1)];
    return order && writeDecimal(order.price!);
  }

  /** Steps on a side up to a price, without the wallet's own orders. */
  #depth(symbol: string, side: Side, wallet?: string, price?: string): bigint {
    const limit = price === undefined ? null : unitsOf(price);
    const isWithin = (order: ReferenceOrder): boolean =>
      limit === null || (side === 'sell' ? order.price! <= limit : order.price! >= limit);
    return this.#book
      .book(symbol, side)
      .filter((order) => order.wallet !== wallet && isWithin(order))
      .reduce((sum, { size, filled }) => sum + (size - filled) / this.#book.market(symbol)!.step, 0n);
  }
}

/** Returns a change that restores a market's original rules. */
function wayBack(rules: Rules, markets: readonly Rules[]): Partial<Rules> | undefined {
  const { status, minOrderSize, maxOrderSize, minNotional } = markets.find(
    ({ symbol }) => symbol === rules.symbol,
  )!;
  if (rules.status !== status) return { status };
  if (!rules.tradingEnabled) return { tradingEnabled: true };
  if (!rules.sellEnabled && rules.symbol !== BUY_ONLY) return { sellEnabled: true };
  if (rules.symbol === NEVER_TRADED && rules.referencePrice !== null) return { referencePrice: null };
  if (rules.maxOrderSize !== maxOrderSize) return { maxOrderSize };
  if (rules.minNotional !== minNotional) return { minNotional };
  return rules.minOrderSize === minOrderSize ? undefined : { minOrderSize };
}
