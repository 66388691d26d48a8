/** Exact arithmetic on amounts. Every function throws `INVALID_ARGUMENT` for a text that is not a decimal. */

import { feeAtomsOf } from '../domain/placing.ts';
import {
  compareWith,
  countOf,
  type Decimal,
  floorCountOf,
  formatCount,
  formatScaled,
  gridOf,
  isNegative,
  multiplyExactly,
  parseDecimal,
  subtractExactly,
  sumExactly,
  toScaledDown,
} from '../domain/units.ts';
import { invalid } from './errors.ts';
import type { LimitOrder, MarketBuyByAmount } from './new-order.ts';
import type { Amount, Market } from './replies.ts';

/** Exponents of more digits would make numbers of thousands of digits. */
const HUGE_EXPONENT = /e[+-]?\d{4}/i;

/** Returns undefined for a text that is no decimal. */
const read = (text: string): Decimal | undefined =>
  HUGE_EXPONENT.test(text) ? undefined : parseDecimal(text);

function decimalOf(amount: Amount): Decimal {
  const value = typeof amount === 'string' ? read(amount) : undefined;
  if (value === undefined) throw invalid(`${String(amount)} is not a decimal string`);
  return value;
}

function checked(...amounts: readonly Amount[]): void {
  for (const amount of amounts) decimalOf(amount);
}

/** Returns one + other. */
export function add(one: Amount, other: Amount): Amount {
  checked(one, other);
  return sumExactly([one, other]);
}

/** Returns one - other, which may be negative. */
export function subtract(one: Amount, other: Amount): Amount {
  checked(one, other);
  return subtractExactly(one, other);
}

/** Returns one x other. */
export function multiply(one: Amount, other: Amount): Amount {
  checked(one, other);
  return multiplyExactly(one, other);
}

/** Returns -1 if one < other, 0 if both are the same number, and 1 if one > other: an order for `sort`. */
export function compare(one: Amount, other: Amount): -1 | 0 | 1 {
  checked(other);
  return Math.sign(compareWith(decimalOf(one), other)) as -1 | 0 | 1;
}

/** Direction of rounding. `nearest` rounds a half up. */
export type Rounding = 'down' | 'up' | 'nearest';

/** Returns the price on the market's grid, a multiple of `priceIncrement`. It is `0` for less than one increment. */
export function roundToTick(market: Market, price: Amount, rounding: Rounding): Amount {
  return rounded(price, market.priceIncrement, rounding);
}

/** Returns the size on the market's grid, a multiple of `sizeIncrement`; rounded down unless another way is given. */
export function roundToStep(market: Market, size: Amount, rounding: Rounding = 'down'): Amount {
  return rounded(size, market.sizeIncrement, rounding);
}

function rounded(amount: Amount, increment: Amount, rounding: Rounding): Amount {
  const value = decimalOf(amount);
  const grid = gridOf(increment)!;
  if (isNegative(value)) throw invalid(`${amount} is negative`);
  const half = { coefficient: grid.coefficient * 5n, places: grid.places + 1 };
  const floor = floorCountOf(value, grid);
  const isUp =
    rounding === 'up'
      ? countOf(value, grid) === undefined
      : rounding === 'nearest' && floorCountOf(value, half) > 2n * floor;
  return formatCount(isUp ? floor + 1n : floor, grid);
}

/** An order whose cost is known before it is sent: a market order by size costs what the book asks. */
export type PricedOrder = LimitOrder | MarketBuyByAmount;

export interface OrderCost {
  /** Asset that the order pays with: the quote token of a buy, the base token of a sell. */
  readonly asset: string;
  /** Price x size, or the quote amount; in the quote token. */
  readonly notional: Amount;
  /** Taker fee if one fill takes all of it, in the quote token. Each further fill may add an atom. */
  readonly fee: Amount;
  /** Maximum of `asset` that the order needs: the notional with the fee of a buy, the size of a sell. */
  readonly amount: Amount;
}

/**
 * Returns the maximum cost of an order at its price. Orders that rest pay no fee, so a post-only order has none.
 * @throws RedbookError `INVALID_ARGUMENT` for a price or a size off the market's grid
 */
export function costOf(market: Market, order: PricedOrder): OrderCost {
  const { side, type, price, size, quoteAmount, postOnly = false } = order;
  const { baseToken, quoteToken, quoteScale, takerFeeBps } = market;
  if (type === 'limit') {
    assertOnGrid('price', price, market.priceIncrement);
    assertOnGrid('size', size, market.sizeIncrement);
  }
  // On the grid the product is a whole number of atoms.
  const spent = type === 'limit' ? multiplyExactly(price, size) : quoteAmount;
  const atoms = toScaledDown(decimalOf(spent), quoteScale);
  const feeAtoms = postOnly ? 0n : feeAtomsOf(atoms, takerFeeBps);
  const notional = formatScaled(atoms, quoteScale);
  const fee = formatScaled(feeAtoms, quoteScale);
  return side === 'buy'
    ? { asset: quoteToken, notional, fee, amount: sumExactly([notional, fee]) }
    : { asset: baseToken, notional, fee, amount: sumExactly([size]) };
}

/** @throws RedbookError `INVALID_ARGUMENT` */
function assertOnGrid(name: string, amount: Amount, increment: Amount): void {
  if (countOf(decimalOf(amount), gridOf(increment)!) === undefined)
    throw invalid(`the ${name} ${amount} is not a multiple of ${increment}`);
}

/** True for two texts of one number: `2000.5`, `2000.50` and `20005e-1`. */
export function isSameDecimal(one: string, other: string): boolean {
  const value = read(one);
  return value !== undefined && read(other) !== undefined && compareWith(value, other) === 0;
}

/** True when the sum of some decimals is at most a limit. */
export function isSumWithin(texts: readonly string[], limit: string): boolean {
  if ([...texts, limit].some((text) => read(text) === undefined)) return false;
  return compareWith(parseDecimal(sumExactly(texts))!, limit) <= 0;
}
