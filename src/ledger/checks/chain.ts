/** Recomputes the chain of events from the rows that they wrote, and compares it with every head that was kept. */

import { canonicalMarketRecord, readMarketRecord } from '../../domain/market-record.ts';
import { BatchContent, HALF_LINK, headAfter, LINES, LINK_CHARACTERS } from '../chain.ts';
import type { Ask } from '../queries.ts';
import { partsOf, type Span, textOf } from '../span.ts';
import { cursorRows } from '../stream-rows.ts';
import {
  ADOPTED_BALANCES,
  ADOPTED_FILLS,
  ADOPTED_PRICES,
  ADOPTIONS,
  CHANGING_OF_ORDERS,
  type Columns,
  FIXED_OF_ORDERS,
  MARKET_VERSIONS,
  MOVEMENTS,
  OPERATOR_ACTS,
  rowTextOf,
  SETTING_CHANGES,
  TRADES,
} from '../tables.ts';
import type { Check, Violation } from './query.ts';

/** A place of the chain as it was noted outside of Postgres. */
interface NotedHead {
  readonly sequence: number;
  readonly head: string;
  /** Event after which the chain began. */
  readonly begins?: number;
}

const MAX_VIOLATIONS = 100;
const BATCHES_OF_PAGE = 1_000;
/** Maximum rows that a difference names. */
const MAX_NAMES = 5;

/** SQL of the lines of a table, of which `key` gives the order within an event. */
const linesOf = (
  line: keyof typeof LINES,
  table: string,
  columns: Columns,
  { key = `''`, sequence = 'sequence', time = 'time_ms', where = 'true' } = {},
): string => `
    select ${sequence} as sequence, '${LINES[line]}' as line, ${key} as key, ${rowTextOf(columns)} as text, ${time} as time_ms
    from ${table} where ${sequence} > {from} and ${sequence} <= {to} and ${where}`;

const ENDED_OF_PART = 'segments.ended_orders_{segment}';

/** @param sequence SQL of the event that ended the order */
const endsOf = (table: string, sequence: string): string =>
  linesOf(
    'closed',
    table,
    { id: 'plain', ...CHANGING_OF_ORDERS },
    { key: 'id', sequence, time: 'updated_at_ms', where: `status <> 'filled'` },
  );

/** The rows of the events of a part, event by event, as the lines of their texts. */
const ROWS = `
  select sequence, line, text, time_ms from (${[
    ...[ENDED_OF_PART, 'public.late_orders', 'public.live_orders'].map((table) =>
      linesOf('order', table, FIXED_OF_ORDERS, { time: 'created_at_ms' }),
    ),
    linesOf('trade', 'segments.trades_{segment}', TRADES, { key: `lpad(trade_id::text, 16, '0')` }),
    // An end in a later segment is wrong here, so it stands at the last event of this one.
    endsOf(ENDED_OF_PART, 'least(closed_sequence, {end})'),
    endsOf('public.late_orders', 'closed_sequence'),
    linesOf('movement', 'public.movements', MOVEMENTS),
    linesOf('market', 'public.market_versions', MARKET_VERSIONS, { key: 'market' }),
    linesOf('setting', 'public.setting_changes', SETTING_CHANGES),
    linesOf('act', 'public.operator_acts', OPERATOR_ACTS),
    linesOf('adoption', 'public.adoptions', ADOPTIONS),
    linesOf('adopted', 'public.adopted_balances', ADOPTED_BALANCES, {
      key: `concat_ws(E'\\t', account, asset)`,
    }),
    linesOf('adopted', 'public.adopted_fills', ADOPTED_FILLS, { key: 'order_id' }),
    linesOf('adopted', 'public.adopted_prices', ADOPTED_PRICES, { key: 'market' }),
  ].join('\n    union all')}
  ) as rows order by sequence, line, key collate "C"`;

const LINE_NAMES = new Map(Object.entries(LINES).map(([name, line]) => [line as string, name]));

interface EventRow {
  sequence: bigint;
  line: string;
  text: string;
  time_ms: bigint;
}

/** Yields the rows of a span part by part, so that no sort is larger than a segment. */
async function* rowsOfSpan(ask: Ask, span: Span): AsyncGenerator<EventRow> {
  for (const part of await partsOf(ask, span)) yield* cursorRows<EventRow>(ask, textOf(ROWS, part));
}

