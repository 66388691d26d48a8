/**
 * The exchange as its documentation describes it, written for clarity instead of speed: arrays, linear scans, BigInt.
 * The engine must answer, write and publish exactly what this reference does.
 */

import type { ErrorCode, OperatorCode } from '../../../src/domain/errors.ts';
import type { MovementKind } from '../../../src/domain/event.ts';
import type {
  EndReason,
  OrderStatus,
  OrderType,
  RejectReason,
  Side,
  TimeInForce,
} from '../../../src/domain/order.ts';
import type { Take } from '../../../src/domain/withdrawal-states.ts';
import { readDecimal, unitsOf, writeDecimal } from './decimals.ts';
import {
  baseAtoms,
  EXACT_LIMIT,
  feeAtoms,
  marketOf,
  notionalAtoms,
  type ReferenceMarket,
  type Request,
  type Rules,
  refusalByRules,
} from './reference-rules.ts';

/** Upper bound of an asset's supply in atoms. */
const SUPPLY_LIMIT = 2n ** 62n;
/** Deadlines before this one have passed. */
const FAR_AHEAD_MS = 2 ** 46;
const LONGEST_TAKE_MS = 7 * 86_400_000;

export interface ReferenceOrder {
  /** Serial number among all recorded orders; stands for the engine's id. */
  readonly number: number;
  readonly wallet: string;
  readonly market: string;
  readonly side: Side;
  readonly type: OrderType;
  readonly timeInForce: TimeInForce;
  readonly postOnly: boolean;
  readonly leverage: string | null;
  /** Units; null on a market order. */
  readonly price: bigint | null;
  /** Units. */
  size: bigint;
  filled: bigint;
  status: OrderStatus;
  reason: EndReason | null;
  readonly clientOrderId: string | null;
}

export interface ReferenceTrade {
  readonly maker: number;
  readonly makerWallet: string;
  readonly price: bigint;
  readonly size: bigint;
  readonly feeAtoms: bigint;
}

export interface ClosedRecord {
  readonly number: number;
  readonly wallet: string;
  readonly market: string;
  readonly clientOrderId: string | null;
  readonly status: OrderStatus;
  readonly reason: EndReason | null;
}

export interface MovementRecord {
  readonly kind: MovementKind;
  readonly wallet: string;
  readonly asset: string;
  readonly atoms: bigint;
  readonly reference: string;
  /** Reference of the deposit that a withdrawal reverses. */
  readonly reverses?: string;
  /** Transaction that paid a confirmed withdrawal. */
  readonly txid?: string;
  /** Part that the wallet owes since, or that paid what it owed; absent for nothing. */
  readonly owed?: bigint;
}

/** A pending withdrawal, by its request. */
export type Requested = Pick<MovementRecord, 'reference' | 'wallet' | 'asset'>;

export type TakeAnswer = 'changed' | 'unchanged' | { readonly known: MovementRecord } | Refused;

/** Movements of one name share their references. */
const NAMES: Readonly<Record<MovementKind, string>> = {
  credited: 'deposit',
  dropped: 'deposit',
  announced: 'announcement',
  debited: 'withdrawal',
  requested: 'withdrawal',
  confirmed: 'end',
  returned: 'end',
};

const isEnd = (kind: MovementKind): boolean => kind === 'confirmed' || kind === 'returned';

/** Expected event of the engine's stream, with amounts in units. */
export type ReferenceEvent =
  | {
      readonly kind: 'order_placed';
      readonly order: ReferenceOrder;
      readonly trades: readonly ReferenceTrade[];
      readonly expired: readonly ClosedRecord[];
    }
  | { readonly kind: 'orders_closed'; readonly orders: readonly ClosedRecord[] }
  | MovementRecord
  | (Requested & { readonly kind: 'withdrawal_taken'; readonly take: Take })
  | (Requested & { readonly kind: 'withdrawal_released' })
  | { readonly kind: 'account_held' | 'account_released'; readonly wallet: string }
  | { readonly kind: 'terms_accepted'; readonly wallet: string; readonly version: string }
  | { readonly kind: 'terms_required'; readonly version: string | null }
  | { readonly kind: 'trading_paused' | 'trading_resumed' }
  | { readonly kind: 'market_changed'; readonly market: Rules; readonly version: number };

/** Codes of operators' commands are not in the public table. */
export type Refused = { readonly refused: ErrorCode | OperatorCode };

