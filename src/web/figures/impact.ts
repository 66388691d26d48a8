/** The distance between the fills of an order and the middle of the book, in basis points and in quote atoms. */

import type { Market } from '../../domain/market.ts';
import { countOf, formatScaled, type Grid, parseDecimal } from '../../domain/units.ts';
import { ONE, type OrderPlan } from './order-plan.ts';
import type { Walk } from './preview.ts';

/** A price to compare with. Twice the price is a whole number of ticks. */
export interface Reference {
  readonly twiceTicks: bigint;
  readonly kind: 'mid' | 'last price';
}

interface ShownBook {
  readonly bids: readonly { readonly price: string }[];
  readonly asks: readonly { readonly price: string }[];
}

/** Returns the mid of a book with two sides, else the last price; null when there is neither. */
export function referenceOf(book: ShownBook, lastPrice: string | undefined, tick: Grid): Reference | null {
  const ticksOf = (price: string): bigint => countOf(parseDecimal(price)!, tick)!;
  const bid = book.bids[0]?.price;
  const ask = book.asks[0]?.price;
  if (bid !== undefined && ask !== undefined) {
    return { twiceTicks: ticksOf(bid) + ticksOf(ask), kind: 'mid' };
  }
  return lastPrice === undefined ? null : { twiceTicks: 2n * ticksOf(lastPrice), kind: 'last price' };
}

/** Amounts by which an order is worse than the reference; 0 where it is better. */
export interface Impact {
  readonly reference: Reference;
  /** Distance of the average of the fills that the book shows. */
  readonly averageBps: bigint;
  /** Distance of the worst price: the worst fill shown for a market order, the limit of a limit order. */
  readonly worstBps: bigint;
  /** Quote atoms that the shown fills lose against the reference. */
  readonly lossAtoms: bigint;
  /** Quote atoms that the whole order loses if every fill has the worst price. */
  readonly maxLossAtoms: bigint;
}

/** @returns null for an order that takes nothing */
export function impactOf(
  market: Market,
  draft: { readonly side: 'buy' | 'sell'; readonly type: 'limit' | 'market' },
  walk: Walk,
  plan: OrderPlan,
  reference: Reference,
): Impact | null {
  if (walk.worstTicks === null) return null;
  const { twiceTicks } = reference;
  const lot = market.quoteAtomsPerLot;
  const worseBy = (amount: bigint, fair: bigint): bigint => {
    const difference = draft.side === 'buy' ? amount - fair : fair - amount;
    return difference > 0n ? difference : 0n;
  };
  const fair = walk.steps * twiceTicks * lot;
  const lost = worseBy(2n * walk.notionalAtoms, fair);
  const worstTicks = draft.type === 'market' ? walk.worstTicks : plan.priceTicks;
  const away = worseBy(2n * worstTicks, twiceTicks);
  return {
    reference,
    averageBps: fair === 0n ? 0n : (lost * ONE) / fair,
    worstBps: (away * ONE) / twiceTicks,
    lossAtoms: lost / 2n,
    maxLossAtoms: (away * plan.sizeSteps * lot) / 2n,
  };
}

/** Returns basis points as per cent: `2.5 %`. */
export const percentText = (bps: bigint): string => `${formatScaled(bps, 2)} %`;

const HIGH_BPS = 100n;
const EXTREME_BPS = 500n;

/** Tells how much a distance should alarm. */
export const alarmOf = (bps: bigint): 'usual' | 'high' | 'extreme' =>
  bps >= EXTREME_BPS ? 'extreme' : bps >= HIGH_BPS ? 'high' : 'usual';
