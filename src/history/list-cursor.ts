/** Reads and writes list cursors. A cursor is the start of the next page, opaque to clients. */

import { createHash } from 'node:crypto';
import { CURSOR_LENGTH } from '../contract/cursor.ts';
import { Refusal } from '../domain/errors.ts';

const POSITION_BYTES = 8;
const DIGEST_BYTES = (CURSOR_LENGTH * 3) / 4 - POSITION_BYTES;

/** The list, wallet and filters that a cursor is valid for. The page size is not part of it. */
type CursorScope = Readonly<Record<string, string | undefined>>;

/** @param next position where the next page begins; null if there is none */
export function writeCursor(scope: CursorScope, next: number | null): string | null {
  if (next === null) return null;
  const position = Buffer.alloc(POSITION_BYTES);
  position.writeBigUInt64BE(BigInt(next));
  return Buffer.concat([position, digestOf(scope, position)]).toString('base64url');
}

/**
 * Returns the position that a cursor encodes.
 * @throws Refusal VALIDATION_ERROR if the cursor was made for another scope
 */
export function readCursor(scope: CursorScope, cursor: string): number {
  const bytes = Buffer.from(cursor, 'base64url');
  const position = bytes.subarray(0, POSITION_BYTES);
  const isOurs = digestOf(scope, position).equals(bytes.subarray(POSITION_BYTES));
  const next = isOurs ? Number(position.readBigUInt64BE()) : Number.NaN;
  if (Number.isSafeInteger(next)) return next;
  throw new Refusal('VALIDATION_ERROR', 'cursor: must be a nextCursor of this list, with the same filters');
}

/** The digest needs no secret: a forged cursor only shows another position in the caller's own list. */
function digestOf(scope: CursorScope, position: Buffer): Buffer {
  const text = JSON.stringify(Object.entries(scope).sort());
  return createHash('sha256').update(position).update(text).digest().subarray(0, DIGEST_BYTES);
}
