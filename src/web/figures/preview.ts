/**
 * Computes the effect of an order on the book as it is shown: integers in, integers out.
 *
 * The book shows levels, and a level may hold several orders. The engine rounds the fee of each fill up to an atom, so
 * the fee of a level that holds one order is exact, and each further order may add an atom. `feeAtoms` counts one
 * order a level; `maxFeeAtoms` bounds what any split of the levels can cost.
 */

import type { ErrorCode } from '../../domain/errors.ts';
import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import { heldAtoms, type RejectReason } from '../../domain/order.ts';
import { EXACT_LIMIT, feeAtomsOf, type MeasuredRequest, type OrderAmounts } from '../../domain/placing.ts';
import { least } from '../../domain/units.ts';

/** One price of the other side of the book. */
export interface Level {
  readonly priceTicks: bigint;
  readonly sizeSteps: bigint;
}

/** The other side of the book, best price first. */
export interface OtherSide {
  readonly levels: readonly Level[];
  /** True when the book may have levels beyond the last one. */
  readonly isCut: boolean;
  /** Steps of the reader's own orders by price in ticks: an order never trades with them. */
  readonly own: ReadonlyMap<bigint, bigint>;
}

export type Asked = Pick<MeasuredRequest, 'side' | 'type' | 'timeInForce' | 'postOnly'>;

/** The fills that the book offers. */
export interface Walk {
  readonly levels: number;
  readonly steps: bigint;
  readonly notionalAtoms: bigint;
  readonly feeAtoms: bigint;
  readonly maxFeeAtoms: bigint;
  /** False when a level that holds several orders would cost more than `feeAtoms`. */
  readonly isFeeExact: boolean;
  /** Price of the last level met; null: no level was met. */
  readonly worstTicks: bigint | null;
  /**
   * Price of the own order at which the walk ended; null: none. By the usual policy of markets the rest of the order is
   * dropped there; others are not published.
   */
  readonly ownTicks: bigint | null;
  /** True when the walk ended because the shown book did. */
  readonly isPastShown: boolean;
  /** True when a quote amount ended the walk before the book did. */
  readonly isOutOfBudget: boolean;
}

export interface Preview {
  readonly walk: Walk;
  /** The engine would record the order as rejected, and nothing would move. */
  readonly rejectReason: RejectReason | null;
  /** Code with which the service would refuse the order, given the book and the balance that are shown. */
  readonly refusal: ErrorCode | null;
  /** Steps that the book would keep. */
  readonly restingSteps: bigint;
  /** Steps that would be dropped: neither filled nor kept. */
  readonly droppedSteps: bigint;
  /** Amount that the resting part holds: quote atoms of a buy, base atoms of a sell. */
  readonly reservedAtoms: bigint;
  /** Atoms that leave the available balance at once: quote atoms of a buy, base atoms of a sell. */
  readonly neededAtoms: bigint;
  /** Atoms that fills add to the other balance: base atoms of a buy, quote atoms less the fee of a sell. */
  readonly receivedAtoms: bigint;
}

/** Orders that the engine meets in one go, unless the operator sets another number: the fills of one order. */
const USUAL_MAX_FILLS = 1_000n;

const notionalOf = (market: Market, ticks: bigint, steps: bigint): bigint =>
  ticks * steps * market.quoteAtomsPerLot;

/** True when the fee of one step is a whole number of atoms: every split of the level then costs the same. */
const isFeeWhole = (market: Market, ticks: bigint): boolean =>
  (notionalOf(market, ticks, 1n) * BigInt(market.feeBps)) % 10_000n === 0n;

/** Returns the maximum fees of one level. Each fill adds less than an atom to the exact fee. */
function maxFee(market: Market, ticks: bigint, steps: bigint): bigint {
  const fee = feeAtomsOf(notionalOf(market, ticks, steps), market.feeBps);
  if (isFeeWhole(market, ticks)) return fee;
  const eachStepAlone = steps * feeAtomsOf(notionalOf(market, ticks, 1n), market.feeBps);
  return least(eachStepAlone, fee + least(steps, USUAL_MAX_FILLS) - 1n);
}

