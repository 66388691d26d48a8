/** Cursors of lists: the start of the next page, opaque to clients. */

import { createHash } from 'node:crypto';
import { CURSOR_LENGTH } from '../contract/cursor.ts';
import { Refusal } from '../domain/errors.ts';

const POSITION_BYTES = 8;
const DIGEST_BYTES = (CURSOR_LENGTH * 3) / 4 - POSITION_BYTES;

/** Names the list, the wallet and the filters that a cursor was made for, but not the size of a page. */
type CursorScope = Readonly<Record<string, string | undefined>>;

/** @param next position that the next page begins at; null: there is none */
export function writeCursor(scope: CursorScope, next: number | null): string | null {
  if (next === null) return null;
  const position = Buffer.alloc(POSITION_BYTES);
  position.writeBigUInt64BE(BigInt(next));
  return Buffer.concat([position, digestOf(scope, position)]).toString('base64url');
}

/**
 * The position that a cursor stands for.
 * @throws Refusal VALIDATION_ERROR when it was not made for this scope
 */
export function readCursor(scope: CursorScope, cursor: string): number {
  const bytes = Buffer.from(cursor, 'base64url');
  const position = bytes.subarray(0, POSITION_BYTES);
  const isOurs = digestOf(scope, position).equals(bytes.subarray(POSITION_BYTES));
  const next = isOurs ? Number(position.readBigUInt64BE()) : Number.NaN;
  if (Number.isSafeInteger(next)) return next;
  throw new Refusal('VALIDATION_ERROR', 'cursor: must be a nextCursor of this list, with the same filters');
}

/** No secret is in it: a cursor that somebody forges shows them no more of their own list than another would. */
function digestOf(scope: CursorScope, position: Buffer): Buffer {
  const text = JSON.stringify(Object.entries(scope).sort());
  return createHash('sha256').update(position).update(text).digest().subarray(0, DIGEST_BYTES);
}
