/**
 * Reads command-line arguments. A malformed argument is bad usage and is reported before any server is asked. Rules for
 * well-formed values are checked where the rules are defined.
 */

import { InvalidArgumentError } from 'commander';
import { ADDRESS_PATTERN } from '../domain/address.ts';
import { hasCharacters, isValidText } from '../domain/text.ts';
import { type Decimal, isWhole, parseDecimal, toInteger } from '../domain/units.ts';

/** Reads a wallet address in any case. The checksum is not enforced, as on the public routes. */
export function readWallet(text: string): string {
  if (!ADDRESS_PATTERN.test(text)) throw new InvalidArgumentError('A wallet is 0x and 40 hex digits.');
  return text.toLowerCase();
}

export function readDecimal(text: string): Decimal {
  const value = parseDecimal(text);
  if (value === undefined) throw new InvalidArgumentError('It must be a decimal number.');
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

export function readTermsVersion(text: string): string {
  if (!hasCharacters(text, 128) || !isValidText(text)) {
    throw new InvalidArgumentError('A version is 1 to 128 characters of valid text.');
  }
  return text;
}

const TIME = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Reads a day (its beginning, UTC) or a moment with its zone, in Unix milliseconds. A local time would make the same
 * command mean different things on different machines.
 */
export function readTimeMs(text: string): number {
  const day = TIME.exec(text)?.[1];
  const timeMs = day === undefined ? Number.NaN : Date.parse(text);
  // Date.parse takes 31 February for 3 March.
  const dayExists = !Number.isNaN(timeMs) && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day!);
  if (!dayExists) {
    throw new InvalidArgumentError('A time is like 2026-01-31 (UTC) or 2026-01-31T12:00:00Z.');
  }
  return timeMs;
}

export function readEntryId(text: string): string {
  if (!/^\d{1,15}-\d{1,9}$/.test(text)) throw new InvalidArgumentError('An entry id is like 1234-0.');
  return text;
}
