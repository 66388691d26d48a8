/** Parses JSON. Numbers keep their exact value and are never rounded to a double. */

import { parse } from 'lossless-json';
import { NumberLiteral } from '../contract/decimals.ts';
import { Refusal } from '../domain/errors.ts';

const literal = (text: string): NumberLiteral => new NumberLiteral(text);

const BLANK = 32;
const QUOTE = 34;
const COMMA = 44;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
/** Number of digits that a double always preserves. */
const KEPT_DIGITS = 15;
/** Range in which JavaScript writes numbers without an exponent. No number in it underflowed to a smaller double. */
const MIN = 1e-6;
const MAX = 1e15;

/** The library takes 10 ms for 16 KB of brackets or of short numbers, so the limits are checked before it reads. */
const MAX_DEPTH = 4;

interface TextShape {
  readonly quotes: number;
  /** False if the text has escapes, or a number that a double may not preserve. */
  readonly isPlain: boolean;
  readonly depth: number;
  /** Members of all objects and items of all arrays. */
  readonly members: number;
}

/** Scans a text once. Depth and members are right as far as the text is valid JSON. */
function shapeOf(text: string): TextShape {
  let quotes = 0;
  let digits = 0;
  let depth = 0;
  let level = 0;
  let members = 0;
  let last = 0;
  let isPlain = true;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if ((code >= ZERO && code <= NINE) || code === POINT) {
      if (quotes % 2 === 1) continue; // of a text, such as an id
      digits += 1;
      if (digits > KEPT_DIGITS) isPlain = false;
      last = code;
      continue;
    }
    digits = 0;
    if (code === BACKSLASH) {
      isPlain = false;
      at += 1;
    } else if (code === QUOTE) quotes += 1;
    if (quotes % 2 === 1 || code <= BLANK) continue;
    if (code === OPEN_OBJECT || code === OPEN_LIST) {
      level += 1;
      members += 1;
      if (level > depth) depth = level;
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      level -= 1;
      if (last === OPEN_OBJECT || last === OPEN_LIST) members -= 1;
    } else if (code === COMMA) members += 1;
    last = code;
  }
  return { quotes, isPlain, depth, members };
}

/**
 * Parses an object of plain members, such as an order or an order batch: no escapes, no duplicate key, no number that a
 * double does not preserve. JSON.parse takes a tenth of the time of the library, which scans a text character by
 * character.
 * @returns undefined for any other text, valid or not
 */
function readPlainObject(text: string, { quotes, isPlain }: TextShape): object | undefined {
  if (!isPlain) return undefined;
  const object = parsed(text);
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return undefined;
  // For a duplicate key, JSON.parse keeps only the last member, so the text has more quotes than the object explains.
  return quotes === keepNumbers(object) ? object : undefined;
}

/** Keeps each number as its text. Returns the quotes of the object's text, or NaN for a number that has changed. */
function keepNumbers(object: object): number {
  const members = object as Record<string, unknown>;
  let quotes = 0;
  for (const key in members) {
    const value = members[key];
    if (typeof value === 'string') quotes += 2;
    else if (typeof value === 'number') {
      if (!(value >= MIN && value < MAX)) return Number.NaN;
      members[key] = literal(String(value));
    } else if (typeof value === 'object' && value !== null) quotes += keepNumbers(value);
    if (!Array.isArray(object)) quotes += 2;
  }
  return quotes;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Parses JSON of at most 4 levels. Rejects a duplicate key with different values, because an order must
 * not be ambiguous.
 * @param maxMembers maximum members of all objects and items of all arrays
 * @throws Refusal EXPRESS_ERR_INVALID_JSON, or VALIDATION_ERROR for valid JSON that is too deep or has too many members
 */
export function readJson(text: string, maxMembers = 128): unknown {
  const shape = shapeOf(text);
  if (shape.depth > MAX_DEPTH || shape.members > maxMembers) throw tooLarge(text, maxMembers);
  const plain = readPlainObject(text, shape);
  if (plain !== undefined) return plain;
  try {
    return parse(text, null, literal);
  } catch (error) {
    throw invalid((error as Error).message);
  }
}

/** JSON.parse finds a fault of the syntax, which takes precedence, in a hundredth of the library's time. */
function tooLarge(text: string, maxMembers: number): Refusal {
  try {
    JSON.parse(text);
  } catch {
    return invalid(`it has more than ${MAX_DEPTH} levels or ${maxMembers} members, and is no JSON`);
  }
  return new Refusal(
    'VALIDATION_ERROR',
    `the body may have ${MAX_DEPTH} levels and ${maxMembers} members at most`,
  );
}

const invalid = (reason: string): Refusal =>
  new Refusal('EXPRESS_ERR_INVALID_JSON', `the body is not valid JSON: ${reason}`);