/** An order that another one replaces. */
export interface ReplacedOrder {
  /** Null: an id that no order has. */
  readonly number: number | null;
  /** Size that it must have filled; undefined: any. */
  readonly filledSize: string | undefined;
}

export type PlaceAnswer =
  | {
      readonly placed: ReferenceOrder;
      readonly trades: readonly ReferenceTrade[];
      readonly replaced?: ClosedRecord;
      /** Not part of an answer: why the match ended, and which orders it met. */
      readonly plan: Pick<Plan, 'ended' | 'met' | 'expired'>;
    }
  | { readonly replayed: number }
  | Refused;

interface Account {
  available: bigint;
  reserved: bigint;
}

/** The result of a match, computed before any state is changed. */
interface Plan {
  readonly fills: (ReferenceTrade & { readonly order: ReferenceOrder; readonly notional: bigint })[];
  /** Own orders that self-trade prevention removes from the book. */
  readonly expired: ReferenceOrder[];
  filled: bigint;
  notional: bigint;
  fee: bigint;
  met: number;
  crosses: boolean;
  isOutOfBudget: boolean;
  /** The first refusal that the walk met; more makers cannot change it. */
  refused: ErrorCode | undefined;
  ended: 'book' | 'size' | 'own_order' | 'makers' | 'budget';
}

export interface ReferenceLimits {
  readonly maxMakers: number;
  readonly maxLiveOrders: number;
}

export class ReferenceExchange {
  /** Live orders, oldest first. */
  live: ReferenceOrder[] = [];
  readonly markets: ReferenceMarket[] = [];
  readonly scales = new Map<string, number>();
  readonly house = new Map<string, bigint>();
  /** Credits minus debits. */
  readonly supply = new Map<string, bigint>();
  readonly held = new Set<string>();
  isPaused = false;
  requiredTerms: string | null = null;

  readonly limits: ReferenceLimits;
  readonly #accounts = new Map<string, Account>();
  readonly #acceptedTerms = new Map<string, string>();
  /** `wallet id` -> order number; `kind reference` -> movement. */
  readonly #clientOrders = new Map<string, number>();
  readonly #movements = new Map<string, MovementRecord>();
  /** Atoms that reversals took back of each deposit. */
  readonly #reversed = new Map<string, bigint>();
  /** Atoms that wallets owe, by `wallet asset`. */
  readonly owed = new Map<string, bigint>();
  /** Requested withdrawals, announced deposits and deposits that arrived, ended or not. */
  readonly requests: MovementRecord[] = [];
  readonly announced: MovementRecord[] = [];
  readonly credits: MovementRecord[] = [];
  /** Who pays each pending withdrawal, by its reference. */
  readonly takes = new Map<string, Take>();
  /** Unix milliseconds, by which takes may be too late or too long. */
  nowMs = 0;
  /** By asset: requested, and neither confirmed nor returned. */
  readonly pending = new Map<string, bigint>();
  #events: ReferenceEvent[] = [];
  #recorded = 0;

  constructor(limits: ReferenceLimits) {
    this.limits = limits;
  }

  /** Returns the events since the last call. */
  takeEvents(): ReferenceEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Number of recorded orders. */
  get recorded(): number {
    return this.#recorded;
  }

  market(symbol: string): ReferenceMarket | undefined {
    return this.markets.find(({ rules }) => rules.symbol === symbol);
  }

  account(wallet: string, asset: string): Account {
    const key = `${wallet} ${asset}`;
    let account = this.#accounts.get(key);
    if (account === undefined) {
      account = { available: 0n, reserved: 0n };
      this.#accounts.set(key, account);
    }
    return account;
  }

  hasAcceptedTerms(wallet: string): boolean {
    return this.requiredTerms === null || this.#acceptedTerms.get(wallet) === this.requiredTerms;
  }

  liveOf(wallet: string): ReferenceOrder[] {
    return this.live.filter((order) => order.wallet === wallet);
  }

  /** A side of a market's book: best price first, and oldest first at each price. */
  book(symbol: string, side: Side): ReferenceOrder[] {
    const direction = side === 'sell' ? 1n : -1n;
    return this.live
      .filter((order) => order.market === symbol && order.side === side)
      .sort((a, b) => Number((a.price! - b.price!) * direction) || a.number - b.number);
  }

  // --- placing -------------------------------------------------------------------------------------------

