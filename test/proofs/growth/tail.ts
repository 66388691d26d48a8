/**
 * Entries that the engine holds beside live state while orders come: events that are not settled, and events, index
 * entries and claims that are settled and stay for a margin of time. The bounds follow from samples of the positions of
 * engine and ledger.
 */

import type { Redis } from 'ioredis';
import { KEYS } from '../../../src/engine/keys.ts';

/** The margins of `src/engine/outbox.ts`, in milliseconds. */
const EVENTS_STAY_MS = 10_000;
const CLAIMS_STAY_MS = 600_000;
/** Time until the next trim after an event is settled. */
const SLACK_MS = 30_000;
/** Wallets under which one event is listed: the taker, and the makers of at most three fills. */
const MAX_WALLETS = 4;
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
  readonly max: number;
}

const NOTHING = { sequence: 0, settled: 0, ids: 0 };

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
    return found ?? NOTHING;
  }

  /**
   * Returns the position at which the older generation began at the earliest. A generation ends once everything is
   * settled that came before it, and the margin has passed. So a generation that began at a position is dropped after
   * two such turns.
   */
  #generationBegan(marginMs: number, nowMs: number): Omit<Position, 'timeMs'> {
    const turnAfter = (timeMs: number): number => {
      const begun = this.#positions.find((position) => position.timeMs >= timeMs);
      const settled = begun && this.#positions.find((position) => position.settled >= begun.sequence);
      return settled === undefined ? Number.POSITIVE_INFINITY : settled.timeMs + marginMs + SLACK_MS;
    };
    const found = this.#positions.findLast(({ timeMs }) => turnAfter(turnAfter(timeMs)) <= nowMs);
    return found ?? NOTHING;
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
    const indexed = sequence - this.#generationBegan(EVENTS_STAY_MS, timeMs).sequence;
    return [
      {
        name: 'events',
        entries: events,
        max: sequence - this.#before(timeMs - 2 * (EVENTS_STAY_MS + SLACK_MS)).settled + 1,
      },
      { name: 'unsettled index', entries: index, max: indexed * MAX_WALLETS },
      {
        name: 'recent claims',
        entries: claims,
        max: ids - this.#generationBegan(CLAIMS_STAY_MS, timeMs).ids,
      },
    ];
  }
}
