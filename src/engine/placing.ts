/** Calls `place_orders.lua`: groups the orders of a market, packs them and reads their outcomes. */

import { Refusal } from '../domain/errors.ts';
import { type Market, SELF_TRADE_POLICIES } from '../domain/market.ts';
import { marketGrid } from '../domain/market-grid.ts';
import type { ClosedOrder, Order, Trade } from '../domain/order.ts';
import { EXACT_LIMIT, type OrderAmounts } from '../domain/placing.ts';
import { countOf, type Decimal, least } from '../domain/units.ts';
import { FORMS, SENT_NAMES } from '../order/bytes.ts';
import { type Members, maker, membersOf } from '../order/maker.ts';
import type { OrderRequest } from '../order/request.ts';
import { bytes16, type RecordOf } from '../redis/layout.ts';
import { type Claim, checkedAtMs, type EngineMoment, orderClaim } from './claims.ts';
import { exactNumber, REFERENCE_BYTES, readClosed, readFills, readOrderId, uint56Bytes } from './codec.ts';
import { CommandQueue, type Ticket, UNTOUCHED } from './command-queue.ts';
import type { EngineCore } from './core.ts';
import { type PlacedTerms, type SentTerms, TERMS_MEMBERS } from './event-codec.ts';
import { neverSent } from './failures.ts';
import type { SealedLook } from './filter-in-force.ts';
import { type FilterState, type ScriptClaim, scriptClaim } from './filter-layout.ts';
import { marketKeys } from './keys.ts';
import { refusalOf, Stale, sequenceIn } from './outcomes.ts';
import {
  OUTCOMES,
  PLACED,
  PLACING_CALL,
  PLACING_ORDER,
  PLACING_REPLY,
  type PlacingCall,
  SKIPPED_MAKERS,
} from './placing-call.ts';
import type { UntilCopied } from './script-runner.ts';
import { PLACE_ORDERS } from './scripts.ts';
import { rulesText } from './state.ts';

/** One order to place. */
export interface PlaceOrder {
  readonly wallet: string;
  readonly request: OrderRequest;
  /** True when the caller's country is blocked. */
  readonly restricted?: boolean;
  /** Id of the live order that this one replaces, as the caller gave it. */
  readonly replaces?: string | undefined;
  /** Amount that the replaced order must have filled. Absent: any amount. */
  readonly filledSize?: Decimal | undefined;
  /** Moment of an earlier `unchecked` outcome. Postgres was asked after it, and did not know the client order id. */
  readonly checked?: EngineMoment;
  /** Ticket of that outcome: the order keeps its place among those that wait. */
  readonly ticket?: Ticket;
}

export type Placement =
  /** The order as it stands after its match. */
  | {
      readonly outcome: 'placed';
      readonly order: Order;
      /** The market, with the rules that applied to the order. */
      readonly market: Market;
      readonly trades: Trade[];
      /** The order that it replaced; null also when the engine refused the order. */
      readonly replaced: ClosedOrder | null;
    }
  /** The client order id already belongs to this order. */
  | { readonly outcome: 'claimed'; readonly orderId: string }
  /** Only Postgres can tell if the client order id was used: look there, then place again with both. */
  | { readonly outcome: 'unchecked'; readonly moment: EngineMoment; readonly ticket: Ticket };

export interface OrderLimits {
  /** Maximum makers that one placement may meet. */
  readonly maxMakers: number;
  /** Maximum live orders of one wallet. */
  readonly maxLiveOrders: number;
}

/**
 * Number of makers after which a call begins no further order, so that its script stays as short as one large order.
 */
const MAX_MAKERS_OF_CALL = 200;

/** Skipped makers that cost as much as one order: 1.4 µs each against about 50 µs. */
const MAKERS_OF_A_TURN = 32;

interface MeasuredOrder {
  readonly command: PlaceOrder;
  readonly amounts: OrderAmounts;
}

/** A measured order that waits for its call. */
interface WaitingOrder extends MeasuredOrder {
  readonly claim: Claim | null;
  readonly look: SealedLook;
}

