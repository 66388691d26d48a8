/** Parses JSON. Numbers keep their exact value and are never rounded to a double. */

import { parse } from 'lossless-json';
import { Refusal } from '../domain/errors.ts';

/** A number in a request, as text of the same value. */
export class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const literal = (text: string): NumberLiteral => new NumberLiteral(text);

const [QUOTE, BACKSLASH, POINT, ZERO, NINE] = [34, 92, 46, 48, 57];
/** Number of digits that a double always preserves. */
const KEPT_DIGITS = 15;
/** Range in which JavaScript writes numbers without an exponent. No number in it underflowed to a smaller double. */
const [LEAST, MOST] = [1e-6, 1e15];

/**
 * Counts the quotes in a text. Returns undefined if the text has escapes, or a number that a double may not preserve.
 */
function countQuotes(text: string): number | undefined {
  let [quotes, digits] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if ((code >= ZERO && code <= NINE) || code === POINT) {
      digits += 1;
      if (digits > KEPT_DIGITS) return undefined;
      continue;
    }
    digits = 0;
    if (code === QUOTE) quotes += 1;
    else if (code === BACKSLASH) return undefined;
  }
  return quotes;
}

/**
 * Parses a flat object, such as an order: no nesting, no escapes, no duplicate key, no number that a double does not
 * preserve. JSON.parse takes a tenth of the time of the library, which scans a text character by character.
 * @returns undefined for any other text, valid or not
 */
function readFlatObject(text: string): object | undefined {
  const quotes = countQuotes(text);
  if (quotes === undefined) return undefined;
  const object = parsed(text);
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return undefined;
  let expected = 0;
  for (const key in object) {
    const value = (object as Record<string, unknown>)[key];
    expected += typeof value === 'string' ? 4 : 2;
    if (typeof value === 'number') {
      if (!(value >= LEAST && value < MOST)) return undefined;
      (object as Record<string, unknown>)[key] = literal(String(value));
    } else if (typeof value === 'object' && value !== null) return undefined;
  }
  // For a duplicate key, JSON.parse keeps only the last member, so the text has more quotes than the object explains.
  return quotes === expected ? object : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Parses JSON. Rejects a duplicate key with different values, because an order must not be ambiguous.
 * @throws Refusal EXPRESS_ERR_INVALID_JSON
 */
export function readJson(text: string): unknown {
  const flat = readFlatObject(text);
  if (flat !== undefined) return flat;
  try {
    return parse(text, null, literal);
  } catch (error) {
    // The parser recurses, so thousands of brackets cause a RangeError long before they could crash the process.
    const reason = error instanceof SyntaxError ? error.message : 'it is nested too deeply';
    throw new Refusal('EXPRESS_ERR_INVALID_JSON', `the body is not valid JSON: ${reason}`);
  }
}