/** Returns a line as settlement wrote it. Postgres writes the record of a market in its own way. */
function lineOf({ line, text }: EventRow): string {
  if (line !== LINES.market) return `${line}${text}\n`;
  const fields = text.split('\t');
  const last = Object.keys(MARKET_VERSIONS).length - 1;
  try {
    const record = canonicalMarketRecord(readMarketRecord(fields.slice(last).join('\t')));
    return `${line}${[...fields.slice(0, last), record].join('\t')}\n`;
  } catch {
    return `${line}${text}\n`;
  }
}

/** Rows of one event, as lines. */
interface EventRows {
  readonly sequence: number;
  readonly lines: string[];
}

/** Yields every event from the first one on, also events without rows. */
async function* eventsOf(
  rows: AsyncIterable<EventRow>,
  first: number,
  last: number,
): AsyncGenerator<EventRows> {
  let event: EventRows = { sequence: first, lines: [] };
  for await (const row of rows) {
    for (const of = Number(row.sequence); event.sequence < of && event.sequence <= last; ) {
      yield event;
      event = { sequence: event.sequence + 1, lines: [] };
    }
    event.lines.push(lineOf(row));
  }
  for (; event.sequence <= last; event = { sequence: event.sequence + 1, lines: [] }) yield event;
}

/** The contents of events as settlement writes them together, from their lines. */
class BatchOfLines {
  readonly #content = new BatchContent();
  readonly #trades: Buffer[] = [];

  /** Adds the next event, and returns its link. */
  add(lines: readonly string[]): string {
    const [placed] = lines.filter((line) => line.startsWith(LINES.order));
    const trades = lines.filter((line) => line.startsWith(LINES.trade)).map((line) => line.slice(1));
    const others = lines.filter((line) => line !== placed && !line.startsWith(LINES.trade));
    const rows = trades.length === 0 ? undefined : Buffer.from(trades.join(''));
    if (rows !== undefined) this.#trades.push(rows);
    return this.#content.add(placed?.slice(1, -1), rows, others.join(''));
  }

  digest(): string {
    return this.#content.digest(this.#trades);
  }
}

/** The first rows that a link does not fit, by the names of their lines and their first fields. */
function rowsNamed(lines: readonly string[], expected: string, found: string): string {
  const isOrderWrong = expected.slice(0, HALF_LINK) !== found.slice(0, HALF_LINK);
  const areOthersWrong = expected.slice(HALF_LINK) !== found.slice(HALF_LINK);
  const wrong = lines.filter((line) => (line.startsWith(LINES.order) ? isOrderWrong : areOthersWrong));
  const names = wrong.slice(0, MAX_NAMES).map((line) => {
    const name = LINE_NAMES.get(line[0]!);
    return `${name} ${line.slice(1).split(/[\t\n]/, 1)[0]}`;
  });
  const more = wrong.length - names.length;
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ') || 'no rows';
}

/** Compares links and heads as they are recomputed, in the order of events. */
class HeadComparison {
  /** The first differences. */
  readonly violations: Violation[] = [];
  /** All differences. */
  count = 0;
  readonly #kept: Map<number, [subject: string, head: string][]>;
  /** The last event that agreed with a whole head. */
  #agreed: number;

  constructor(first: number, kept: readonly (readonly [subject: string, head: NotedHead])[]) {
    this.#agreed = first;
    this.#kept = new Map();
    for (const [subject, { sequence, head }] of kept)
      this.#kept.set(sequence, [...(this.#kept.get(sequence) ?? []), [subject, head]]);
  }

  add(violation: Violation): void {
    this.count += 1;
    if (this.violations.length < MAX_VIOLATIONS) this.violations.push(violation);
  }

  /** Compares the link of one event, which follows from the rows of that event alone. */
  link({ sequence, lines }: EventRows, expected: string, found: string): void {
    if (found.startsWith(expected)) return;
    this.add({
      subject: `event ${sequence}`,
      expected: `rows of a link ${expected}`,
      found: `${found}: ${rowsNamed(lines, expected, found)}`,
    });
  }

  whole(sequence: number, head: string): void {
    for (const [subject, expected] of this.#kept.get(sequence) ?? []) {
      if (expected === head) this.#agreed = sequence;
      else
        this.add({
          subject: `${subject} at event ${sequence}`,
          expected,
          found: `${head}: an event after ${this.#agreed} differs`,
        });
    }
    this.#kept.delete(sequence);
  }