/** Outcome of one order: its bytes in the reply, and the epoch and time that all orders of its call share. */
interface Outcome {
  readonly bytes: Buffer;
  readonly epoch: number;
  readonly timeMs: number;
  /** Number of makers that the order met without a fill. */
  readonly skippedMakers: number;
  /** Live orders that the call let a wallet have. */
  readonly maxLive: number;
  readonly untilCopied: UntilCopied | undefined;
}

/** Code of the script for an order that would rest beside as many live ones as its wallet may have. */
const TOO_MANY_LIVE = 'TOO_MANY_LIVE';

const isPlaced = ([code]: Buffer): boolean => code === OUTCOMES.placed || code === OUTCOMES.replaced;
const codeOf = (outcome: Outcome): number => outcome.bytes[0]!;
const wordOf = ({ bytes }: Outcome): string => bytes.toString('utf8', 1);

/** Fields of a call that its market does not decide. */
type OfTheMoment = 'epoch' | 'minSequence' | 'layout' | 'maxLive';

export class PlacingCalls {
  readonly #core: EngineCore;
  readonly #limits: OrderLimits;
  readonly #rules = new WeakMap<Market, Omit<PlacingCall, OfTheMoment>>();
  readonly #queue: CommandQueue<WaitingOrder, Outcome>;

  constructor(core: EngineCore, limits: OrderLimits) {
    this.#core = core;
    this.#queue = new CommandQueue({
      run: (market, orders) => this.#call(market, orders),
      late: neverSent,
      cost: (_order, { skippedMakers }) => Math.floor(skippedMakers / MAKERS_OF_A_TURN),
      here: core.here,
      patienceMs: core.patienceMs,
    });
    this.#limits = limits;
  }

  /**
   * Places an order when its wallet's turn in its market has come.
   * @param ticket the same ticket each time that the order is tried
   * @throws Refusal when the script refused it; nothing was written then
   */
  async place(market: Market, order: WaitingOrder, ticket: Ticket): Promise<Placement | Stale> {
    const outcome = await this.#queue.add(market, order, ticket);
    // Outside the queue, whose next call has left by now.
    if (outcome.untilCopied !== undefined && codeOf(outcome) !== OUTCOMES.stale) await outcome.untilCopied();
    switch (codeOf(outcome)) {
      case OUTCOMES.placed:
      case OUTCOMES.replaced:
        return placedOf(market, order, outcome);
      case OUTCOMES.claimed:
        return { outcome: 'claimed', orderId: outcome.bytes.toString('hex', 1) };
      case OUTCOMES.unchecked:
        return uncheckedAt({ epoch: outcome.epoch, timeMs: Number(wordOf(outcome)) }, ticket);
      case OUTCOMES.stale:
        return new Stale(wordOf(outcome));
      case OUTCOMES.refused:
        throw this.#refusal(outcome);
      default:
        throw this.#core.scripts.failureOf('place_orders', wordOf(outcome));
    }
  }

  #refusal(outcome: Outcome): Error {
    const code = wordOf(outcome);
    if (code !== TOO_MANY_LIVE) return refusalOf(code);
    const { maxLive } = outcome;
    if (maxLive === this.#limits.maxLiveOrders)
      return new Refusal('BAD_REQUEST', `a wallet may have ${maxLive} live orders`);
    return new Refusal(
      'SERVICE_UNAVAILABLE',
      `the memory for live orders is nearly used up, and a wallet may have ${maxLive} of them for now: nothing was recorded`,
    );
  }

  async #call(market: Market, orders: WaitingOrder[]): Promise<(Outcome | Error | typeof UNTOUCHED)[]> {
    const { epoch, minSequence, tenure } = this.#core.lifecycle;
    const filter = this.#core.filter.state;
    const filters = new FilterKeys();
    // An order that cannot be packed fails alone.
    const packed = orders.map((order) => {
      // Another filter may have been sealed since the order's id was looked up.
      if (order.look.filter.text !== filter.text) return OTHER_FILTER;
      try {
        return packOrder(order, market, filter, filters, this.#core);
      } catch (error) {
        return error as Error;
      }
    });
    const sent = packed.filter((one): one is Buffer => one instanceof Buffer);
    if (sent.length === 0) return packed as (Error | Outcome)[];
    const maxLive = this.#core.memory.liveOrders(this.#limits.maxLiveOrders);
    const moment = { epoch, minSequence, layout: filter.text, maxLive };
    const call = PLACING_CALL.pack(Object.assign(moment, this.#rulesOf(market)));
    const input = { ...marketKeys(market), filters: filters.keys, call, orders: sent };
    const { reply, untilCopied } = await this.#core.scripts.runUncopied(PLACE_ORDERS, input);
    const { epoch: epochNow, time: timeMs } = PLACING_REPLY.unpack(reply.shared);
    const skippedMakers = readSkippedMakers(reply.shared);
    let next = 0;
    return packed.map((one) => {
      if (one instanceof Error || 'bytes' in one) return one;
      const met = skippedMakers?.get(next) ?? 0;
      const bytes = reply.results[next]!;
      next += 1;
      if (bytes[0] === OUTCOMES.untouched) return UNTOUCHED;
      if (isPlaced(bytes)) this.#core.lifecycle.saw(sequenceIn(bytes), tenure);
      return { bytes, epoch: epochNow, timeMs, skippedMakers: met, maxLive, untilCopied };
    });
  }

  #rulesOf(market: Market): Omit<PlacingCall, OfTheMoment> {
    let rules = this.#rules.get(market);
    if (rules === undefined) {
      const { minSteps, maxSteps } = marketGrid(market);
      rules = {
        marketNumber: market.number,
        basePerStep: exactNumber(market.baseAtomsPerStep),
        quotePerLot: exactNumber(market.quoteAtomsPerLot),
        feeBps: market.feeBps,
        selfTrade: SELF_TRADE_POLICIES.indexOf(market.selfTrade),
        minSteps: exactNumber(minSteps ?? 0n),
        maxSteps: exactNumber(maxSteps ?? EXACT_LIMIT),
        hasReference: market.referencePrice === null ? 0 : 1,
        preOpen: market.status === 'pre_open' ? 1 : 0,
        maxMakers: this.#limits.maxMakers,
        maxMakersOfCall: MAX_MAKERS_OF_CALL,
        rules: rulesText(market),
      };
      this.#rules.set(market, rules);
    }
    return rules;
  }
}

