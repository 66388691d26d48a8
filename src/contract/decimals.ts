/** Reads amounts in requests, JSON numbers or decimal strings, without loss. */

import { z } from 'zod';
import { type Decimal, isNegative, isPositive, parseDecimal, parsePlainDecimal } from '../domain/units.ts';

/** A number in a request, as text of the same value. */
export class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** JSON Schema of a decimal. Zod cannot derive it, because a function does the check. */
const DECIMAL_JSON = {
  oneOf: [
    { type: 'number' },
    { type: 'string', pattern: String.raw`^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$`, maxLength: 400 },
  ],
};

const NOT_NEGATIVE_DECIMAL_JSON = {
  oneOf: [
    { type: 'number', minimum: 0 },
    { type: 'string', pattern: String.raw`^(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$`, maxLength: 400 },
  ],
};

export const POSITIVE_DECIMAL_JSON = {
  oneOf: [
    { type: 'number', exclusiveMinimum: 0 },
    {
      type: 'string',
      pattern: String.raw`^(?=[0.]*[1-9])(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$`,
      maxLength: 400,
    },
  ],
};

/** Parses a JSON number or a decimal string exactly. Returns undefined for anything else. */
function readDecimal(value: unknown): Decimal | undefined {
  const digits = value instanceof NumberLiteral ? value.text : value;
  return typeof digits === 'string' ? parseDecimal(digits) : undefined;
}

/** A positive amount of money. A JSON number has the exponent that serializers give it; a text is written plainly. */
export const positiveAmount = z
  .unknown()
  .transform((value, context): Decimal => {
    const number = typeof value === 'string' ? parsePlainDecimal(value) : readDecimal(value);
    if (number !== undefined) return number;
    context.addIssue({ code: 'custom', message: 'must be a plain decimal like "0.5", or a JSON number' });
    return z.NEVER;
  })
  .refine(isPositive, 'must be positive')
  .meta({
    oneOf: [
      { type: 'number', exclusiveMinimum: 0 },
      { type: 'string', pattern: String.raw`^(?=[0.]*[1-9])(0|[1-9]\d*)(\.\d+)?$`, maxLength: 400 },
    ],
  });

export const decimal = z
  .unknown()
  .transform((value, context): Decimal => {
    const number = readDecimal(value);
    if (number !== undefined) return number;
    context.addIssue({ code: 'custom', message: 'must be a finite decimal number' });
    return z.NEVER;
  })
  .meta(DECIMAL_JSON);

export const notNegativeDecimal = decimal
  .refine((value) => !isNegative(value), 'must not be negative')
  .meta(NOT_NEGATIVE_DECIMAL_JSON);

export const positiveDecimal = decimal.refine(isPositive, 'must be positive').meta(POSITIVE_DECIMAL_JSON);
