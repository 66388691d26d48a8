/**
 * Reads rows that lie in segments, each segment by the name of its table: a read of the parent would walk an index of
 * every segment. What a read asks is as of one moment.
 */

import type pg from 'pg';
import type { Cursor } from '../domain/event.ts';
import { rowsOf } from './lines.ts';
import {
  type AskPrepared,
  asking,
  inTime,
  inTransaction,
  isUndefinedTable,
  type PreparedQuery,
  prepared,
  SNAPSHOT,
} from './queries.ts';
import type { Bounds } from './time-span.ts';
import type { Direction } from './walk.ts';

/** Answers of a query of segments: the cursor, further fields, and the lines. */
export interface Answer {
  readonly cursor: Cursor;
  readonly further: readonly string[];
  readonly lines: string | null;
}

/** A query in whose text `{0}` stands for the number of the first segment that it is asked of, `{1}` for the second. */
export interface SegmentQuery extends PreparedQuery {}

/**
 * SQL that tells which segments there are. The time tells apart segments that were made anew after Postgres was put
 * back.
 */
const STAMP = `coalesce(
  (select number || ':' || extract(epoch from made_at) from public.segments order by number desc limit 1), 'none')`;

/** Returns a query of lines, which also answers the cursor and further fields. */
export const ofSegments = (lines: string, further: readonly string[] = [], before = ''): SegmentQuery =>
  prepared(`${before} select concat_ws(' ', ${['epoch', 'sequence', STAMP, ...further].join(', ')}) as place,
    (${lines}) as lines from public.engine_cursor`);

const PLACE = ofSegments('null');

const BOUNDS = 'select from_sequence from public.segments order by number';

const FIRST_TRADE = prepared('select trade_id, time_ms from segments.trades_{0} order by trade_id limit 1');

interface AnswerRow {
  place: string;
  lines: string | null;
}

interface Place extends Cursor {
  readonly stamp: string;
  readonly further: readonly string[];
}

export const NO_CURSOR = 'the cursor row of the ledger is missing';

function placeOf(row: AnswerRow | undefined): Place {
  if (row === undefined) throw new Error(NO_CURSOR);
  const [epoch, sequence, stamp, ...further] = row.place.split(' ');
  return { epoch: Number(epoch), sequence: Number(sequence), stamp: stamp!, further };
}

/** Segments that a list asks, one after the other. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The first trade of a segment. */
export interface FirstTrade {
  readonly tradeId: number;
  readonly timeMs: number;
}

/** The segments that reads know, and what they found in them. */
class Known {
  readonly epoch: number;
  readonly stamp: string;
  /** The segment of the cursor. */
  readonly newest: number;
  readonly #starts: readonly number[];
  /** First trades of segments; null for a segment that has none and never will. */
  readonly firstTrades = new Map<number, FirstTrade | null>();

  constructor({ epoch, sequence, stamp }: Place, starts: readonly number[]) {
    this.epoch = epoch;
    this.stamp = stamp;
    this.#starts = starts;
    this.newest = this.segmentOf(sequence);
  }

