/** Reads sealed segments again, and draws those that a reconcile reads. */

import { randomInt } from 'node:crypto';
import type { Ask } from '../queries.ts';
import { readSeal, readSegments, readTables } from '../seals.ts';
import type { Part } from '../span.ts';
import type { Check, Violation } from './query.ts';

export const SCRUB_CHECK = {
  name: 'sealed rows are as sealed',
  meaning: 'the rows of each sealed segment that this run read are those that were there when it was sealed',
  proof:
    'number and SHA-256 of the rows of each table, computed outside of Postgres; a seal, which follows from the one before',
};

/** Segments that a reconcile reads again: a share of them, and one of these in full; or all. */
export type Extent = 'night' | 'week' | 'all';

/** Takes some of a list out of it, at random. */
function drawn<One>(from: One[], count: number): One[] {
  const taken: One[] = [];
  while (taken.length < count && from.length > 0) taken.push(...from.splice(randomInt(from.length), 1));
  return taken;
}

/** A segment to read, and whether all checks of its rows run too. */
export interface Reading {
  readonly part: Part;
  readonly isFull: boolean;
}

/**
 * Draws the sealed segments that a run reads, in random order. One of `days` is drawn by chance alone, so that nobody knows
 * which are read next. Those that were not read for `days`, or not as sealed, are read anyway. What a run has read that
 * did not end is not read again.
 */
export async function drawReadings(
  ask: Ask,
  extent: Extent,
  days: number,
): Promise<{ readonly readings: Reading[]; readonly sealed: number }> {
  const sealed = await readSegments(ask, days);
  const rest = sealed.filter(({ isDue, isRead }) => !isDue && !isRead);
  const read = sealed.filter(({ isRead }) => isRead).length;
  const parts =
    extent === 'all'
      ? sealed
      : [
          ...sealed.filter(({ isDue, isRead }) => isDue && !isRead),
          ...drawn(rest, Math.ceil(sealed.length / days) - read),
        ];
  const [full] = extent === 'week' ? drawn([...sealed], 1) : [];
  const readings = parts.map((part) => ({ part, isFull: part === full }));
  if (full !== undefined && !parts.includes(full)) readings.push({ part: full, isFull: true });
  return { readings: drawn(readings, readings.length), sealed: sealed.length };
}

/** Compares the rows of a segment with its seal. @param ask in a snapshot */
export async function compareWithSeal(ask: Ask, part: Part): Promise<Check> {
  const { segment } = part;
  const expected = await readSeal(ask, segment);
  const found = await readTables(ask, part);
  const violations: Violation[] = [];
  for (const [table, { rows, digest }] of Object.entries(found)) {
    const due = expected?.[table];
    if (due?.rows !== rows || due.digest !== digest)
      violations.push({
        subject: `${table} of segment ${segment}`,
        expected: due === undefined ? 'rows of a seal' : `${due.rows} rows of digest ${due.digest}`,
        found: `${rows} rows of digest ${digest}`,
      });
  }
  return { ...SCRUB_CHECK, count: violations.length, violations };
}
