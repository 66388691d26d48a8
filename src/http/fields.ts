/** Fields that several requests have. */

import { z } from 'zod';
import { ADDRESS_PATTERN } from '../auth/index.ts';
import { type Decimal, isPositive, parseDecimal } from '../domain/units.ts';
import { NumberLiteral } from './json.ts';

const requiredText = (what: string) => ({ error: ({ input }: { input?: unknown }) => said(input, what) });

const said = (input: unknown, what: string): string =>
  input === undefined ? 'is required' : `must be ${what}`;

export const text = z.string(requiredText('a string')).min(1, 'must not be empty');

export const address = z
  .string(requiredText('a string'))
  .regex(ADDRESS_PATTERN, 'must be 0x and 40 hex digits');

export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, requiredText(`one of ${values.join(', ')}`));

export const flag = z.boolean('must be true or false');

/** A JSON number or a decimal string, read exactly. */
export const decimal = z.unknown().transform((value, context): Decimal => {
  const digits = value instanceof NumberLiteral ? value.text : value;
  const number = typeof digits === 'string' ? parseDecimal(digits) : undefined;
  if (number !== undefined) return number;
  context.addIssue({ code: 'custom', message: 'must be a finite decimal number' });
  return z.NEVER;
});

export const positiveDecimal = decimal.refine(isPositive, 'must be positive');

const MOST_CHARACTERS = 128;

/** 1 to 128 code points that every store can hold as they are: no U+0000, no half of a surrogate pair. */
export const clientOrderId = z
  .string('must be a string')
  .refine((id) => id !== '' && [...id].length <= MOST_CHARACTERS, 'must have 1 to 128 characters')
  .refine((id) => !id.includes('\0') && id.isWellFormed(), 'must be valid text without U+0000');

/** A query parameter that, where it is there, is there once and not empty. */
export const queryText = z.string('must be given once').min(1, 'must not be empty');

/** A query parameter that is a whole number, not negative; absurdly large ones are Infinity. */
export const count = queryText.regex(/^\d+$/, 'must be a whole number, not negative').transform(Number);

/** A market symbol as a filter; whether there is such a market is the handler's to find out. */
export const marketFilter = queryText.optional();