  /** Returns the segment of an event, or the one nearest to it. */
  segmentOf(sequence: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#starts[middle]! <= sequence) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Returns the events between which those of a segment lie; those of the newest one have no end. */
  eventsOf = (segment: number): Bounds => ({
    after:
      segment === 0 ? 0 : segment > this.newest ? Number.MAX_SAFE_INTEGER - 1 : this.#starts[segment]! - 1,
    before: segment < this.newest ? this.#starts[segment + 1]! : Number.MAX_SAFE_INTEGER,
  });

  /** True if the segments are those of a place, and the cursor is in the same one. */
  holdsAt({ epoch, sequence, stamp }: Place): boolean {
    return epoch === this.epoch && stamp === this.stamp && this.segmentOf(sequence) === this.newest;
  }

  /** The same segments at another place; those that were found empty may be filled anew if it lies further back. */
  at(place: Place): Known {
    if (this.holdsAt(place)) return this;
    const next = new Known(place, this.#starts);
    if (place.epoch === this.epoch && next.newest > this.newest)
      for (const [segment, first] of this.firstTrades) next.firstTrades.set(segment, first);
    return next;
  }
}

/** Thrown where a read needs more than the one statement that is a snapshot by itself. */
const NEEDS_SNAPSHOT = new Error('the read needs a snapshot');

/** Number of the newest segments whose statements each connection keeps prepared. */
const PREPARED = 2;

/** One moment of the ledger: that of a snapshot, or of the only statement of a read. */
export class Moment {
  readonly #known: Known;
  readonly #ask: AskPrepared;
  readonly #isSnapshot: boolean;
  #asked = false;

  constructor(known: Known, ask: AskPrepared, isSnapshot: boolean) {
    this.#known = known;
    this.#ask = ask;
    this.#isSnapshot = isSnapshot;
  }

  /** The segment of the last settled event. */
  get newest(): number {
    return this.#known.newest;
  }

  /** Returns the segment of an event, or that of the last event for one that is not settled. */
  segmentOf(sequence: number): number {
    return Number.isNaN(sequence) ? this.newest : Math.min(this.#known.segmentOf(sequence), this.newest);
  }

  /** Returns the events between which those of a segment lie. */
  eventsOf(segment: number): Bounds {
    return this.#known.eventsOf(segment);
  }

  /** Asks a query of segments. */
  async ask(query: SegmentQuery, segments: readonly number[], values: readonly unknown[]): Promise<Answer> {
    if (this.#asked && !this.#isSnapshot) throw NEEDS_SNAPSHOT;
    this.#asked = true;
    const [row] = await this.#run<AnswerRow & pg.QueryResultRow>(query, segments, values);
    const place = placeOf(row);
    if (!this.#known.holdsAt(place)) throw NEEDS_SNAPSHOT;
    const { epoch, sequence, further } = place;
    return { cursor: { epoch, sequence }, further, lines: row!.lines };
  }

  /**
   * Asks segments of a range until a page is full.
   * @param valuesOf returns the parameters for what is left of the page
   */
  async page(
    query: SegmentQuery,
    { from, to }: Range,
    limit: number,
    valuesOf: (left: number) => readonly unknown[],
  ): Promise<{ readonly cursor: Cursor; readonly rows: string[][] }> {
    const rows: string[][] = [];
    for (let segment = from; ; segment += from <= to ? 1 : -1) {
      const { cursor, lines } = await this.ask(query, [segment], valuesOf(limit - rows.length));
      rows.push(...rowsOf(lines));
      if (rows.length >= limit || segment === to) return { cursor, rows };
    }
  }

  /** Returns the rows of a query of segments that does not tell its moment, in a snapshot. */
  async rows<Row extends pg.QueryResultRow>(
    query: SegmentQuery,
    segments: readonly number[],
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    if (!this.#isSnapshot) throw NEEDS_SNAPSHOT;
    return this.#run<Row>(query, segments, values);
  }

  /** Prepares the statements of the newest segments alone, so that a connection does not keep the plans of all. */
  #run<Row extends pg.QueryResultRow>(
    { name, text }: SegmentQuery,
    segments: readonly number[],
    values: readonly unknown[],
  ): Promise<Row[]> {
    const own = text.replaceAll(/\{(\d)\}/g, (_all, at) => String(segments[Number(at)]));
    const isKept = segments.every((segment) => segment > this.newest - PREPARED);
    return this.#ask<Row>(isKept ? { name: `${name}.${segments.join('.')}`, text: own } : own, values);
  }

  /** Returns the first trade of a segment, or null if it has none as of this moment. */
  async firstTradeOf(segment: number): Promise<FirstTrade | null> {
    const { firstTrades } = this.#known;
    const known = firstTrades.get(segment);
    if (known !== undefined) return known;
    const [row] = await this.rows<{ trade_id: bigint; time_ms: bigint }>(FIRST_TRADE, [segment]);
    const found = row === undefined ? null : { tradeId: Number(row.trade_id), timeMs: Number(row.time_ms) };
    if (found !== null || segment < this.newest) firstTrades.set(segment, found);
    return found;
  }

  /** Returns the last segment whose first trade lies before a bound, or 0: earlier ones have no trade beyond it. */
  async lastBefore(isBefore: (first: FirstTrade) => boolean): Promise<number> {
    let low = 0;
    let high = this.newest;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      let at = middle;
      let first = await this.firstTradeOf(at);
      while (first === null && at < high) {
        at += 1;
        first = await this.firstTradeOf(at);
      }
      if (first !== null && isBefore(first)) low = at;
      else high = middle - 1;
    }
    return low;
  }
}

/** Returns the segments that have trades between two, in the direction of a list. */
export async function segmentsBetween(
  moment: Moment,
  direction: Direction,
  { after, before }: Bounds,
): Promise<Range> {
  const lowest = after <= 0 ? 0 : await moment.lastBefore(({ tradeId }) => tradeId <= after);
  const highest =
    before === Number.MAX_SAFE_INTEGER
      ? moment.newest
      : await moment.lastBefore(({ tradeId }) => tradeId < before);
  return rangeOf(direction, lowest, highest);
}

/** Returns the segments of a range from the end where a list begins; the first one alone if the range is empty. */
export const rangeOf = (direction: Direction, lowest: number, highest: number): Range =>
  direction === 'asc'
    ? { from: lowest, to: Math.max(lowest, highest) }
    : { from: highest, to: Math.min(lowest, highest) };

export class Moments {
  #known: Known | undefined;

  /**
   * Runs a read as of one moment. A read of one statement is a snapshot by itself, so only a longer one is run in a
   * transaction, from its beginning. So is one that finds other segments than those that are known.
   * @param isLong true for a read that always needs several statements
   */
  async read<Result>(
    pool: pg.Pool,
    read: (moment: Moment) => Promise<Result>,
    isLong = false,
  ): Promise<Result> {
    return inTime(pool, this.#read(pool, read, isLong));
  }

  async #read<Result>(
    pool: pg.Pool,
    read: (moment: Moment) => Promise<Result>,
    isLong: boolean,
  ): Promise<Result> {
    const known = this.#known;
    if (known !== undefined && !isLong)
      try {
        return await read(new Moment(known, asking(pool), false));
      } catch (error) {
        if (error !== NEEDS_SNAPSHOT && !isUndefinedTable(error)) throw error;
      }
    return inTransaction(pool, SNAPSHOT, async (ask) => read(await this.in(ask)));
  }

  /** Returns the moment of a snapshot. */
  async in(ask: AskPrepared): Promise<Moment> {
    const [row] = await ask<AnswerRow & pg.QueryResultRow>(PLACE.text);
    const place = placeOf(row);
    let known = this.#known;
    if (known?.stamp !== place.stamp) {
      const rows = await ask<{ from_sequence: bigint }>(BOUNDS);
      known = new Known(
        place,
        rows.map(({ from_sequence }) => Number(from_sequence)),
      );
    }
    this.#known = known.at(place);
    return new Moment(this.#known, ask, true);
  }
}
