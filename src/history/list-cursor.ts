/** Reads and writes list cursors. A cursor is the start of the next page, opaque to clients. */

import { createHash } from 'node:crypto';
import { CURSOR_LENGTH } from '../contract/cursor.ts';
import { Refusal } from '../domain/errors.ts';

const NUMBER_BYTES = 8;
const CURSOR_BYTES = (CURSOR_LENGTH * 3) / 4;

/** The list, wallet and filters that a cursor is valid for. The page size is not part of it. */
type CursorScope = Readonly<Record<string, string | undefined>>;

/** Returns the part of a scope that says how a list is read. */
export const forwardScope = (read: {
  readonly direction: string;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}): CursorScope => ({ order: read.direction, since: read.since?.toString(), until: read.until?.toString() });

/** @param next position where the next page begins; null if there is none */
export const writeCursor = (scope: CursorScope, next: number | null): string | null =>
  next === null ? null : writePlace(scope, [next]);

/**
 * Returns the position that a cursor encodes.
 * @throws Refusal VALIDATION_ERROR if the cursor was made for another scope
 */
export const readCursor = (scope: CursorScope, cursor: string): number => readPlace(scope, cursor, 1)[0]!;

/** Writes a place of one to three numbers, below 2^64, as a cursor. */
export function writePlace(scope: CursorScope, numbers: readonly (number | bigint)[]): string {
  const place = Buffer.alloc(NUMBER_BYTES * numbers.length);
  for (const [at, number] of numbers.entries()) place.writeBigUInt64BE(BigInt(number), at * NUMBER_BYTES);
  return Buffer.concat([place, digestOf(scope, place)]).toString('base64url');
}

/**
 * Returns the numbers of a place.
 * @param name of the parameter
 * @throws Refusal VALIDATION_ERROR if the cursor was made for another scope
 */
export function readPlace(scope: CursorScope, cursor: string, count: number, name = 'cursor'): number[] {
  const numbers = readWidePlace(scope, cursor, count, name).map(Number);
  if (numbers.every(Number.isSafeInteger)) return numbers;
  throw foreignCursor(name);
}

/** Returns the numbers of a place, which may be as large as 2^64. */
export function readWidePlace(scope: CursorScope, cursor: string, count: number, name: string): bigint[] {
  const bytes = Buffer.from(cursor, 'base64url');
  const place = bytes.subarray(0, NUMBER_BYTES * count);
  if (!digestOf(scope, place).equals(bytes.subarray(place.length))) throw foreignCursor(name);
  return Array.from({ length: count }, (_, at) => place.readBigUInt64BE(at * NUMBER_BYTES));
}

const foreignCursor = (name: string): Refusal =>
  new Refusal('VALIDATION_ERROR', `${name}: must be a cursor of this list, with the same filters`);

/** The digest needs no secret: a forged cursor only shows another position in the caller's own list. */
function digestOf(scope: CursorScope, position: Buffer): Buffer {
  const text = JSON.stringify(Object.entries(scope).sort());
  return createHash('sha256')
    .update(position)
    .update(text)
    .digest()
    .subarray(0, CURSOR_BYTES - position.length);
}
