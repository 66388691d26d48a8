/** Spans of events over which the checks of the ledger read, and the parts of a span, one for each segment. */

import type { Ask } from './queries.ts';

/** The events after `from`, up to and including `to`. Each is the last event of a segment, or no limit. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The events of a span that lie in one segment. The last part of an open span has no end. */
export interface Part extends Span {
  readonly segment: number;
  /** The last event of the segment. */
  readonly end: number;
}

/** All events, also those that no segment or cursor allows, so that no row is left out. */
export const WHOLE_HISTORY: Span = { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER };

const PARTS = `select number, from_sequence, to_sequence from public.segments
  where to_sequence > $1::bigint + 1 and from_sequence <= $2 order by number`;

/**
 * Returns the parts of a span in their order.
 * @throws RangeError when there is no segment
 */
export async function partsOf(ask: Ask, { from, to }: Span): Promise<Part[]> {
  const rows = await ask<{ number: number; from_sequence: bigint; to_sequence: bigint }>(PARTS, [from, to]);
  if (rows.length === 0) throw new RangeError('no segment has the events');
  return rows.map(({ number, from_sequence, to_sequence }, at) => {
    const isLast = at === rows.length - 1;
    const end = isLast && to === WHOLE_HISTORY.to ? to : Number(to_sequence) - 1;
    return { segment: number, from: at === 0 ? from : Number(from_sequence) - 1, to: isLast ? to : end, end };
  });
}

/** SQL of a condition: the span ends with the last settled event, so live orders belong to it. */
export const IS_OPEN = `{to} = ${Number.MAX_SAFE_INTEGER}`;

/** SQL of the day in which the last trade up to an event was made, in Unix milliseconds; null without one. */
export const dayOfLast = (event: string): string => `(select time_ms - time_ms % 86400000 from public.trades
  where sequence <= ${event} order by sequence desc, trade_id desc limit 1)`;

/** Returns a text in which `{from}` and `{to}` stand for the limits of a span, and `{segment}` and `{end}` for the segment of a part. */
export const textOf = (text: string, span: Span | Part): string =>
  text.replaceAll(/\{(from|to|segment|end)\}/g, (_all, name: keyof Part) => `${(span as Part)[name]}`);
