/** JSON as it is read: numbers are their literals, digit for digit, and never a double. */

import { parse } from 'lossless-json';
import { Refusal } from '../domain/errors.ts';

/** A number of a request, as it was written. */
export class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const literal = (text: string): NumberLiteral => new NumberLiteral(text);

/**
 * Reads JSON. The same key twice with different values is refused: an order must not mean two things.
 * @throws Refusal EXPRESS_ERR_INVALID_JSON
 */
export function readJson(text: string): unknown {
  try {
    return parse(text, null, literal);
  } catch (error) {
    // The reader recurses: thousands of brackets end in a RangeError long before they could end the process.
    const reason = error instanceof SyntaxError ? error.message : 'it is nested too deeply';
    throw new Refusal('EXPRESS_ERR_INVALID_JSON', `the body is not valid JSON: ${reason}`);
  }
}
