/** Reads and writes list cursors. A cursor is the start of the next page, opaque to clients. */

import { hash } from 'node:crypto';
import { Refusal } from '../domain/errors.ts';
import { CURSOR_LENGTH } from './cursor.ts';

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
 * @param name of the parameter
 * @throws Refusal VALIDATION_ERROR if the cursor was made for another scope
 */
export const readCursor = (scope: CursorScope, cursor: string, name?: string): number =>
  readPlace(scope, cursor, 1, name)[0]!;

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
function readPlace(scope: CursorScope, cursor: string, count: number, name = 'cursor'): number[] {
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

/** Balances that a place carries, in atoms by asset; null if they are too many. */
export type CarriedSums = ReadonlyMap<string, bigint> | null;

/** Writes a place of numbers, and balances at it, as a cursor of a statement. */
export function writeSummedPlace(scope: CursorScope, numbers: readonly number[], sums: CarriedSums): string {
  const text = JSON.stringify(sums && [...sums].map(([asset, atoms]) => [asset, `${atoms}`]));
  const place = writePlace({ ...scope, sums: text }, numbers);
  return `${place}${Buffer.from(text).toString('base64url')}`;
}

/**
 * Returns the numbers and the balances of a place.
 * @throws Refusal VALIDATION_ERROR if the cursor was made for another scope, or is malformed
 */
export function readSummedPlace(
  scope: CursorScope,
  cursor: string,
  count: number,
): { readonly numbers: number[]; readonly sums: CarriedSums } {
  const text = Buffer.from(cursor.slice(CURSOR_LENGTH), 'base64url').toString();
  const numbers = readPlace({ ...scope, sums: text }, cursor.slice(0, CURSOR_LENGTH), count);
  const sums = readSums(text);
  if (sums === undefined) throw foreignCursor('cursor');
  return { numbers, sums };
}

const ASSET = /^[A-Z0-9]{1,16}$/;
const ATOMS = /^-?\d{1,30}$/;

/**
 * Reads the sums of a cursor. A caller may make one of its own, which shows other balances to nobody else.
 * @returns undefined for a malformed text
 */
function readSums(text: string): CarriedSums | undefined {
  if (text === 'null') return null;
  try {
    const entries = JSON.parse(text) as [string, string][];
    if (!entries.every(([asset, atoms]) => ASSET.test(asset) && ATOMS.test(atoms))) return undefined;
    return new Map(entries.map(([asset, atoms]) => [asset, BigInt(atoms)]));
  } catch {
    return undefined;
  }
}

const foreignCursor = (name: string): Refusal =>
  new Refusal('VALIDATION_ERROR', `${name}: must be a cursor of this list, with the same filters`);

/** The digest needs no secret: a forged cursor only shows another position in the caller's own list. */
function digestOf(scope: CursorScope, position: Buffer): Buffer {
  const text = JSON.stringify(Object.entries(scope).sort());
  const digest = hash('sha256', Buffer.concat([position, Buffer.from(text)]), 'buffer');
  return digest.subarray(0, CURSOR_BYTES - position.length);
}