  /** @param replaces the order that is replaced, if any */
  place(wallet: string, request: Request, isRestricted: boolean, replaces?: ReplacedOrder): PlaceAnswer {
    const replayed = this.#clientOrders.get(`${wallet} ${request.clientOrderId}`);
    if (request.clientOrderId !== null && replayed !== undefined) return { replayed };
    if (this.isPaused) return { refused: 'OPERATIONAL_PAUSED' };
    if (isRestricted) return { refused: 'RESTRICTED_JURISDICTION' };
    if (!this.hasAcceptedTerms(wallet)) return { refused: 'STALE_TERMS_VERSION' };
    if (this.held.has(wallet)) return { refused: 'CUSTODY_HOLD' };
    const market = this.market(request.market);
    const refused = refusalByRules(request, market);
    if (refused !== undefined) return { refused };
    if ((request.expiresAfter ?? FAR_AHEAD_MS) < FAR_AHEAD_MS) return { refused: 'BAD_REQUEST' };
    if (replaces !== undefined) return this.#replace(wallet, request, market!, replaces);
    return this.#match(orderOf(wallet, request), request, market!);
  }

  /** Closes an order and places another one. Unless that one is accepted, the first is put back as it was. */
  #replace(wallet: string, request: Request, market: ReferenceMarket, replaces: ReplacedOrder): PlaceAnswer {
    const before = this.live;
    const old = before.find(({ number }) => number === replaces.number);
    if (old === undefined || old.wallet !== wallet || old.market !== request.market)
      return { refused: 'ORDER_NOT_FOUND' };
    const believed = replaces.filledSize === undefined ? undefined : readDecimal(replaces.filledSize);
    if (believed !== undefined && !(believed.isExact && believed.units === old.filled))
      return { refused: 'CONFLICT' };
    const { status, reason } = old;
    const account = this.account(wallet, old.side === 'buy' ? market.quote : market.base);
    const reserved = account.reserved;
    const replaced = this.#close(old, 'replaced');
    const freed = reserved - account.reserved;
    const at = this.#events.length;
    const answer = this.#match(orderOf(wallet, request), request, market);
    if ('placed' in answer && answer.placed.status !== 'rejected') {
      this.#events.splice(at, 0, { kind: 'orders_closed', orders: [replaced] });
      return { ...answer, replaced };
    }
    this.live = before;
    account.reserved += freed;
    account.available -= freed;
    Object.assign(old, { status, reason });
    return answer;
  }

  #match(order: ReferenceOrder, request: Request, market: ReferenceMarket): PlaceAnswer {
    const budget = request.quoteAmount === undefined ? null : readDecimal(request.quoteAmount).units;
    const plan = this.#plan(order, market, budget === null ? null : budget / market.quoteAtom);
    if (plan.refused !== undefined) return { refused: plan.refused };

    const restsIfAccepted =
      order.type === 'limit' &&
      order.timeInForce === 'GTC' &&
      plan.ended === 'book' &&
      plan.filled < order.size;
    const rest = restsIfAccepted ? order.size - plan.filled : 0n;
    const isInexact =
      plan.notional + plan.fee + (order.side === 'buy' ? reservation(market, order, rest) : 0n) >=
      EXACT_LIMIT;

    if (budget === null && isInexact) return { refused: 'ORDER_ABOVE_MAX_SIZE' };
    if (market.rules.status === 'pre_open' && plan.crosses) return { refused: 'MARKET_PRE_OPEN' };
    if (order.type === 'market' && budget === null && !this.#hasMark(market)) {
      return { refused: 'NO_REFERENCE_PRICE' };
    }
    if (budget !== null) {
      const refused = refusalOfQuoteOrder(plan, market);
      if (refused !== undefined) return { refused };
      order.size = plan.filled;
    }

    const rejectReason = reasonToReject(order, plan);
    const rests = rejectReason === null && rest > 0n;
    const payer = this.account(order.wallet, order.side === 'buy' ? market.quote : market.base);
    if (payer.available < needed(order, market, plan, rejectReason, rest)) {
      return { refused: 'INSUFFICIENT_BALANCE' };
    }
    if (rests && this.liveOf(order.wallet).length >= this.limits.maxLiveOrders) {
      return { refused: 'BAD_REQUEST' };
    }
    return this.#execute(order, market, plan, rejectReason, rests);
  }

  /** Matches against the other side of the book, best price first. */
  #plan(order: ReferenceOrder, market: ReferenceMarket, budgetAtoms: bigint | null): Plan {
    const plan: Plan = {
      fills: [],
      expired: [],
      filled: 0n,
      notional: 0n,
      fee: 0n,
      met: 0,
      crosses: false,
      isOutOfBudget: false,
      refused: undefined,
      ended: 'book',
    };
    const { available } = this.account(order.wallet, order.side === 'buy' ? market.quote : market.base);
    for (const maker of this.book(order.market, order.side === 'buy' ? 'sell' : 'buy')) {
      const price = maker.price!;
      if (order.price !== null && (order.side === 'buy' ? price > order.price : price < order.price)) break;
      plan.crosses = true;
      if (order.postOnly || market.rules.status === 'pre_open') break;
      if (plan.met === this.limits.maxMakers) {
        plan.ended = 'makers';
        break;
      }
      plan.met += 1;
      const wanted =
        budgetAtoms === null
          ? order.size - plan.filled
          : stepsFor(market, price, budgetAtoms - plan.notional) * market.step;
      if (maker.wallet === order.wallet) {
        // A budget too small for another step is used up, so no own order can be met.
        if (wanted === 0n && plan.filled > 0n) break;
        if (market.rules.selfTrade !== 'expire_taker') plan.expired.push(maker);
        if (market.rules.selfTrade === 'expire_maker') continue;
        plan.ended = 'own_order';
        break;
      }
      const offered = maker.size - maker.filled;
      const size = wanted < offered ? wanted : offered;
      if (budgetAtoms !== null && wanted < offered) plan.isOutOfBudget = true;
      if (size > 0n) addFill(plan, market, maker, size);
      plan.refused = refusalOfFills(order, plan, market, budgetAtoms !== null, available);
      if (plan.refused !== undefined) break;
      if (plan.isOutOfBudget || (budgetAtoms === null && plan.filled === order.size)) {
        plan.ended = plan.isOutOfBudget ? 'budget' : 'size';
        break;
      }
    }
    return plan;
  }

  /**
   * True if the market has a mark: the book's mid, the last execution, the only quoted side or the operator's price.
   */
  #hasMark(market: ReferenceMarket): boolean {
    const { symbol, referencePrice } = market.rules;
    const isQuoted = this.live.some((order) => order.market === symbol);
    return isQuoted || market.last !== null || referencePrice !== null;
  }

  #execute(
    order: ReferenceOrder,
    market: ReferenceMarket,
    plan: Plan,
    rejectReason: RejectReason | null,
    rests: boolean,
  ): PlaceAnswer {
    const accepted = { ...order, number: this.#recorded++ };
    if (accepted.clientOrderId !== null) {
      this.#clientOrders.set(`${accepted.wallet} ${accepted.clientOrderId}`, accepted.number);
    }
    const { ended, met } = plan;
    if (rejectReason !== null) {
      accepted.status = 'rejected';
      accepted.reason = rejectReason;
      this.#record({ kind: 'order_placed', order: { ...accepted }, trades: [], expired: [] });
      return { placed: { ...accepted }, trades: [], plan: { ended, met, expired: [] } };
    }
    const expired = plan.expired.map((own) => this.#close(own, 'self_trade_prevented'));
    for (const fill of plan.fills) this.#settle(accepted, market, fill);
    accepted.filled = plan.filled;
    if (rests) this.#rest(accepted, market);
    accepted.status = statusOf(accepted, plan, rests);
    if (!rests && accepted.filled < accepted.size) accepted.reason = reasonToDrop(plan);
    const trades = plan.fills.map(({ order: _maker, notional: _notional, ...trade }) => trade);
    this.#record({ kind: 'order_placed', order: { ...accepted }, trades, expired });
    return { placed: { ...accepted }, trades, plan: { ended, met, expired: plan.expired } };
  }

  /** Pays both sides of one fill, and the fee to the house. */
  #settle(taker: ReferenceOrder, market: ReferenceMarket, fill: Plan['fills'][number]): void {
    const maker = fill.order;
    const base = baseAtoms(market, fill.size);
    const [buyer, seller] = taker.side === 'buy' ? [taker, maker] : [maker, taker];
    const purse = (order: ReferenceOrder): 'reserved' | 'available' =>
      order === maker ? 'reserved' : 'available';
    this.account(buyer.wallet, market.quote)[purse(buyer)] -= fill.notional;
    this.account(seller.wallet, market.quote).available += fill.notional;
    this.account(seller.wallet, market.base)[purse(seller)] -= base;
    this.account(buyer.wallet, market.base).available += base;
    this.account(taker.wallet, market.quote).available -= fill.feeAtoms;
    this.house.set(market.quote, this.house.get(market.quote)! + fill.feeAtoms);
    market.last = fill.price;
    maker.filled += fill.size;
    maker.status = maker.filled === maker.size ? 'filled' : 'partially_filled';
    if (maker.status === 'filled') this.live = this.live.filter((order) => order !== maker);
  }

  #rest(order: ReferenceOrder, market: ReferenceMarket): void {
    this.live.push(order);
    const account = this.account(order.wallet, order.side === 'buy' ? market.quote : market.base);
    const atoms = reservation(market, order, order.size - order.filled);
    account.available -= atoms;
    account.reserved += atoms;
  }

  // --- closing -------------------------------------------------------------------------------------------

  /** @param wallet null if an operator closes the order, whatever its wallet */
  closeOne(wallet: string | null, number: number, reason: EndReason): ClosedRecord | Refused {
    const order = this.live.find((one) => one.number === number);
    if (order === undefined || (wallet !== null && order.wallet !== wallet)) {
      return { refused: 'ORDER_NOT_FOUND' };
    }
    const closed = this.#close(order, reason);
    this.#record({ kind: 'orders_closed', orders: [closed] });
    return closed;
  }

  /** Closes live orders of one wallet or of all (null), in one market or in all (null). Writes one event per market. */
  closeAll(wallet: string | null, symbol: string | null, reason: EndReason): ClosedRecord[] {
    const closed: ClosedRecord[] = [];
    for (const { rules } of this.markets) {
      if (symbol !== null && rules.symbol !== symbol) continue;
      const orders = this.live
        .filter((order) => order.market === rules.symbol && (wallet === null || order.wallet === wallet))
        .map((order) => this.#close(order, reason));
      if (orders.length > 0) this.#record({ kind: 'orders_closed', orders });
      closed.push(...orders);
    }
    return closed;
  }

  #close(order: ReferenceOrder, reason: EndReason): ClosedRecord {
    const market = this.market(order.market)!;
    const atoms = reservation(market, order, order.size - order.filled);
    const account = this.account(order.wallet, order.side === 'buy' ? market.quote : market.base);
    account.reserved -= atoms;
    account.available += atoms;
    this.live = this.live.filter((one) => one !== order);
    const { number, wallet, clientOrderId } = order;
    const cancelled = order.filled > 0n ? 'partially_filled_cancelled' : 'cancelled';
    order.status = reason === 'operator_voided' ? 'failed' : cancelled;
    order.reason = reason;
    return { number, wallet, market: order.market, clientOrderId, status: order.status, reason };
  }

  // --- accounts and switches ------------------------------------------------------------------------------

  /**
   * Returns the movement, or an earlier one with the same reference.
   * @param takenBy name of whoever took the withdrawal that is confirmed
   */
  move(
    movement: MovementRecord,
    takenBy = '',
  ): { moved: MovementRecord } | { known: MovementRecord } | Refused {
    const { kind, wallet, asset, atoms, reference } = movement;
    const name = `${NAMES[kind]} ${reference}`;
    const known = this.#movements.get(name);
    if (known !== undefined) return { known };
    if (kind === 'announced' || kind === 'dropped') return this.#announce(movement, name);
    const taken = isEnd(kind) ? this.takes.get(reference) : undefined;
    if (taken !== undefined && (kind === 'returned' || taken.by !== takenBy))
      return { refused: 'PAYMENT_UNDER_WAY' };
    const account = this.account(wallet, asset);
    const supply = this.supply.get(asset)!;
    if (kind === 'credited' && supply + atoms > SUPPLY_LIMIT) return { refused: 'SUPPLY_LIMIT' };
    const leaves = kind === 'debited' || kind === 'requested';
    const { reverses } = movement;
    if (reverses !== undefined && !this.#reverse(movement)) return { refused: 'ALREADY_REVERSED' };
    if (leaves && reverses === undefined) {
      const refused = this.#refusalToPay(wallet);
      if (refused !== undefined) return { refused };
      if (account.available < atoms) return { refused: 'INSUFFICIENT_BALANCE' };
    }
    const owed = this.#owe(movement, account.available);
    if (leaves) account.available -= atoms - owed;
    if (kind === 'credited' || kind === 'returned') account.available += atoms - owed;
    if (kind === 'credited') this.supply.set(asset, supply + atoms - owed);
    if (kind === 'debited') this.supply.set(asset, supply - atoms + owed);
    if (kind === 'confirmed') this.supply.set(asset, supply - atoms);
    if (kind === 'returned') this.supply.set(asset, supply - owed);
    if (kind === 'requested') this.requests.push(movement);
    if (kind === 'credited') this.credits.push(movement);
    const pending = this.pending.get(asset) ?? 0n;
    if (kind === 'requested') this.pending.set(asset, pending + atoms);
    if (isEnd(kind)) this.pending.set(asset, pending - atoms);
    if (isEnd(kind)) this.takes.delete(reference);
    const moved = owed === 0n ? movement : { ...movement, owed };
    this.#movements.set(name, moved);
    this.#record(moved);
    return { moved };
  }

  /** A deposit is dropped only after it was announced, and announced only before it ends. */
  #announce(
    movement: MovementRecord,
    name: string,
  ): { moved: MovementRecord } | { known: MovementRecord } | Refused {
    const { kind, reference } = movement;
    const ended = this.#movements.get(`deposit ${reference}`);
    if (kind === 'announced' && ended !== undefined) return { known: ended };
    const wasAnnounced = this.#movements.has(`announcement ${reference}`);
    if (kind === 'dropped' && !wasAnnounced) return { refused: 'UNKNOWN_DEPOSIT' };
    if (kind === 'announced') this.announced.push(movement);
    this.#movements.set(name, movement);
    this.#record(movement);
    return { moved: movement };
  }

  /** Refusal of every withdrawal of the wallet, whatever its amount. */
  #refusalToPay(wallet: string): 'CUSTODY_HOLD' | 'RECEIVABLE_OPEN' | undefined {
    if (this.held.has(wallet)) return 'CUSTODY_HOLD';
    const owes = [...this.owed].some(([of, owed]) => owed > 0n && of.startsWith(`${wallet} `));
    return owes ? 'RECEIVABLE_OPEN' : undefined;
  }

  /** Takes a requested withdrawal, so that nobody else pays or returns it. Who took it may change the time. */
  take({ reference, wallet, asset }: Requested, take: Take): TakeAnswer {
    const taken = this.takes.get(reference);
    if (taken !== undefined && (taken.by !== take.by || taken.key !== take.key))
      return { refused: 'PAYMENT_UNDER_WAY' };
    if (taken?.untilMs === take.untilMs) return 'unchanged';
    const known = this.#movements.get(`end ${reference}`);
    if (known !== undefined) return { known };
    const refused = taken === undefined ? this.#refusalToPay(wallet) : undefined;
    if (refused !== undefined) return { refused };
    const aheadMs = take.untilMs - this.nowMs;
    if (aheadMs <= 0 || aheadMs > LONGEST_TAKE_MS) return { refused: 'VALIDATION_ERROR' };
    this.takes.set(reference, take);
    this.#record({ kind: 'withdrawal_taken', reference, wallet, asset, take });
    return 'changed';
  }

  giveUp({ reference, wallet, asset }: Requested, by: string): TakeAnswer {
    const taken = this.takes.get(reference);
    if (taken === undefined) return 'unchanged';
    if (taken.by !== by) return { refused: 'PAYMENT_UNDER_WAY' };
    this.takes.delete(reference);
    this.#record({ kind: 'withdrawal_released', reference, wallet, asset });
    return 'changed';
  }

  /** Atoms of a deposit that no reversal took back. */
  leftOf(reference: string): bigint {
    const deposit = this.#movements.get(`deposit ${reference}`);
    return deposit?.kind === 'credited' ? deposit.atoms - (this.#reversed.get(reference) ?? 0n) : 0n;
  }

  /** @returns false if less than the amount is left of the deposit */
  #reverse({ reverses, atoms, wallet, asset }: MovementRecord): boolean {
    const deposit = this.#movements.get(`deposit ${reverses}`);
    if (deposit?.kind !== 'credited' || deposit.wallet !== wallet || deposit.asset !== asset) return false;
    if (atoms > this.leftOf(reverses!)) return false;
    this.#reversed.set(reverses!, (this.#reversed.get(reverses!) ?? 0n) + atoms);
    return true;
  }

  /** Returns what the wallet owes since a movement, or pays of what it owed. */
  #owe({ kind, wallet, asset, atoms, reverses }: MovementRecord, available: bigint): bigint {
    const of = `${wallet} ${asset}`;
    const before = this.owed.get(of) ?? 0n;
    if (reverses !== undefined) {
      const lacks = atoms > available ? atoms - available : 0n;
      this.owed.set(of, before + lacks);
      return lacks;
    }
    if (kind !== 'credited' && kind !== 'returned') return 0n;
    const paid = before < atoms ? before : atoms;
    this.owed.set(of, before - paid);
    return paid;
  }

  hold(wallet: string): ClosedRecord[] {
    if (!this.held.has(wallet)) this.#record({ kind: 'account_held', wallet });
    this.held.add(wallet);
    return this.closeAll(wallet, null, 'custody_hold');
  }

  release(wallet: string): void {
    if (this.held.delete(wallet)) this.#record({ kind: 'account_released', wallet });
  }

  pause(isPaused: boolean): void {
    if (this.isPaused !== isPaused) this.#record({ kind: isPaused ? 'trading_paused' : 'trading_resumed' });
    this.isPaused = isPaused;
  }

  requireTerms(version: string | null): void {
    if (this.requiredTerms !== version) this.#record({ kind: 'terms_required', version });
    this.requiredTerms = version;
  }

  acceptTerms(wallet: string, version: string): Refused | undefined {
    if (this.requiredTerms !== version) return { refused: 'STALE_TERMS_VERSION' };
    if (this.#acceptedTerms.get(wallet) !== version) {
      this.#record({ kind: 'terms_accepted', wallet, version });
    }
    this.#acceptedTerms.set(wallet, version);
    return undefined;
  }

  // --- markets -------------------------------------------------------------------------------------------

  /** Publishes a market; its assets must have scales. */
  publish(rules: Rules): void {
    const market = marketOf(rules, this.markets.length, this.scales);
    this.markets.push(market);
    for (const asset of [market.base, market.quote]) {
      this.house.set(asset, this.house.get(asset) ?? 0n);
      this.supply.set(asset, this.supply.get(asset) ?? 0n);
    }
    this.#record({ kind: 'market_changed', market: rules, version: 1 });
  }

  change(symbol: string, change: Partial<Rules>): Refused | undefined {
    const market = this.market(symbol);
    if (market === undefined) return { refused: 'MARKET_NOT_FOUND' };
    const rules = { ...market.rules, ...change };
    const { minOrderSize: min, maxOrderSize: max, feeBps } = rules;
    if (feeBps < 0 || feeBps > 1000) return { refused: 'INVALID_MARKET' };
    if (min !== null && max !== null && unitsOf(min) > unitsOf(max)) return { refused: 'INVALID_MARKET' };
    const isQuoted = this.live.some((order) => order.market === symbol);
    if (rules.status === 'delisted' && isQuoted) return { refused: 'BOOK_NOT_EMPTY' };
    market.rules = inPlainDecimals(rules);
    market.version += 1;
    this.#record({ kind: 'market_changed', market: market.rules, version: market.version });
    return undefined;
  }

  #record(event: ReferenceEvent): void {
    this.#events.push(event);
  }
}