const OTHER_FILTER: Outcome = {
  bytes: Buffer.from([OUTCOMES.stale, ...Buffer.from('filter')]),
  epoch: 0,
  timeMs: 0,
  skippedMakers: 0,
  maxLive: 0,
  untilCopied: undefined,
};

export const uncheckedAt = (moment: EngineMoment, ticket: Ticket): Placement => ({
  outcome: 'unchecked',
  moment,
  ticket,
});

/** Reads the numbers of skipped makers, by the places of the orders in the call; undefined: no order skipped any. */
function readSkippedMakers(shared: Buffer): Map<number, number> | undefined {
  const size = SKIPPED_MAKERS.sizeAt(shared, 0);
  let at = PLACING_REPLY.sizeAt(shared, 0);
  if (at === shared.length) return undefined;
  const met = new Map<number, number>();
  for (; at < shared.length; at += size) {
    const { order, makers } = SKIPPED_MAKERS.unpack(shared.subarray(at));
    met.set(order, makers);
  }
  return met;
}

export const claimOf = ({ wallet, request }: PlaceOrder): Claim | null =>
  request.clientOrderId === null ? null : orderClaim(wallet, request.clientOrderId);

/** Keys of the claim filters that the orders of a call name, each once. */
class FilterKeys {
  readonly keys: string[] = [];

  indexOf(key: string): number {
    const index = this.keys.indexOf(key);
    return index >= 0 ? index : this.keys.push(key) - 1;
  }
}

const NO_CLAIM: ScriptClaim = scriptClaim(null, {
  text: '',
  current: { serial: 0, bytes: 8 },
  sealed: [],
});

/** An order with what its call says of it. */
interface Packing extends MeasuredOrder {
  readonly claim: Claim | null;
  readonly block: ScriptClaim;
  readonly filters: FilterKeys;
  readonly checkedAt: number;
}

/** Terms of an order as its call and its event carry them: of most fields, the members of its request. */
const SENT_TERMS: Members<[order: MeasuredOrder, market: Market], SentTerms> = {
  ...membersOf(SENT_NAMES, (name) => `command.request.${name}`),
  wallet: ({ command }) => command.wallet,
  market: (_order, market) => market.number,
  type: ({ command, amounts }) => {
    if (command.request.type === 'limit') return FORMS.limit;
    return amounts.sizeSteps === null ? FORMS.marketForBudget : FORMS.marketForSize;
  },
  priceTicks: ({ amounts }) => amounts.priceTicks,
};