  /** Reports heads of events that are not there. */
  missing(): void {
    for (const [sequence, kept] of this.#kept)
      for (const [subject, expected] of kept)
        this.add({
          subject: `${subject} at event ${sequence}`,
          expected,
          found: 'no such event, or one within a batch',
        });
  }
}

/** Links of the events of one batch. */
interface LinkedBatch {
  readonly last: number;
  readonly links: string;
  /** Characters of each link: 0 in a seam, undefined if the row has not one link for each event. */
  readonly width: number | undefined;
}

/** Yields the batches that wrote the events, in pages, because a cursor is open meanwhile. */
async function* batchesAfter(ask: Ask, first: number): AsyncGenerator<LinkedBatch> {
  let before = first;
  for (;;) {
    const page = await ask<{ sequence: bigint; links: string; is_seam: boolean }>(
      `select sequence, links,
         exists (select from public.adoptions where adoptions.sequence = chain_links.sequence) as is_seam
       from public.chain_links where sequence > $1 order by sequence limit $2`,
      [before, BATCHES_OF_PAGE],
    );
    for (const { sequence, links, is_seam: isSeam } of page) {
      const last = Number(sequence);
      const width = isSeam ? 0 : LINK_CHARACTERS;
      yield { last, links, width: links.length === width * (last - before) ? width : undefined };
      before = last;
    }
    if (page.length < BATCHES_OF_PAGE) return;
  }
}

/** Recomputes the chain, event by event, from where it begins. */
class ChainWalk {
  readonly #batches: AsyncGenerator<LinkedBatch>;
  readonly #comparison: HeadComparison;
  #head: string;
  /** The batch of the next event; undefined when its links are wrong, so that nothing after it can be recomputed. */
  #batch: LinkedBatch | undefined;
  /** The event before that batch. */
  #before: number;
  #content = new BatchOfLines();

  constructor(batches: AsyncGenerator<LinkedBatch>, comparison: HeadComparison, first: NotedHead) {
    this.#batches = batches;
    this.#comparison = comparison;
    this.#head = first.head;
    this.#before = first.sequence;
  }

  get isWhole(): boolean {
    return this.#batch !== undefined;
  }

  /** Opens the batch of the next event. */
  async open(): Promise<void> {
    const { value: batch } = (await this.#batches.next()) as { value: LinkedBatch | undefined };
    this.#batch = batch?.width === undefined ? undefined : batch;
    if (this.#batch === undefined)
      this.#comparison.add({
        subject: `chain_links of event ${batch?.last ?? this.#before + 1}`,
        expected: `links of the events from ${this.#before + 1} on`,
        found: batch === undefined ? 'no row' : `${batch.links.length} characters`,
      });
  }