// --- what an order comes to -------------------------------------------------------------------------------

function orderOf(owner: string, request: Request): ReferenceOrder {
  const { market, side, type, timeInForce, postOnly, leverage, clientOrderId } = request;
  return {
    number: -1,
    wallet: owner,
    market,
    side,
    type,
    timeInForce,
    postOnly,
    leverage,
    clientOrderId,
    price: type === 'market' ? null : readDecimal(request.price!).units,
    size: request.size === undefined ? 0n : readDecimal(request.size).units,
    filled: 0n,
    status: 'open',
    reason: null,
  };
}

/** Number of whole steps that an amount of quote atoms buys at a price. */
const stepsFor = (market: ReferenceMarket, price: bigint, atoms: bigint): bigint =>
  atoms / notionalAtoms(market, price, market.step);

function addFill(plan: Plan, market: ReferenceMarket, maker: ReferenceOrder, size: bigint): void {
  const price = maker.price!;
  const notional = notionalAtoms(market, price, size);
  const fee = feeAtoms(market, notional);
  plan.filled += size;
  plan.notional += notional;
  plan.fee += fee;
  const { number, wallet: makerWallet } = maker;
  plan.fills.push({ order: maker, notional, maker: number, makerWallet, price, size, feeAtoms: fee });
}

/** Atoms reserved for `remaining`: quote atoms for a bid, base atoms for an ask. */
const reservation = (market: ReferenceMarket, order: ReferenceOrder, remaining: bigint): bigint =>
  order.side === 'buy' && remaining > 0n
    ? notionalAtoms(market, order.price!, remaining)
    : baseAtoms(market, remaining);

