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

const OPEN = /[ \t\r\n]*\{/y;
/** Groups: 1 key, 2 string without escapes, 3 number, 4 `true`, `false` or `null`, 5 what follows the value. */
const MEMBER =
  /[ \t\r\n]*"([A-Za-z]+)"[ \t\r\n]*:[ \t\r\n]*(?:"([^"\\\p{Cc}]*)"|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(true|false|null))[ \t\r\n]*([,}])/uy;
const CLOSE = /[ \t\r\n]*$/y;
const CONSTANTS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };

/**
 * Reads an object of plain members, as orders are: no nesting, no escapes, no key twice.
 * The library walks such a text character by character, which costs ten times as much.
 * @returns undefined for any other text, valid or not
 */
function readFlatObject(text: string): object | undefined {
  OPEN.lastIndex = 0;
  if (!OPEN.test(text)) return undefined;
  const object: Record<string, unknown> = {};
  let at = OPEN.lastIndex;
  for (;;) {
    MEMBER.lastIndex = at;
    const member = MEMBER.exec(text);
    if (member === null) return undefined;
    const [, key, string, number, constant, next] = member as string[];
    // Inherited names (`constructor`) count as present: the library knows what to do with them.
    if (key! in object) return undefined;
    object[key!] = string ?? (number === undefined ? CONSTANTS[constant!] : literal(number));
    at = MEMBER.lastIndex;
    if (next === '}') break;
  }
  CLOSE.lastIndex = at;
  return CLOSE.test(text) ? object : undefined;
}

/**
 * Reads JSON. The same key twice with different values is refused: an order must not mean two things.
 * @throws Refusal EXPRESS_ERR_INVALID_JSON
 */
export function readJson(text: string): unknown {
  const flat = readFlatObject(text);
  if (flat !== undefined) return flat;
  try {
    return parse(text, null, literal);
  } catch (error) {
    // The reader recurses: thousands of brackets end in a RangeError long before they could end the process.
    const reason = error instanceof SyntaxError ? error.message : 'it is nested too deeply';
    throw new Refusal('EXPRESS_ERR_INVALID_JSON', `the body is not valid JSON: ${reason}`);
  }
}
