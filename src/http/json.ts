/** JSON in both directions without a double in between: numbers are their literals, digit for digit. */

import { parse } from 'lossless-json';
import { Refusal } from '../domain/errors.ts';

/** A number of a request, as it was written. */
export class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A piece of a reply that is JSON already: an exact number, or an object that was written before. */
export class JsonText {
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

/** What a reply may be made of. Numbers are counts and HTTP statuses; amounts come as `JsonText`. */
export type Json =
  | string
  | number
  | boolean
  | null
  | JsonText
  | readonly Json[]
  | { readonly [key: string]: Json };

const names = new Map<string, string>();

/** `"key":`; replies have few different keys, so each is quoted once. */
function nameOf(key: string): string {
  let name = names.get(key);
  if (name === undefined) {
    name = `${JSON.stringify(key)}:`;
    names.set(key, name);
  }
  return name;
}

/** Writes a reply; half the time of the library's writer, which matters on the way of an order. */
export function writeJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof JsonText) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  const record = value as { readonly [key: string]: Json };
  let members = '';
  for (const key in record) {
    members += `${members === '' ? '' : ','}${nameOf(key)}${writeJson(record[key]!)}`;
  }
  return `{${members}}`;
}
