/** Recomputes the chain of events from the rows that they wrote, and compares it with every head that was kept. */

import { canonicalMarketRecord, readMarketRecord } from '../../domain/market-record.ts';
import { headAfter, LINES, LINK_CHARACTERS } from '../chain.ts';
import { digestOfOrder } from '../order-rows.ts';
import type { Ask } from '../queries.ts';
import { cursorRows } from '../stream-rows.ts';
import { TRADE_COLUMNS } from '../trade-rows.ts';
import type { Check, Violation } from './query.ts';

/** A place of the chain as it was noted outside of Postgres. */
interface NotedHead {
  readonly sequence: number;
  readonly head: string;
  /** Event after which the chain began. */
  readonly begins?: number;
}

const MAX_VIOLATIONS = 100;
const TAB = `E'\\t'`;

/**
 * The rows of all events after $1, event by event, as the lines of their texts. No function of the database is used: an
 * insider may have replaced it.
 */
const ROWS = `
  select sequence, line, text, time_ms from (
    select sequence, '${LINES.order}' as line, '' as key, concat_ws(${TAB}, id, wallet, market, side, type, time_in_force,
      case when post_only then 't' else 'f' end, coalesce(price_ticks::text, '\\N'), size_steps, created_at_ms, sequence,
      base, quote, base_atoms_per_step, quote_atoms_per_lot, coalesce(reject_reason, '\\N'),
      coalesce(encode(float8send(leverage), 'hex'), '\\N'), client_order_id) as text, created_at_ms as time_ms
    from orders where sequence > $1
    union all
    select sequence, '${LINES.trade}', lpad(trade_id::text, 16, '0'), concat_ws(${TAB}, ${TRADE_COLUMNS}), time_ms
    from trades where sequence > $1
    union all
    select closed_sequence, '${LINES.closed}', id, concat_ws('/', id, filled_steps, fill_count, status, updated_at_ms,
      updated_sequence, closed_sequence, reason), updated_at_ms
    from orders where closed_sequence > $1
    union all
    select sequence, '${LINES.movement}', '',
      concat_ws(${TAB}, sequence, kind, wallet, asset, amount_atoms, time_ms, reference), time_ms
    from movements where sequence > $1
    union all
    select sequence, '${LINES.market}', market, concat_ws(${TAB}, market, fee_bps, time_ms, record), time_ms
    from market_versions where sequence > $1
    union all
    select sequence, '${LINES.setting}', '', json_build_array(kind, subject, value, time_ms)::text, time_ms
    from setting_changes where sequence > $1
    union all
    select sequence, '${LINES.act}', '',
      json_build_array(name, operator, reason, wallet, market, asset, subject, before, after, time_ms)::text, time_ms
    from operator_acts where sequence > $1
    union all
    select sequence, '${LINES.reversal}', '', reverses, time_ms from movements where sequence > $1 and reverses is not null
    union all
    select sequence, '${LINES.payment}', '', txid, time_ms from movements where sequence > $1 and txid is not null
  ) as rows order by sequence, line, key collate "C"`;

interface EventRow {
  sequence: bigint;
  line: string;
  text: string;
  time_ms: bigint;
}

/** Returns a line as settlement wrote it. */
function contentOf({ line, text }: EventRow): string {
  if (line === LINES.order) return digestOfOrder(text);
  if (line === LINES.setting || line === LINES.act) return JSON.stringify(JSON.parse(text));
  if (line !== LINES.market) return text;
  const [symbol, feeBps, timeMs, ...record] = text.split('\t');
  try {
    return [symbol, feeBps, timeMs, canonicalMarketRecord(readMarketRecord(record.join('\t')))].join('\t');
  } catch {
    return text;
  }
}

/** Yields the text of every event from the first one on, also of events without rows. */
async function* textsOf(
  rows: AsyncIterable<EventRow>,
  first: number,
  last: number,
): AsyncGenerator<readonly [sequence: number, text: string]> {
  let [sequence, text] = [first, ''];
  for await (const row of rows) {
    for (const of = Number(row.sequence); sequence < of && sequence <= last; sequence += 1) {
      yield [sequence, text];
      text = '';
    }
    text += `${row.line}${contentOf(row)}\n`;
  }
  for (; sequence <= last; sequence += 1) {
    yield [sequence, text];
    text = '';
  }
}

/** Compares heads as they are recomputed, in the order of events. */
class HeadComparison {
  readonly violations: Violation[] = [];
  readonly #kept: Map<number, [subject: string, head: string][]>;
  /** The last event that agreed with a whole head. */
  #agreed: number;
  #differs = false;

