/** Keeps segments ahead of settlement. The migration has the function that makes them. */

import pg from 'pg';

/** Tables that are divided into segments by the event of their rows. */
export const DIVIDED = ['ended_orders', 'trades', 'chain_links'] as const;

export const ADD_SEGMENTS = 'select public.add_segments($1)::text as first';

/** True for the error that a row has no segment. Other violations of this code name their constraint. */
const lacksSegment = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError &&
  error.code === '23514' &&
  error.constraint === undefined &&
  (DIVIDED as readonly (string | undefined)[]).includes(error.table);

const ENDS = 'array_agg(to_sequence order by to_sequence) from public.segments';

/** SQL: true for an order that ended in a later segment than the one of the event that placed it. */
export const outlivesSegment = (placed: string, ended: string): string =>
  `width_bucket(${placed}, (select ${ENDS})) <> width_bucket(${ended}, (select ${ENDS}))`;

/** SQL of the ends of the segments that hold the events after one. */
export const endsAfter = (sequence: string): string => `(select ${ENDS} where to_sequence > ${sequence})`;

/** The events with which the next segment begins, for each segment that holds events after a place, in their order. */
export type SegmentEnds = readonly number[];

/** @param text the array of `endsAfter`, as Postgres writes it */
export const readEnds = (text: string | null | undefined): SegmentEnds =>
  (text ?? '{}').slice(1, -1).split(',').filter(Boolean).map(Number);

export class SegmentsAhead {
  /** First event of the newest segment; the events before it have segments. */
  #newest = -1;
  #failure: unknown;

  /**
   * Makes the segments of events up to one, and one ahead, unless they are known. Where that fails, events of segments
   * that are there can still be settled, so the failure is told with the error of an event that has none.
   */
  async reach(client: pg.PoolClient, sequence: number): Promise<void> {
    if (sequence < this.#newest) return;
    try {
      const { rows } = await client.query<{ first: string }>(ADD_SEGMENTS, [sequence]);
      this.#newest = Number(rows[0]!.first);
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
    }
  }

  /** @returns the error to throw for one of a batch: one that says so and lets settlement try again, if a segment lacks */
  errorOf(error: unknown): unknown {
    if (!lacksSegment(error)) return error;
    // Postgres may have been put back to before the newest segment.
    this.#newest = -1;
    return new Error(`no segment has the events: ${error.message}`, { cause: this.#failure ?? error });
  }
}
