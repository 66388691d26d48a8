/** The last engine event that the ledger contains. */

import type pg from 'pg';
import type { Cursor } from '../domain/event.ts';
import { type Ask, askOnce, prepared } from './queries.ts';
import type { Statement, TextRow } from './round-trip.ts';

export interface SettledCursor extends Cursor {
  /** Digest of the event at the cursor; null while nothing is settled. */
  readonly digest: string | null;
  /** Unix milliseconds of that event, by the engine's clock. */
  readonly timeMs: number | null;
  /** Unix milliseconds of its settlement, by the clock of Postgres. */
  readonly settledAtMs: number | null;
}

export interface CursorRow {
  epoch: bigint;
  sequence: bigint;
  digest: string | null;
  event_time_ms: bigint | null;
  settled_at: Date | null;
}

export const CURSOR_COLUMNS = 'epoch, sequence, digest, event_time_ms, settled_at';

export const settledCursor = (row: CursorRow): SettledCursor => ({
  epoch: Number(row.epoch),
  sequence: Number(row.sequence),
  digest: row.digest,
  timeMs: row.event_time_ms === null ? null : Number(row.event_time_ms),
  settledAtMs: row.settled_at?.getTime() ?? null,
});

const NO_CURSOR = 'the cursor row of the ledger is missing';

const READ_CURSOR = prepared(`select ${CURSOR_COLUMNS} from engine_cursor`);

/** Reads the cursor within a snapshot, whose other rows are as of this cursor. */
export const readCursor = async (ask: Ask): Promise<SettledCursor> =>
  cursorOf(await ask<CursorRow>(READ_CURSOR.text));

/** Reads the position of the cursor in a round trip. */
export const READ_POSITION: Statement = {
  name: 'position',
  text: 'select epoch, sequence from engine_cursor',
};

/** @param row begins with the columns of `READ_POSITION` */
export function positionOf(row: TextRow | undefined): Cursor {
  if (row === undefined) throw new Error(NO_CURSOR);
  return { epoch: Number(row[0]), sequence: Number(row[1]) };
}

export const cursorNow = async (pool: pg.Pool): Promise<SettledCursor> =>
  cursorOf(await askOnce<CursorRow>(pool, READ_CURSOR));

export function cursorOf([row]: readonly CursorRow[]): SettledCursor {
  if (row === undefined) throw new Error(NO_CURSOR);
  return settledCursor(row);
}

/** Returns SQL of the cursor and of a list of lines as of it: one statement is a snapshot by itself. */
export const withCursor = (lines: string): string =>
  `select epoch || ' ' || sequence, (${lines}) from engine_cursor`;

export function readCursorText(text: string | null | undefined): Cursor {
  if (text === null || text === undefined) throw new Error(NO_CURSOR);
  const [epoch, sequence] = text.split(' ');
  return { epoch: Number(epoch), sequence: Number(sequence) };
}