const isWithin = (asked: Asked, limitTicks: bigint | null, ticks: bigint): boolean =>
  limitTicks === null || (asked.side === 'buy' ? ticks <= limitTicks : ticks >= limitTicks);

/** Returns the steps still wanted at a price: of the size, or of what is left of the quote amount. */
const wantedSteps = (market: Market, amounts: OrderAmounts, walk: Walk, ticks: bigint): bigint =>
  amounts.sizeSteps === null
    ? (amounts.budgetAtoms! - walk.notionalAtoms) / notionalOf(market, ticks, 1n)
    : amounts.sizeSteps - walk.steps;

/** Returns the walk after fills at one more level. */
function afterFill(market: Market, walk: Walk, ticks: bigint, steps: bigint): Walk {
  const notional = notionalOf(market, ticks, steps);
  return {
    ...walk,
    levels: walk.levels + 1,
    steps: walk.steps + steps,
    notionalAtoms: walk.notionalAtoms + notional,
    feeAtoms: walk.feeAtoms + feeAtomsOf(notional, market.feeBps),
    maxFeeAtoms: walk.maxFeeAtoms + maxFee(market, ticks, steps),
    isFeeExact: walk.isFeeExact && (steps === 1n || isFeeWhole(market, ticks)),
    worstTicks: ticks,
  };
}

/** Walks the levels best first until the size, the quote amount, the limit price or the book ends. */
export function walkBook(market: Market, asked: Asked, amounts: OrderAmounts, other: OtherSide): Walk {
  let walk: Walk = { ...NOTHING, ownTicks: null };
  for (const { priceTicks, sizeSteps } of other.levels) {
    if (!isWithin(asked, amounts.priceTicks, priceTicks)) return walk;
    const wanted = wantedSteps(market, amounts, walk, priceTicks);
    const own = other.own.get(priceTicks) ?? 0n;
    // A budget that buys no more whole step is used up; the first level shows that it buys none.
    if (wanted === 0n && walk.steps > 0n) return { ...walk, isOutOfBudget: amounts.sizeSteps === null };
    const offered = sizeSteps > own ? sizeSteps - own : 0n;
    const met = least(wanted, offered);
    if (met > 0n) walk = afterFill(market, walk, priceTicks, met);
    // An amount that buys nothing of the first level has still met an own order that stands there alone.
    const isAlone = offered === 0n && walk.steps === 0n;
    if (own > 0n && (wanted > met || isAlone)) return { ...walk, ownTicks: priceTicks };
    if (amounts.sizeSteps === null && wanted < offered) return { ...walk, isOutOfBudget: true };
    if (amounts.sizeSteps !== null && walk.steps === amounts.sizeSteps) return walk;
  }
  return { ...walk, isPastShown: other.isCut };
}

const NOTHING: Omit<Walk, 'ownTicks'> = {
  levels: 0,
  steps: 0n,
  notionalAtoms: 0n,
  feeAtoms: 0n,
  maxFeeAtoms: 0n,
  isFeeExact: true,
  worstTicks: null,
  isPastShown: false,
  isOutOfBudget: false,
};

const isInexact = (market: Market, walk: Walk, reservedQuote: bigint): boolean =>
  walk.notionalAtoms + walk.feeAtoms + reservedQuote >= EXACT_LIMIT ||
  walk.steps * market.baseAtomsPerStep >= EXACT_LIMIT;

/** Returns the reason why the service would refuse a quote amount, for the size that it comes to. */
function quoteRefusal(market: Market, walk: Walk): ErrorCode | null {
  const { minSteps, maxSteps } = marketGrid(market);
  if (walk.steps === 0n) return walk.isOutOfBudget ? 'QUOTE_AMOUNT_TOO_SMALL' : 'NO_LIQUIDITY';
  if (minSteps !== null && walk.steps < minSteps) return 'ORDER_BELOW_MIN_SIZE';
  if (maxSteps !== null && walk.steps > maxSteps) return 'ORDER_ABOVE_MAX_SIZE';
  return isInexact(market, walk, 0n) ? 'ORDER_ABOVE_MAX_SIZE' : null;
}

