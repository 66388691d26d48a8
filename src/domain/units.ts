/**
 * Converts decimals to integers and back. No other file does arithmetic on decimals.
 *
 * Amounts are integers everywhere else. This file turns a decimal text into an exact count of a unit, or refuses it.
 * Reading never rounds. A decimal of few digits is read here; decimal.js reads and compares all others.
 */

import { Decimal as LongDecimal } from 'decimal.js';

/** A decimal of at most 15 digits without an exponent, as almost every amount of an order is. */
class ShortDecimal {
  /** All digits as one non-negative integer. */
  readonly coefficient: number;
  /** Digits after the point, trailing zeros included. */
  readonly places: number;

  constructor(coefficient: number, places: number) {
    this.coefficient = coefficient;
    this.places = places;
  }
}

/** An exact decimal number, opaque to callers. Reading a long one takes ten times as long. */
export type Decimal = ShortDecimal | LongDecimal;

/** A member tells the two apart faster than `instanceof` does. */
const isShort = (value: Decimal): value is ShortDecimal => (value as ShortDecimal).coefficient !== undefined;

const DECIMAL_TEXT = /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?$/;
/** Longest decimal text that is read: far longer than any amount, short enough to stay cheap. */
const MAX_TEXT_LENGTH = 400;
/** Highest exponent that is read: magnitudes from 10^309 on are not finite for any client that reads doubles. */
const MAX_EXPONENT = 308;
/** Lowest exponent that is read: far below any amount, and its decimal still has a bounded size. */
const MIN_EXPONENT = -1e6;
/** Below 10^15 every whole number is a double, and so is ten times it. */
const SHORT_DIGITS = 15;
const CODE_0 = 48;
const CODE_POINT = 46;
const CODE_MINUS = 45;

/** Powers of ten that are exact as doubles. */
const POWERS = /* @__PURE__ */ Array.from({ length: SHORT_DIGITS + 1 }, (_, exponent) => 10 ** exponent);

/** Reads digits with at most one point between them; undefined for any other text. */
function readShort(text: string): ShortDecimal | undefined {
  const { length } = text;
  if (length > SHORT_DIGITS) return undefined;
  let coefficient = 0;
  let point = length;
  for (let at = 0; at < length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= CODE_0 && code <= CODE_0 + 9) coefficient = coefficient * 10 + (code - CODE_0);
    else if (code === CODE_POINT && point === length && at > 0 && at < length - 1) point = at;
    else return undefined;
  }
  if (length === 0) return undefined;
  return new ShortDecimal(coefficient, point === length ? 0 : length - point - 1);
}

/** Reads a JSON number literal or a decimal text exactly; undefined for anything else, `1e400` included. */
export function parseDecimal(text: string): Decimal | undefined {
  const short = readShort(text);
  if (short !== undefined) return short;
  if (text.length > MAX_TEXT_LENGTH || !DECIMAL_TEXT.test(text)) return undefined;
  const value = new LongDecimal(text);
  const exponent = exponentOf(value);
  return exponent <= MAX_EXPONENT && exponent >= MIN_EXPONENT ? value : undefined;
}

const PLAIN_TEXT = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** Reads an amount as people write it; undefined for an exponent, and for zeros and points that a typing error leaves. */
export const parsePlainDecimal = (text: string): Decimal | undefined =>
  PLAIN_TEXT.test(text) ? parseDecimal(text) : undefined;

/** The exponent of the first digit: 2 for 123, -2 for 0.01. */
const exponentOf = (value: LongDecimal): number => value.precision(true) - value.decimalPlaces() - 1;

/** Returns value x 10^scale as an integer, or undefined when digits would be lost. */
export function toScaled(value: Decimal, scale: number): bigint | undefined {
  if (!isShort(value)) return value.decimalPlaces() <= scale ? scaledDown(value, scale) : undefined;
  const { coefficient, places } = value;
  if (places <= scale) return scaledUp(coefficient, scale - places);
  const power = POWERS[places - scale]!;
  return coefficient % power === 0 ? BigInt(coefficient / power) : undefined;
}

/** coefficient x 10^exponent. */
function scaledUp(coefficient: number, exponent: number): bigint {
  const product = exponent <= SHORT_DIGITS ? coefficient * POWERS[exponent]! : Number.POSITIVE_INFINITY;
  return product <= Number.MAX_SAFE_INTEGER ? BigInt(product) : BigInt(coefficient) * powerOfTen(exponent);
}

/**
 * Returns value x 10^scale, rounded towards zero. For positive values: the maximum of whole atoms that the value pays
 * for.
 */
export function toScaledDown(value: Decimal, scale: number): bigint {
  if (!isShort(value)) return scaledDown(value, scale);
  const { coefficient, places } = value;
  if (places <= scale) return scaledUp(coefficient, scale - places);
  const power = POWERS[places - scale]!;
  return BigInt((coefficient - (coefficient % power)) / power);
}

