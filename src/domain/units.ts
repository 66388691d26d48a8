/**
 * Decimal <-> integer: the only arithmetic on decimals in the service, and the only home of decimal.js.
 *
 * Amounts are integers everywhere else. Here a decimal text becomes an exact count of a unit, or is refused;
 * nothing is ever rounded on the way in.
 */

import { Decimal as DecimalJs } from 'decimal.js';

/** Exact decimals: construction keeps every digit, and no operation below rounds. */
const Exact = DecimalJs.clone({ precision: 1200, toExpNeg: -9e15, toExpPos: 9e15 });

/** An exact decimal number, opaque to callers. */
export type Decimal = DecimalJs;

const DECIMAL_TEXT = /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?$/;
/** Longest decimal text that is read; far past any amount, short enough to stay cheap. */
const LONGEST_TEXT = 400;
/** Magnitudes from 10^309 on are not finite for any client that reads doubles. */
const HIGHEST_EXPONENT = 308;

/** Reads a JSON number literal or a decimal text exactly; undefined for anything else, `1e400` included. */
export function parseDecimal(text: string): Decimal | undefined {
  if (text.length > LONGEST_TEXT || !DECIMAL_TEXT.test(text)) return undefined;
  const value = new Exact(text);
  return value.isFinite() && value.e <= HIGHEST_EXPONENT && value.e >= -1e6 ? value : undefined;
}

/** value x 10^scale as an integer, or undefined when digits would be lost. */
export function toScaled(value: Decimal, scale: number): bigint | undefined {
  return value.decimalPlaces() <= scale ? BigInt(value.toFixed(scale).replace('.', '')) : undefined;
}

/** value x 10^scale, what is finer cut off. For positive values: the most whole atoms it pays for. */
export function toScaledDown(value: Decimal, scale: number): bigint {
  return BigInt(value.toFixed(scale, DecimalJs.ROUND_DOWN).replace('.', ''));
}

/** integer / 10^scale as a plain decimal without trailing zeros or exponent. */
export function formatScaled(integer: bigint, scale: number): string {
  if (scale === 0) return integer.toString();
  const negative = integer < 0n;
  const digits = (negative ? -integer : integer).toString().padStart(scale + 1, '0');
  let end = digits.length;
  while (end > digits.length - scale && digits.charCodeAt(end - 1) === 48) end -= 1;
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale, end);
  return `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/** A unit that amounts are counted in: coefficient / 10^places, positive, in lowest terms. */
export interface Grid {
  readonly coefficient: bigint;
  readonly places: number;
}

/** The grid whose unit is a positive decimal text; undefined when it is not one. */
export function gridOf(text: string): Grid | undefined {
  const value = parseDecimal(text);
  if (value === undefined || !value.isPositive() || value.isZero()) return undefined;
  const places = value.decimalPlaces();
  return places > 30 || value.e > 30 ? undefined : { coefficient: toScaled(value, places)!, places };
}

/** How many units of the grid a value is; undefined when it is no whole number of them. */
export function countOf(value: Decimal, grid: Grid): bigint | undefined {
  const scaled = toScaled(value, grid.places);
  return scaled !== undefined && scaled % grid.coefficient === 0n ? scaled / grid.coefficient : undefined;
}

/** Units of the grid in a value, rounded down (`countOf` where it is exact). */
export const floorCountOf = (value: Decimal, grid: Grid): bigint =>
  toScaledDown(value, grid.places) / grid.coefficient;

/** `count` units of the grid as a plain decimal. */
export const formatCount = (count: bigint, grid: Grid): string =>
  formatScaled(count * grid.coefficient, grid.places);

/** The grid itself as a plain decimal. */
export const formatGrid = (grid: Grid): string => formatCount(1n, grid);

const powerOfTen = (exponent: number): bigint => 10n ** BigInt(exponent);

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b);
}

/** Atoms (of 10^-scale) in the product of units; undefined when it is not a whole number of them. */
export function atomsIn(scale: number, ...grids: readonly Grid[]): bigint | undefined {
  const coefficient = grids.reduce((product, grid) => product * grid.coefficient, 1n);
  const exponent = scale - grids.reduce((sum, grid) => sum + grid.places, 0);
  if (exponent >= 0) return coefficient * powerOfTen(exponent);
  const divisor = powerOfTen(-exponent);
  return coefficient % divisor === 0n ? coefficient / divisor : undefined;
}

const inLowestTerms = (coefficient: bigint, places: number): Grid => {
  let lowest = { coefficient, places };
  while (lowest.places > 0 && lowest.coefficient % 10n === 0n) {
    lowest = { coefficient: lowest.coefficient / 10n, places: lowest.places - 1 };
  }
  return lowest;
};

/**
 * The finest grid whose product with `other` is a whole number of atoms of 10^-scale: the generator of all
 * decimals x with x * other * 10^scale whole. With other = c / 10^p that is k * 10^(p - scale) / c where the
 * fraction ends, so k cancels the part of c that is prime to 10.
 */
export function finestGrid(scale: number, other: Grid): Grid {
  let twosAndFives = other.coefficient;
  for (const prime of [2n, 5n]) while (twosAndFives % prime === 0n) twosAndFives /= prime;
  const divisor = other.coefficient / twosAndFives; // 2^a * 5^b
  // 10^(p - scale) / divisor, brought to coefficient / 10^places.
  let places = scale - other.places;
  let numerator = 1n;
  while (numerator % divisor !== 0n) {
    numerator *= 10n;
    places += 1;
  }
  const coefficient = numerator / divisor;
  return places >= 0
    ? inLowestTerms(coefficient, places)
    : { coefficient: coefficient * powerOfTen(-places), places: 0 };
}

/** The finest grid that is a whole number of units of both grids. */
export function commonGrid(a: Grid, b: Grid): Grid {
  const places = Math.max(a.places, b.places);
  const left = a.coefficient * powerOfTen(places - a.places);
  const right = b.coefficient * powerOfTen(places - b.places);
  return inLowestTerms((left * right) / greatestCommonDivisor(left, right), places);
}

/** a x b as a plain decimal. */
export const multiplyExactly = (a: string, b: string): string => new Exact(a).times(b).toFixed();

/** The sum of plain decimals. */
export const sumExactly = (values: readonly string[]): string =>
  values.reduce((sum, value) => sum.plus(value), new Exact(0)).toFixed();

/** Half of a plain decimal. */
export const halfExactly = (value: string): string => new Exact(value).times('0.5').toFixed();

export const isPositive = (value: Decimal): boolean => value.isPositive() && !value.isZero();
/** value compared with a plain decimal: negative, 0 or positive. */
export const compareWith = (value: Decimal, other: string | number): number => value.comparedTo(other);
export const isWhole = (value: Decimal): boolean => value.isInteger();
export const toInteger = (value: Decimal): number => value.toNumber();
