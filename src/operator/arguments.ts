/**
 * Reads command-line arguments. A malformed argument is bad usage and is reported before any server is asked. Rules for
 * well-formed values are checked where the rules are defined.
 */

import { MAX_BY, MAX_REASON } from '../domain/act.ts';
import { ADDRESS_PATTERN } from '../domain/address.ts';
import { parseMoment } from '../domain/moment.ts';
import { isMonth } from '../domain/months.ts';
import { isTextUpTo } from '../domain/text.ts';
import { type Decimal, isWhole, parseDecimal, parsePlainDecimal, toInteger } from '../domain/units.ts';
import { type Dimension, TURNOVER_DIMENSIONS } from '../ledger/index.ts';

/** An argument that is malformed. commander knows its own such errors by this code. */
class InvalidArgumentError extends Error {
  readonly code = 'commander.invalidArgument';
  readonly exitCode = 1;
}

export const WALLET = 'address: 0x and 40 hex digits, in any case';
export const ASSET = 'asset symbol, like USDC';
export const AMOUNT = 'decimal amount, at max as fine as the atom of the asset';

/** Reads a wallet address in any case. The checksum is not enforced, as on the public routes. */
export function readWallet(text: string): string {
  if (!ADDRESS_PATTERN.test(text)) throw new InvalidArgumentError('A wallet is 0x and 40 hex digits.');
  return text.toLowerCase();
}

export function readDecimal(text: string): Decimal {
  const value = parsePlainDecimal(text);
  if (value === undefined) throw new InvalidArgumentError('It must be a plain decimal number like 0.5.');
  return value;
}

/** Stands for a rule that is not enforced. commander takes null from a reader for a missing value. */
const NO_RULE = 'null';

/** Reads a rule of a market: a decimal, kept as it is written, or the word null. */
export function readRule(text: string): string {
  if (text !== NO_RULE && parseDecimal(text) === undefined) {
    throw new InvalidArgumentError('It must be a decimal number, or null for no rule.');
  }
  return text;
}

/** Returns options in which the word null has become null. */
export const withNulls = <Options extends object>(
  options: Options,
  rules: readonly (keyof Options)[],
): Options => ({
  ...options,
  ...Object.fromEntries(rules.filter((name) => options[name] === NO_RULE).map((name) => [name, null])),
});

export function readWholeNumber(text: string): number {
  const value = parseDecimal(text);
  if (value === undefined || !isWhole(value)) throw new InvalidArgumentError('It must be a whole number.');
  return toInteger(value);
}

export function readSwitch(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('It must be true or false.');
  return text === 'true';
}

const readText =
  (thing: string, max: number) =>
  (text: string): string => {
    if (!isTextUpTo(text, max))
      throw new InvalidArgumentError(`${thing} is 1 to ${max} characters of valid text.`);
    return text;
  };

export const readTermsVersion = readText('A version', 128);
export const readOperator = readText('A name', MAX_BY);
export const readReason = readText('A reason', MAX_REASON);

/** Reads a time in Unix milliseconds. */
export function readTimeMs(text: string): number {
  const timeMs = parseMoment(text);
  if (timeMs === undefined) {
    throw new InvalidArgumentError('A time is like 2026-01-31 (UTC) or 2026-01-31T12:00:00Z.');
  }
  return timeMs;
}

/** Reads the sequence of an event. */
export function readSequence(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

export const ENTRY_ID = /^\d{1,15}-\d{1,9}$/;
/** CSV has an apostrophe in front, because a spreadsheet reads 2026-3 as a month. */
export const withoutApostrophe = (text: string): string => text.replace(/^'/, '');

export function readEntryId(text: string): string {
  const id = withoutApostrophe(text);
  if (!ENTRY_ID.test(id)) throw new InvalidArgumentError('An entry id is like 1234-0.');
  return id;
}

export function readMonth(text: string): string {
  if (!isMonth(text)) throw new InvalidArgumentError('A month is like 2026-11.');
  return text;
}

/** Reads what sums are split by. */
export function readDimensions(text: string): Dimension[] {
  const names = text.split(',');
  const known = TURNOVER_DIMENSIONS.filter((name) => names.includes(name));
  if (known.length !== names.length)
    throw new InvalidArgumentError(
      `It must be a list of ${TURNOVER_DIMENSIONS.join(', ')}, with commas between.`,
    );
  return names as Dimension[];
}