/** Returns the first refusal that precedes the check of the balance, in the order of the API. */
function bookRefusal(
  market: Market,
  amounts: OrderAmounts,
  { walk, crosses }: Split,
  reservedQuote: bigint,
): ErrorCode | null {
  if (amounts.sizeSteps !== null && isInexact(market, walk, reservedQuote)) return 'ORDER_ABOVE_MAX_SIZE';
  if (market.status === 'pre_open' && crosses) return 'MARKET_PRE_OPEN';
  return amounts.sizeSteps === null ? quoteRefusal(market, walk) : null;
}

function rejectReasonOf(asked: Asked, amounts: OrderAmounts, walk: Walk, crosses: boolean) {
  if (asked.postOnly && crosses) return 'POST_ONLY_WOULD_CROSS';
  const isShort = amounts.sizeSteps !== null && walk.steps < amounts.sizeSteps;
  return asked.timeInForce === 'FOK' && isShort ? 'FOK_NOT_FILLED' : null;
}

/** Steps that fill, rest and are dropped. */
interface Split {
  readonly walk: Walk;
  readonly restingSteps: bigint;
  readonly droppedSteps: bigint;
  readonly rejectReason: RejectReason | null;
  /** True when the order would meet the best price, an own order included. */
  readonly crosses: boolean;
}

function splitOrder(market: Market, asked: Asked, amounts: OrderAmounts, other: OtherSide): Split {
  const best = other.levels[0]?.priceTicks;
  const crosses = best !== undefined && isWithin(asked, amounts.priceTicks, best);
  const walked = walkBook(market, asked, amounts, other);
  const walk = asked.postOnly ? { ...walked, ...NOTHING } : walked;
  const open = amounts.sizeSteps === null ? 0n : amounts.sizeSteps - walk.steps;
  const rests = asked.type === 'limit' && asked.timeInForce === 'GTC' && walk.ownTicks === null;
  return {
    walk,
    crosses,
    restingSteps: rests ? open : 0n,
    droppedSteps: rests ? 0n : open,
    rejectReason: rejectReasonOf(asked, amounts, walk, crosses),
  };
}

/** Returns the atoms that a live order of this price and size holds. */
const reservedBy = (market: Market, asked: Asked, ticks: bigint | null, steps: bigint): bigint =>
  heldAtoms({ side: asked.side, priceTicks: ticks ?? 0n, remainingSteps: steps }, market);

/**
 * Returns the amount needed for a limit FOK that cannot fill: the balance must cover its whole size at its limit, fee
 * included.
 */
function unfillableNeed(market: Market, asked: Asked, { priceTicks, sizeSteps }: OrderAmounts): bigint {
  const held = reservedBy(market, asked, priceTicks, sizeSteps!);
  return asked.side === 'buy' ? held + feeAtomsOf(held, market.feeBps) : held;
}

/**
 * @param amounts of a request that `measureOrder` admits
 * @param availableAtoms of the asset the order pays with: quote of a buy, base of a sell; null when not known
 */
export function previewOrder(
  market: Market,
  asked: Asked,
  amounts: OrderAmounts,
  other: OtherSide,
  availableAtoms: bigint | null,
): Preview {
  const split = splitOrder(market, asked, amounts, other);
  const { walk, restingSteps, droppedSteps, rejectReason } = split;
  const isBuy = asked.side === 'buy';
  const filledAtoms = walk.steps * market.baseAtomsPerStep;
  const reservedAtoms = reservedBy(market, asked, amounts.priceTicks, restingSteps);
  const isUnfillable = rejectReason === 'FOK_NOT_FILLED' && asked.type === 'limit';
  const neededAtoms = isUnfillable
    ? unfillableNeed(market, asked, amounts)
    : reservedAtoms + (isBuy ? walk.notionalAtoms + walk.feeAtoms : filledAtoms);
  const isShort = availableAtoms !== null && neededAtoms > availableAtoms;
  const refusal =
    bookRefusal(market, amounts, split, isBuy ? reservedAtoms : 0n) ??
    (isShort ? 'INSUFFICIENT_BALANCE' : null);
  return {
    walk,
    rejectReason,
    refusal,
    restingSteps,
    droppedSteps,
    reservedAtoms,
    neededAtoms,
    receivedAtoms: isBuy ? filledAtoms : walk.notionalAtoms - walk.feeAtoms,
  };
}
