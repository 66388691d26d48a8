/**
 * What the engine holds beside live state while orders come: events that are not settled, and events, index entries and
 * claims that are settled and stay for a margin of time. The bounds follow from samples of the positions of engine and
 * ledger.
 */

import type { Redis } from 'ioredis';
import { KEYS } from '../../../src/engine/keys.ts';

/** The margins of `src/engine/outbox.ts`, in milliseconds. */
const EVENTS_STAY_MS = 10_000;
const CLAIMS_STAY_MS = 600_000;
/** Time from an event to the trim that finds it settled, when settlement keeps within its lag. */
const SLACK_MS = 30_000;
/** Wallets under which one event is listed: the taker, and the makers of at most three fills. */
const MOST_WALLETS = 4;
const KEPT_MS = 2 * (CLAIMS_STAY_MS + SLACK_MS) + SLACK_MS;
const SAMPLE_MS = 250;

export interface Position {
  readonly timeMs: number;
  /** Sequence of the last event of the engine, and of the last one that Postgres has. */
  readonly sequence: number;
  readonly settled: number;
  /** Ids that were claimed so far. */
  readonly ids: number;
}

export interface TailMeasured {
  readonly name: string;
  readonly entries: number;
  readonly most: number;
}

export class Tail {
  #positions: Position[] = [];
  #newest: Position | undefined;

  note(position: Position): void {
    this.#newest = position;
    const last = this.#positions.at(-1);
    if (last !== undefined && position.timeMs - last.timeMs < SAMPLE_MS) return;
    this.#positions.push(position);
    const oldest = this.#positions.findIndex(({ timeMs }) => timeMs >= position.timeMs - KEPT_MS);
    // One older position stays: it is the one before the margin.
    if (oldest > 1) this.#positions = this.#positions.slice(oldest - 1);
  }

  /** Returns the last position that was noted so long ago; nothing had happened before the first. */
  #before(timeMs: number): Omit<Position, 'timeMs'> {
    const found = this.#positions.findLast((position) => position.timeMs <= timeMs);
    return found ?? { sequence: 0, settled: 0, ids: 0 };
  }

  /** Measures what stands beside live state, with its bounds at the position that was noted last: no event may follow. */
  async measure(redis: Redis): Promise<TailMeasured[]> {
    const counts = async (
      keys: readonly string[],
      count: (key: string) => Promise<number>,
    ): Promise<number> => (await Promise.all(keys.map(count))).reduce((sum, one) => sum + one, 0);
    const events = await redis.xlen(KEYS.events);
    const index = await counts(KEYS.unsettled, (key) => redis.zcard(key));
    const claims = await counts(KEYS.claims, (key) => redis.hlen(key));
    const { timeMs, sequence, ids } = this.#newest!;
    const since = (margin: number): number =>
      sequence - this.#before(timeMs - 2 * (margin + SLACK_MS)).settled + 1;
    return [
      { name: 'events', entries: events, most: since(EVENTS_STAY_MS) },
      { name: 'unsettled index', entries: index, most: since(EVENTS_STAY_MS) * MOST_WALLETS },
      {
        name: 'recent claims',
        entries: claims,
        most: ids - this.#before(timeMs - 2 * (CLAIMS_STAY_MS + SLACK_MS)).ids,
      },
    ];
  }
}