  /** @param end the last event of the ledger */
  async add(event: EventRows, end: number): Promise<void> {
    if (this.#batch === undefined) return;
    const { sequence, lines } = event;
    const { last, links } = this.#batch;
    const width = this.#batch.width!;
    const at = (sequence - this.#before - 1) * width;
    const link = links.slice(at, at + width);
    this.#comparison.link(event, link, this.#content.add(lines));
    if (sequence < last) return;
    this.#head = headAfter(this.#head, sequence, this.#content.digest());
    this.#content = new BatchOfLines();
    this.#comparison.whole(sequence, this.#head);
    if (sequence === end) return;
    this.#before = last;
    await this.open();
  }
}

/** Passes rows on, and reports those whose time lies before that of an earlier event. */
async function* inTime(rows: AsyncIterable<EventRow>, violations: Violation[]): AsyncGenerator<EventRow> {
  let lastMs = 0n;
  let lastSequence = 0n;
  for await (const row of rows) {
    if (row.time_ms < lastMs && violations.length < MAX_VIOLATIONS)
      violations.push({
        subject: `event ${row.sequence}`,
        expected: `a time that is not before that of event ${lastSequence}, ${lastMs}`,
        found: `${row.time_ms}`,
      });
    else [lastMs, lastSequence] = [row.time_ms, row.sequence];
    yield row;
  }
}

export const TIMES_CHECK = {
  name: 'times rise with events',
  meaning: 'no event has an earlier time than the events before it',
  proof: 'times of events, which the script never sets back, whatever the clock of its Redis does',
};

export const CHAIN_CHECK = {
  name: 'chain of events',
  meaning:
    'each event wrote the rows that are there, by checksums of each event and digests that follow from each other',
  proof:
    'SHA-256 over all rows of events, computed outside of Postgres; with a checkpoint nobody can make it anew',
};

/** Returns the head after the last event of a span whose rows were written together. */
export async function headOfSpan(ask: Ask, head: string, after: number, last: number): Promise<string> {
  const content = new BatchOfLines();
  const rows = rowsOfSpan(ask, { from: after, to: last });
  for await (const { lines } of eventsOf(rows, after + 1, last)) content.add(lines);
  return headAfter(head, last, content.digest());
}

interface HeadRow {
  readonly sequence: bigint;
  readonly head: string;
}

const headOf = ({ sequence, head }: HeadRow): NotedHead => ({ sequence: Number(sequence), head });

/** The kept heads from the last one before a span to the last one in it. */
const KEPT_HEADS = `select sequence, head from public.chain_heads
  where sequence >= coalesce((select max(sequence) from public.chain_heads where sequence <= $1),
    (select min(sequence) from public.chain_heads)) and sequence <= $2 order by sequence`;

/** True if a span lies before the event after which the chain begins. */
const IS_BEFORE = 'select from public.chain_heads having min(sequence) >= $1';

/** The head of the seal of the segment before a span, after which no head was kept in that segment. */
const SEALED_HEAD =
  'select head_sequence as sequence, head from public.seals where to_sequence = $1::bigint + 1';

/** Returns the end of the batch that has the last event of a span. The links of a batch stand at its end. */
async function endOfBatch(ask: Ask, { to }: Span): Promise<number> {
  const [batch] = await ask<{ sequence: bigint | null }>(
    'select min(sequence) as sequence from public.chain_links where sequence >= $1',
    [to],
  );
  return Number(batch!.sequence ?? to);
}

/** Compares links and heads after one that was kept. @param end `last` is the last event, beyond which no row may be */
async function walkChain(
  ask: Ask,
  begin: NotedHead,
  { last, to }: { readonly last: number; readonly to: number },
  comparison: HeadComparison,
): Promise<Violation[]> {
  const first = begin.sequence;
  comparison.whole(first, begin.head);
  const early: Violation[] = [];
  const walk = new ChainWalk(batchesAfter(ask, first), comparison, begin);
  if (last > first) await walk.open();
  const rows = inTime(rowsOfSpan(ask, { from: first, to }), early);
  for await (const event of eventsOf(rows, first + 1, last)) await walk.add(event, last);
  if (walk.isWhole) comparison.missing();
  return early;
}

/**
 * Recomputes the chain from the last kept head before a span, or from where it begins, to the end of its last batch.
 * @param ask in a snapshot
 * @param noted heads that were noted elsewhere
 */
export async function checkChain(ask: Ask, noted: readonly NotedHead[], span: Span): Promise<Check[]> {
  const kept = await ask<HeadRow>(KEPT_HEADS, [span.from, span.to]);
  const sealed = await ask<HeadRow>(SEALED_HEAD, [span.from]);
  const [cursor] = await ask<HeadRow>('select sequence, head from public.engine_cursor');
  const [begin] = kept;
  if (begin === undefined && (await ask(IS_BEFORE, [span.to])).length > 0)
    return [CHAIN_CHECK, TIMES_CHECK].map((check) => ({ ...check, count: 0, violations: [] }));
  if (begin === undefined || cursor === undefined) {
    const missing = {
      subject: 'chain_heads',
      expected: 'the row in which the chain begins',
      found: 'no row',
    };
    return [{ ...CHAIN_CHECK, count: 1, violations: [missing] }];
  }
  const first = Number(begin.sequence);
  const isOpen = span.to >= Number(cursor.sequence);
  const last = isOpen ? Number(cursor.sequence) : await endOfBatch(ask, span);
  const inSpan = ({ sequence }: NotedHead): boolean =>
    (sequence >= first || span.from <= 0) && (sequence <= last || isOpen);
  const comparison = new HeadComparison(first, [
    ...kept.map((row) => ['chain_heads', headOf(row)] as const),
    ...sealed.map((row) => ['seals', headOf(row)] as const),
    ...(isOpen ? [['engine_cursor', headOf(cursor)] as const] : []),
    ...noted.filter(inSpan).map((head) => ['checkpoint', head] as const),
  ]);
  for (const { begins } of noted)
    if (begins !== undefined && begins < first && span.from <= 0)
      comparison.add({
        subject: 'chain_heads',
        expected: `a chain that begins after event ${begins}`,
        found: `it begins after event ${first}`,
      });
  const end = { last, to: isOpen ? span.to : last };
  const early = await walkChain(ask, headOf(begin), end, comparison);
  const { count, violations } = comparison;
  return [
    { ...CHAIN_CHECK, count, violations },
    { ...TIMES_CHECK, count: early.length, violations: early },
  ];
}