  constructor(first: number, kept: readonly (readonly [subject: string, head: NotedHead])[]) {
    this.#agreed = first;
    this.#kept = new Map();
    for (const [subject, { sequence, head }] of kept)
      this.#kept.set(sequence, [...(this.#kept.get(sequence) ?? []), [subject, head]]);
  }

  link(sequence: number, expected: string | undefined, head: string): void {
    if (this.#differs || expected === head.slice(0, LINK_CHARACTERS)) return;
    this.#differs = true;
    this.violations.push({
      subject: `event ${sequence}`,
      expected: `rows of a head that begins with ${expected ?? 'nothing: no link was kept'}`,
      found: head,
    });
  }

  whole(sequence: number, head: string): void {
    for (const [subject, expected] of this.#kept.get(sequence) ?? []) {
      if (expected === head) this.#agreed = sequence;
      else
        this.violations.push({
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
        this.violations.push({
          subject: `${subject} at event ${sequence}`,
          expected,
          found: 'no such event',
        });
  }
}

/** Passes rows on, and reports those whose time lies before that of an earlier event. */
async function* inTime(rows: AsyncIterable<EventRow>, violations: Violation[]): AsyncGenerator<EventRow> {
  let [lastMs, lastSequence] = [0n, 0n];
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

const TIMES_CHECK = {
  name: 'times rise with events',
  meaning: 'no event has an earlier time than the events before it',
};

const CHAIN_CHECK = {
  name: 'chain of events',
  meaning: 'each event wrote the rows that are there, by digests that follow from each other',
};

/**
 * @param ask in a snapshot
 * @param noted heads that were noted elsewhere
 */
export async function checkChain(ask: Ask, noted: readonly NotedHead[]): Promise<Check[]> {
  const kept = await ask<{ sequence: bigint; head: string }>(
    'select sequence, head from chain_heads order by sequence',
  );
  const [cursor] = await ask<{ sequence: bigint; head: string }>('select sequence, head from engine_cursor');
  const [begin] = kept;
  if (begin === undefined || cursor === undefined) {
    const missing = {
      subject: 'chain_heads',
      expected: 'the row in which the chain begins',
      found: 'no row',
    };
    return [{ ...CHAIN_CHECK, count: 1, violations: [missing] }];
  }
  const headOf = (row: { sequence: bigint; head: string }): NotedHead => ({
    ...row,
    sequence: Number(row.sequence),
  });
  const [first, last] = [Number(begin.sequence), Number(cursor.sequence)];
  const comparison = new HeadComparison(first, [
    ...kept.map((row) => ['chain_heads', headOf(row)] as const),
    ['engine_cursor', headOf(cursor)],
    ...noted.map((head) => ['checkpoint', head] as const),
  ]);
  for (const { begins } of noted)
    if (begins !== undefined && begins < first)
      comparison.violations.push({
        subject: 'chain_heads',
        expected: `a chain that begins after event ${begins}`,
        found: `it begins after event ${first}`,
      });
  comparison.whole(first, begin.head);
  const links = await readLinks(ask, first, comparison);
  let head = begin.head;
  const early: Violation[] = [];
  const rows = inTime(cursorRows<EventRow>(ask, ROWS, [first]), early);
  for await (const [sequence, text] of textsOf(rows, first + 1, last)) {
    head = headAfter(head, sequence, text);
    comparison.link(sequence, links(sequence), head);
    comparison.whole(sequence, head);
  }
  comparison.missing();
  const { violations } = comparison;
  return [
    { ...CHAIN_CHECK, count: violations.length, violations },
    { ...TIMES_CHECK, count: early.length, violations: early },
  ];
}

/** Returns the links by event. They take four bytes an event, so all of them are held. */
async function readLinks(
  ask: Ask,
  first: number,
  { violations }: HeadComparison,
): Promise<(sequence: number) => string | undefined> {
  const parts: string[] = [];
  let next = first + 1;
  for await (const row of cursorRows<{ sequence: bigint; links: string }>(
    ask,
    'select sequence, links from chain_links where sequence > $1 order by sequence',
    [first],
  )) {
    const sequence = Number(row.sequence);
    if (row.links.length !== (sequence - next + 1) * LINK_CHARACTERS) {
      violations.push({
        subject: `chain_links of event ${sequence}`,
        expected: `links of the events from ${next} on`,
        found: `${row.links.length / LINK_CHARACTERS} links`,
      });
      return () => undefined;
    }
    parts.push(row.links);
    next = sequence + 1;
  }
  const all = Buffer.from(parts.join(''), 'latin1');
  return (sequence) => {
    const at = (sequence - first - 1) * LINK_CHARACTERS;
    return at + LINK_CHARACTERS > all.length ? undefined : all.toString('latin1', at, at + LINK_CHARACTERS);
  };
}