const scaledDown = (value: LongDecimal, scale: number): bigint =>
  BigInt(value.toFixed(scale, LongDecimal.ROUND_DOWN).replace('.', ''));

/** A whole number: a bigint, or its decimal digits, which a reply can show without converting them. */
export type Count = bigint | string;

/** Returns integer / 10^scale as a plain decimal without trailing zeros or exponent. */
export function formatScaled(integer: Count, scale: number): string {
  if (typeof integer === 'string') return formatDigits(integer, scale);
  if (scale > 0 && scale <= SHORT_DIGITS && integer >= 0n && integer <= MAX_SAFE)
    return formatSafe(Number(integer), scale);
  return formatDigits(integer.toString(), scale);
}

/** Like `formatScaled`, for an integer given as digits; does not convert it to a number. */
function formatDigits(integer: string, scale: number): string {
  if (scale === 0) return integer;
  if (integer.charCodeAt(0) === CODE_MINUS) return `-${formatDigits(integer.slice(1), scale)}`;
  const digits = integer.length > scale ? integer : integer.padStart(scale + 1, '0');
  const point = digits.length - scale;
  let end = digits.length;
  while (end > point && digits.charCodeAt(end - 1) === CODE_0) end -= 1;
  const whole = digits.slice(0, point);
  return end === point ? whole : `${whole}.${digits.slice(point, end)}`;
}

const MAX_SAFE = 9007199254740991n;

/** Like `formatScaled`, for an integer that is exact as a double; three times as fast. */
function formatSafe(integer: number, scale: number): string {
  const power = POWERS[scale]!;
  let fraction = integer % power;
  const whole = String((integer - fraction) / power);
  if (fraction === 0) return whole;
  let places = scale;
  for (; fraction % 10 === 0; fraction /= 10) places -= 1;
  return `${whole}.${String(fraction).padStart(places, '0')}`;
}

/** A unit that amounts are counted in: coefficient / 10^places, positive, in lowest terms. */
export interface Grid {
  readonly coefficient: bigint;
  readonly places: number;
}

/** The finest unit of a grid is 10^-30, and the largest is below 10^31. */
const MAX_GRID_EXPONENT = 30;

/** Returns the grid whose unit is a positive decimal text; undefined when the text is not one. */
export function gridOf(text: string): Grid | undefined {
  const decimal = parseDecimal(text);
  if (decimal === undefined || !isPositive(decimal)) return undefined;
  if (!isShort(decimal) && Math.max(decimal.decimalPlaces(), exponentOf(decimal)) > MAX_GRID_EXPONENT)
    return undefined;
  const { coefficient, places } = fractionOf(decimal);
  return gridInLowestTerms(coefficient, places);
}

/** coefficient / 10^places, of either sign and not in lowest terms. */
interface Fraction {
  readonly coefficient: bigint;
  readonly places: number;
}

function fractionOf(value: Decimal): Fraction {
  if (isShort(value)) return { coefficient: BigInt(value.coefficient), places: value.places };
  const places = value.decimalPlaces();
  return { coefficient: scaledDown(value, places), places };
}

/** Returns the number of units of the grid in a value; undefined when the value is no whole number of them. */
export function countOf(value: Decimal, grid: Grid): bigint | undefined {
  const scaled = toScaled(value, grid.places);
  if (grid.coefficient === 1n) return scaled;
  return scaled !== undefined && scaled % grid.coefficient === 0n ? scaled / grid.coefficient : undefined;
}

/** Returns the units of the grid in a value, rounded down. `countOf` returns exact counts only. */
export const floorCountOf = (value: Decimal, grid: Grid): bigint =>
  toScaledDown(value, grid.places) / grid.coefficient;

/** Returns `count` units of the grid as a plain decimal. */
export const formatCount = (count: Count, { coefficient, places }: Grid): string =>
  formatScaled(coefficient === 1n ? count : BigInt(count) * coefficient, places);

/** Math.min and Math.max take no bigint. */
export const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);
export const greatest = (one: bigint, other: bigint): bigint => (one > other ? one : other);

export const subtract = (one: Count, other: Count): Count =>
  typeof one === 'string' &&
  typeof other === 'string' &&
  one.length <= SHORT_DIGITS &&
  other.length <= SHORT_DIGITS
    ? String(Number(one) - Number(other))
    : BigInt(one) - BigInt(other);

/** Returns the grid itself as a plain decimal. */
export const formatGrid = (grid: Grid): string => formatCount(1n, grid);

const powerOfTen = (exponent: number): bigint => 10n ** BigInt(exponent);

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b);
}