const sentTerms = maker('sentTerms', SENT_TERMS);

const packedOrder = maker<[order: Packing, market: Market], RecordOf<typeof PLACING_ORDER>>('packedOrder', {
  ...SENT_TERMS,
  amount: ({ amounts }) => exactNumber(amounts.sizeSteps ?? amounts.budgetAtoms!),
  restricted: ({ command }) => (command.restricted ? 1 : 0),
  expiresAfter: ({ command }) => command.request.expiresAfter ?? 0,
  checkedAt: ({ checkedAt }) => checkedAt,
  filter: ({ claim, filters, block }) => (claim === null ? 0 : filters.indexOf(block.claimFilter)),
  mask: ({ block }) => block.filterMask,
  digest: ({ claim }) => claim?.field ?? NO_DIGEST,
  first: ({ block }) => `${block.filterOffset}`,
  last: ({ block }) => `${block.filterLast}`,
  replaces: ({ command }, market) => replacedBytes(command, market),
});

function packOrder(
  { command, amounts, claim }: WaitingOrder,
  market: Market,
  filter: FilterState,
  filters: FilterKeys,
  core: EngineCore,
): Buffer {
  const block = claim === null ? NO_CLAIM : scriptClaim(claim, filter);
  const checkedAt = checkedAtMs(command.checked, core.lifecycle);
  return PLACING_ORDER.pack(packedOrder({ command, amounts, claim, block, filters, checkedAt }, market));
}

const NO_DIGEST = Buffer.alloc(14);
const NO_REFERENCE = Buffer.alloc(0);
/** That of no order, for a text that is no id: the script refuses it in its place among the refusals. */
const UNKNOWN_REFERENCE = Buffer.alloc(REFERENCE_BYTES);

function replacedBytes({ replaces, filledSize }: PlaceOrder, market: Market): Buffer {
  if (replaces === undefined) return NO_REFERENCE;
  const reference = readOrderId(replaces)?.bytes ?? UNKNOWN_REFERENCE;
  if (filledSize === undefined) return reference;
  // No order fills an amount that is not a whole number of steps, nor 2^53 steps.
  const steps = countOf(filledSize, marketGrid(market).step) ?? EXACT_LIMIT;
  return Buffer.concat([reference, uint56Bytes(least(steps, EXACT_LIMIT))]);
}

const placedOrder = maker<[sent: SentTerms, placed: PlacedTerms, match: RecordOf<typeof PLACED>], Order>(
  'placedOrder',
  {
    ...TERMS_MEMBERS,
    status: (_sent, _placed, { status }) => status!,
    reason: (_sent, _placed, { reason }) => reason,
    filledSteps: (_sent, _placed, { filled }) => filled,
    updatedAtMs: (_sent, { timeMs }) => timeMs,
  },
);

function placedOf(market: Market, measured: MeasuredOrder, { bytes, epoch, timeMs }: Outcome): Placement {
  const match = PLACED.unpack(bytes);
  if (match.reason === 'SETTLEMENT_FAILED') throw new Refusal('SETTLEMENT_FAILED');
  const placed = { market, epoch, sequence: match.sequence, timeMs, sizeSteps: match.size };
  const order = placedOrder(sentTerms(measured, market), placed, match);
  const isReplacement = bytes[0] === OUTCOMES.replaced;
  const fillsAt = PLACED_BYTES + (isReplacement ? bytes16.sizeAt(bytes, PLACED_BYTES) : 0);
  const closed = isReplacement ? bytes16.read(bytes, PLACED_BYTES) : NO_REFERENCE;
  const [replaced = null] = readClosed(closed, () => market, 'replaced');
  const trades = readFills(bytes.subarray(fillsAt), order, market, match.firstTrade);
  return { outcome: 'placed', order, market, trades, replaced };
}

/** Bytes of an outcome before its fills; every field has a fixed size. */
const PLACED_BYTES = PLACED.sizeAt(Buffer.alloc(0), 0);