/**
 * Refusal that follows from the fills up to one maker, whatever comes after it. A size that is not known yet must reach
 * the minimum before the funds count.
 */
function refusalOfFills(
  order: ReferenceOrder,
  plan: Plan,
  market: ReferenceMarket,
  isByAmount: boolean,
  available: bigint,
): ErrorCode | undefined {
  const { minOrderSize, maxOrderSize } = market.rules;
  const base = baseAtoms(market, plan.filled);
  const cost = order.side === 'buy' ? plan.notional + plan.fee : base;
  const isKnown = !isByAmount || minOrderSize === null || plan.filled >= unitsOf(minOrderSize);
  if (isByAmount && maxOrderSize !== null && plan.filled > unitsOf(maxOrderSize))
    return 'ORDER_ABOVE_MAX_SIZE';
  if (plan.notional + plan.fee >= EXACT_LIMIT || base >= EXACT_LIMIT)
    return isKnown ? 'ORDER_ABOVE_MAX_SIZE' : 'ORDER_BELOW_MIN_SIZE';
  return isKnown && cost > available ? 'INSUFFICIENT_BALANCE' : undefined;
}

function refusalOfQuoteOrder(plan: Plan, market: ReferenceMarket): ErrorCode | undefined {
  const { minOrderSize } = market.rules;
  if (plan.filled === 0n) return plan.isOutOfBudget ? 'QUOTE_AMOUNT_TOO_SMALL' : 'NO_LIQUIDITY';
  if (minOrderSize !== null && plan.filled < unitsOf(minOrderSize)) return 'ORDER_BELOW_MIN_SIZE';
  return undefined;
}

