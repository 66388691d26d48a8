/** The last engine event that the ledger contains. */

import type pg from 'pg';
import type { Cursor } from '../domain/event.ts';
import { type Answer, type Moment, NO_CURSOR, ofSegments, type SegmentQuery } from './moment.ts';
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

const READ_CURSOR = prepared(`select ${CURSOR_COLUMNS} from public.engine_cursor`);

/** Reads the cursor within a snapshot, whose other rows are as of this cursor. */
export const readCursor = async (ask: Ask): Promise<SettledCursor> =>
  cursorOf(await ask<CursorRow>(READ_CURSOR.text));

/** Reads the position of the cursor in a round trip. */
export const READ_POSITION: Statement = {
  name: 'position',
  text: 'select epoch, sequence from public.engine_cursor',
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

/**
 * The cursor of a read, and the end of the chain there. What was made of the rows up to a place holds as long as the
 * ledger has the place: a ledger that was put back to an earlier moment may have other events under the same sequences.
 */
export interface SettledPlace extends Cursor {
  /** The last links of the batch that ended there; '' where there was none. */
  readonly links: string;
}

/** A read that goes on from an earlier one. */
export interface ReadOn {
  readonly place: SettledPlace;
  /** False if the ledger has the earlier place no more. Everything read before is void then, and so is this read. */
  readonly goesOn: boolean;
}

/** Each event has a link of eight characters. */
const LAST_LINKS = 'right(links, 64)';

/**
 * Returns a query like `ofSegments`, for reads that go on from an earlier one. `{0}` is the segment of the last event,
 * and `{1}` that of the earlier place.
 * @param first number of the first of the two parameters that `placeParameters` makes
 */
export const withPlace = (lines: string, first: number): SegmentQuery =>
  ofSegments(lines, [
    `$${first}::bigint = 0 or exists (
      select from segments.chain_links_{1} where sequence = $${first} and ${LAST_LINKS} = $${first + 1}::text)`,
    `(select ${LAST_LINKS} from segments.chain_links_{0} as link where link.sequence = engine_cursor.sequence)`,
  ]);

/** The segments of `withPlace`. */
export const segmentsOfPlace = (
  moment: Moment,
  from: SettledPlace | null,
): [newest: number, place: number] => [
  moment.newest,
  from === null ? moment.newest : moment.segmentOf(from.sequence),
];

/** @param from the place of the earlier read; null: this is the first one */
export const placeParameters = (from: SettledPlace | null): [number, string] => [
  from?.sequence ?? 0,
  from?.links ?? '',
];

/** @param answer of a query by `withPlace` */
export function readOn({ cursor, further: [goesOn, links = ''] }: Answer): ReadOn {
  return { place: { ...cursor, links }, goesOn: goesOn === 't' };
}

/** Returns SQL of the cursor and of a list of lines as of it: one statement is a snapshot by itself. */
export const withCursor = (lines: string): string =>
  `select epoch || ' ' || sequence, (${lines}) from public.engine_cursor`;

export function readCursorText(text: string | null | undefined): Cursor {
  if (text === null || text === undefined) throw new Error(NO_CURSOR);
  const [epoch, sequence] = text.split(' ');
  return { epoch: Number(epoch), sequence: Number(sequence) };
}