/** Returns the atoms (of 10^-scale) in the product of units; undefined when they are not a whole number. */
export function atomsIn(scale: number, ...grids: readonly Grid[]): bigint | undefined {
  const coefficient = grids.reduce((product, grid) => product * grid.coefficient, 1n);
  const exponent = scale - grids.reduce((sum, grid) => sum + grid.places, 0);
  if (exponent >= 0) return coefficient * powerOfTen(exponent);
  const divisor = powerOfTen(-exponent);
  return coefficient % divisor === 0n ? coefficient / divisor : undefined;
}

function gridInLowestTerms(units: bigint, decimals: number): Grid {
  let coefficient = units;
  let places = decimals;
  for (; places > 0 && coefficient % 10n === 0n; places -= 1) coefficient /= 10n;
  return { coefficient, places };
}

/**
 * Returns the finest grid whose product with `other` is a whole number of atoms of 10^-scale: the generator of all
 * decimals x with x * other * 10^scale whole. With other = c / 10^p that is k * 10^(p - scale) / c where the fraction
 * ends, so k cancels the part of c that is prime to 10.
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
    ? gridInLowestTerms(coefficient, places)
    : { coefficient: coefficient * powerOfTen(-places), places: 0 };
}

/** The finest grid that is a whole number of units of both grids. */
export function commonGrid(a: Grid, b: Grid): Grid {
  const places = Math.max(a.places, b.places);
  const left = a.coefficient * powerOfTen(places - a.places);
  const right = b.coefficient * powerOfTen(places - b.places);
  return gridInLowestTerms((left * right) / greatestCommonDivisor(left, right), places);
}

/** Returns a x b of two decimal texts, as a plain decimal. */
export function multiplyExactly(a: string, b: string): string {
  const one = fractionOf(parseDecimal(a)!);
  const other = fractionOf(parseDecimal(b)!);
  return formatScaled(one.coefficient * other.coefficient, one.places + other.places);
}

/** Returns the sum of decimal texts, as a plain decimal. */
export const sumExactly = (texts: readonly string[]): string =>
  sumOfProducts(texts.map((price) => ({ atoms: 1n, scale: 0, price })));

/** Returns a - b of two decimal texts, as a plain decimal. */
export const subtractExactly = (a: string, b: string): string =>
  sumOfProducts([
    { atoms: 1n, scale: 0, price: a },
    { atoms: -1n, scale: 0, price: b },
  ]);

/** An amount in atoms of 10^-scale, and the price of a whole unit, a decimal text. */
interface Priced {
  readonly atoms: bigint;
  readonly scale: number;
  readonly price: string;
}

/** Returns the sum of amount x price as a plain decimal. */
export function sumOfProducts(products: readonly Priced[]): string {
  let sum = 0n;
  let places = 0;
  for (const { atoms, scale, price } of products) {
    const { coefficient, places: ofPrice } = fractionOf(parseDecimal(price)!);
    const priced = atoms * coefficient;
    const finer = scale + ofPrice - places;
    sum = finer > 0 ? sum * powerOfTen(finer) + priced : sum + priced * powerOfTen(-finer);
    places = Math.max(places, places + finer);
  }
  return formatScaled(sum, places);
}

/** Returns half of a plain decimal. */
export const halfExactly = (value: string): string => multiplyExactly(value, '0.5');

export const isPositive = (value: Decimal): boolean =>
  isShort(value) ? value.coefficient > 0 : !value.isNegative() && !value.isZero();
export const isNegative = (value: Decimal): boolean =>
  !isShort(value) && value.isNegative() && !value.isZero();

/** Compares a value with a plain decimal: returns a negative number, 0 or a positive number. */
export function compareWith(value: Decimal, other: string | number): number {
  const two = parseDecimal(String(other))!;
  if (!(isShort(value) && isShort(two))) return long(value).comparedTo(long(two));
  const places = Math.max(value.places, two.places);
  const left = value.coefficient * POWERS[places - value.places]!;
  const right = two.coefficient * POWERS[places - two.places]!;
  // A product that is rounded still compares rightly with one that is exact, but not with another rounded one.
  return left <= Number.MAX_SAFE_INTEGER || right <= Number.MAX_SAFE_INTEGER
    ? left - right
    : long(value).comparedTo(long(two));
}

const long = (value: Decimal): LongDecimal =>
  isShort(value) ? new LongDecimal(`${value.coefficient}e-${value.places}`) : value;

/** Formats a decimal without an exponent. */
export function formatDecimal(value: Decimal): string {
  if (!isShort(value)) return value.toFixed();
  return value.places === 0 ? String(value.coefficient) : formatSafe(value.coefficient, value.places);
}

export const isWhole = (value: Decimal): boolean =>
  isShort(value) ? value.coefficient % POWERS[value.places]! === 0 : value.isInteger();
export const toInteger = (value: Decimal): number => Number(formatDecimal(value));