function reasonToReject(order: ReferenceOrder, plan: Plan): RejectReason | null {
  if (order.postOnly && plan.crosses) return 'POST_ONLY_WOULD_CROSS';
  if (order.timeInForce === 'FOK' && plan.filled < order.size) return 'FOK_NOT_FILLED';
  return null;
}

/**
 * Atoms that must be available: the exact cost of the fills, their fees and the rest. Rejected orders are special
 * cases.
 */
function needed(
  order: ReferenceOrder,
  market: ReferenceMarket,
  plan: Plan,
  rejectReason: RejectReason | null,
  rest: bigint,
): bigint {
  // A crossing post-only order needs the balance that it would need to rest.
  if (rejectReason === 'POST_ONLY_WOULD_CROSS') return reservation(market, order, order.size);
  // A limit FOK that cannot fill needs its whole size at its limit price, plus the fee.
  if (rejectReason === 'FOK_NOT_FILLED' && order.type === 'limit') {
    const whole = reservation(market, order, order.size);
    return order.side === 'buy' ? whole + feeAtoms(market, whole) : whole;
  }
  if (order.side === 'sell') return baseAtoms(market, plan.filled + rest);
  return plan.notional + plan.fee + reservation(market, order, rest);
}

function statusOf(order: ReferenceOrder, plan: Plan, rests: boolean): OrderStatus {
  if (order.filled === order.size) return 'filled';
  if (rests) return order.filled > 0n ? 'partially_filled' : 'resting';
  if (order.filled > 0n) return 'partially_filled_cancelled';
  return plan.ended === 'own_order' ? 'cancelled' : 'expired';
}

/** The reason why the rest of an order neither matched nor rests. */
function reasonToDrop({ ended }: Plan): EndReason {
  if (ended === 'own_order') return 'self_trade_prevented';
  return ended === 'makers' ? 'max_makers' : 'ioc_remainder';
}

function inPlainDecimals(rules: Rules): Rules {
  const plain = (text: string | null): string | null => (text === null ? null : writeDecimal(unitsOf(text)));
  const { minOrderSize, maxOrderSize, minNotional, referencePrice } = rules;
  return {
    ...rules,
    minOrderSize: plain(minOrderSize),
    maxOrderSize: plain(maxOrderSize),
    minNotional: plain(minNotional),
    referencePrice: plain(referencePrice),
  };
}
