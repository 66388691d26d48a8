/**
 * Reads rows that lie in segments, each segment by the name of its table: a read of the parent would walk an index of
 * every segment. What a read asks is as of one moment.
 */

import type pg from 'pg';
import type { Cursor } from '../domain/event.ts';
import { placedIn } from '../domain/order.ts';
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

/** The trades of one segment. */
export const TRADES = 'segments.trades_{0}';

const FIRST_TRADE = prepared(`select trade_id, sequence, time_ms from ${TRADES} order by trade_id limit 1`);

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
  readonly sequence: number;
  readonly timeMs: number;
}

/** Number of the newest segments whose statements each connection keeps prepared. */
const PREPARED = 2;

const textOf = (text: string, segments: readonly number[]): string =>
  text.replaceAll(/\{(\d)\}/g, (_all, at) => String(segments[Number(at)]));

interface FirstTradeRow {
  trade_id: bigint;
  sequence: bigint;
  time_ms: bigint;
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
  /** Statements of the newest segments, by name. */
  readonly #statements = new Map<string, PreparedQuery>();

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

  /** Returns a query as it is asked of segments. Each connection keeps the statements of the newest ones prepared. */
  statementOf({ name, text }: SegmentQuery, segments: readonly number[]): PreparedQuery | string {
    if (segments.some((segment) => segment <= this.newest - PREPARED)) return textOf(text, segments);
    const own = `${name}.${segments.join('.')}`;
    let statement = this.#statements.get(own);
    if (statement === undefined) {
      statement = { name: own, text: textOf(text, segments) };
      this.#statements.set(own, statement);
    }
    return statement;
  }

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

/** A list that lies in segments. */
interface SegmentedPage<Item> {
  readonly range: Range;
  readonly limit: number;
  /** SQL that is true for a segment that has rows of the list, and its parameters. */
  readonly held?: Held;
  /**
   * Asks a segment.
   * @param left how many more items make the page full
   * @param found the items of the segments before
   */
  ask(segment: number, left: number, found: readonly Item[]): Promise<readonly Item[]>;
  /** Returns how many items of the page one counts as; 1 unless given. */
  countOf?(item: Item): number;
}

/** SQL that is true for some segments: `{0}` stands for the number of one, `{after}` and `{before}` for the events between which it lies. */
export interface Held {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** Segments that one statement looks into: those whose numbers have the same quotient. */
const LOOKED_INTO = 64;
const groupOf = (segment: number): number => Math.floor(segment / LOOKED_INTO);

/** One moment of the ledger: that of a snapshot, or of the only statement of a read. */
export class Moment {
  readonly #known: Known;
  readonly #ask: AskPrepared;
  readonly #isSnapshot: boolean;
  #cursor: Cursor | undefined;

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

  /** Returns the segment in which an order was placed. */
  segmentOfOrder(orderId: string): number {
    return this.segmentOf(placedIn(orderId));
  }

  /** Returns ids of orders by the segment in which each was placed. */
  bySegment(orderIds: Iterable<string>): Map<number, string[]> {
    const ids = new Map<number, string[]>();
    for (const id of orderIds) {
      const segment = this.segmentOfOrder(id);
      const own = ids.get(segment);
      if (own === undefined) ids.set(segment, [id]);
      else own.push(id);
    }
    return ids;
  }

  /** Returns the events between which those of a segment lie. */
  eventsOf(segment: number): Bounds {
    return this.#known.eventsOf(segment);
  }

  /** The last settled event, once a query of segments was asked. */
  get cursor(): Cursor {
    if (this.#cursor === undefined) throw new Error('a read has no cursor before it asks');
    return this.#cursor;
  }

  /** Asks a query of segments. */
  async ask(query: SegmentQuery, segments: readonly number[], values: readonly unknown[]): Promise<Answer> {
    if (this.#cursor !== undefined && !this.#isSnapshot) throw NEEDS_SNAPSHOT;
    const [row] = await this.#ask<AnswerRow & pg.QueryResultRow>(
      this.#known.statementOf(query, segments),
      values,
    );
    const place = placeOf(row);
    if (!this.#known.holdsAt(place)) throw NEEDS_SNAPSHOT;
    const { epoch, sequence, further } = place;
    this.#cursor = { epoch, sequence };
    return { cursor: this.#cursor, further, lines: row!.lines };
  }

  /** Returns the rows of a query of segments that does not tell its moment, in a snapshot. */
  async rows<Row extends pg.QueryResultRow>(
    query: SegmentQuery,
    segments: readonly number[],
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    if (!this.#isSnapshot) throw NEEDS_SNAPSHOT;
    return this.#ask<Row>(this.#known.statementOf(query, segments), values);
  }

  /** Asks segments of a range until a page is full. */
  async page<Item>({ range, limit, held, ask, countOf = () => 1 }: SegmentedPage<Item>): Promise<Item[]> {
    const found: Item[] = [];
    let left = limit;
    for await (const segment of this.#segmentsOf(range, held)) {
      const items = await ask(segment, left, found);
      found.push(...items);
      left -= items.reduce((sum, item) => sum + countOf(item), 0);
      if (left <= 0) break;
    }
    return found;
  }

  /**
   * Yields the segments of a range. Few rows may lie far apart, so beyond the first segments one statement looks into
   * many, and those without rows are left out.
   */
  async *#segmentsOf({ from, to }: Range, held: Held | undefined): AsyncGenerator<number> {
    const step = from <= to ? 1 : -1;
    const segments = Array.from({ length: Math.abs(to - from) + 1 }, (_none, at) => from + step * at);
    yield* segments.splice(0, PREPARED);
    while (segments.length > 0) {
      const group = groupOf(segments[0]!);
      const beyond = segments.findIndex((segment) => groupOf(segment) !== group);
      const next = segments.splice(0, beyond === -1 ? segments.length : beyond);
      if (held === undefined || next.length === 1) yield* next;
      else {
        const holding = await this.#holding(group, held);
        yield* next.filter((segment) => holding.has(segment));
      }
    }
  }

  /**
   * Returns those segments of a group that hold rows. Planning the statement takes far longer than running it, so a
   * connection keeps it prepared: it is the same one wherever in the group a list begins.
   */
  async #holding(group: number, { sql, values }: Held): Promise<ReadonlySet<number>> {
    if (!this.#isSnapshot) throw NEEDS_SNAPSHOT;
    const first = group * LOOKED_INTO;
    const count = Math.min(LOOKED_INTO, this.newest + 1 - first);
    const each = Array.from({ length: count }, (_none, at) => {
      const { after, before } = this.eventsOf(first + at);
      const own = sql.replaceAll('{after}', String(after)).replaceAll('{before}', String(before));
      return `select ${first + at} as number where ${textOf(own, [first + at])}`;
    });
    const rows = await this.#ask<{ number: number }>(prepared(each.join(' union all ')), values);
    return new Set(rows.map(({ number }) => number));
  }

  /** Returns the first trade of a segment, or null if it has none as of this moment. */
  async firstTradeOf(segment: number): Promise<FirstTrade | null> {
    const { firstTrades } = this.#known;
    const known = firstTrades.get(segment);
    if (known !== undefined) return known;
    const [row] = await this.rows<FirstTradeRow>(FIRST_TRADE, [segment]);
    const found =
      row === undefined
        ? null
        : { tradeId: Number(row.trade_id), sequence: Number(row.sequence), timeMs: Number(row.time_ms) };
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
