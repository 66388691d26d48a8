/** Fields of requests (parameters and body members) with their validation messages. */

import { z } from 'zod';
import { ADDRESS_PATTERN } from '../domain/address.ts';
import { hasCharacters, isValidText } from '../domain/text.ts';

const requiredText = (what: string) => ({
  error: ({ input }: { input?: unknown }) => typeMessage(input, what),
});

const typeMessage = (input: unknown, what: string): string =>
  input === undefined ? 'is required' : `must be ${what}`;

export const text = z.string(requiredText('a string')).min(1, 'must not be empty');

export const address = z
  .string(requiredText('a string'))
  .regex(ADDRESS_PATTERN, 'must be 0x and 40 hex digits')
  .meta({
    description: 'wallet address, in any case',
    examples: ['0x52908400098527886E0F7030069857D2E4169EE7'],
  });

/** Only a string here: sign-in checks the form, with the error codes of each flow. */
export const signature = text.meta({
  description:
    'r, s and v of an ordinary account: 65 bytes as 0x and 130 hex digits. Not supported: the compact form of ' +
    'EIP-2098, and signatures of smart-contract wallets (ERC-1271, ERC-6492).',
});

export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, requiredText(`one of ${values.join(', ')}`));

export const flag = z.boolean('must be true or false');

/**
 * An optional member of a body. Null counts as absent: many clients write an unset field so.
 * @param absent value of an absent member
 */
export const optional = <Schema extends z.ZodType, const Absent = undefined>(
  schema: Schema,
  absent?: Absent,
) => schema.nullish().transform((value) => value ?? (absent as Absent));

const MAX_CHARACTERS = 128;

/**
 * 1 to `max` code points that every database can store: no U+0000 and no half of a surrogate pair.
 * @param base reads the member
 */
export const validText = (max: number, base: z.ZodString = text) =>
  base
    .refine((value) => hasCharacters(value, max), `must have 1 to ${max} characters`)
    .refine(isValidText, 'must be valid text without U+0000')
    .meta({ minLength: 1, maxLength: max });

export const clientOrderId = validText(MAX_CHARACTERS, z.string('must be a string')).meta({
  minLength: 1,
  maxLength: MAX_CHARACTERS,
  pattern: '^[^\\u0000]*$',
});

/** Overrides the JSON Schema of a query parameter with digits: it is documented as an integer, not as text. */
export const INTEGER_JSON = { type: 'integer', minLength: undefined, pattern: undefined };

/** A query parameter that may occur only once and may not be empty. */
export const queryText = z.string('must be given once').min(1, 'must not be empty');

/** A query parameter that is a whole number of at least 0. Values too large for a number become Infinity. */
export const count = queryText
  .regex(/^\d+$/, 'must be a whole number, not negative')
  .transform(Number)
  .meta({ ...INTEGER_JSON, minimum: 0 });

/** A market symbol as a filter. The handler checks that the market exists. */
export const marketFilter = queryText
  .optional()
  .describe('symbol of a market; the request then concerns this market only');
