/** Writes the engine's events into the ledger, and trims them from the engine afterwards. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { lagBetween } from '../books/settlement-lag.ts';
import { type Cursor, type EngineEvent, weightOf } from '../domain/event.ts';
import { type Ledger, LedgerDiverged } from '../ledger/index.ts';

/** The engine, as settlement sees it. */
export interface EventSource {
  readonly outbox: {
    /**
     * Reads events after the cursor, and before them the one at the cursor while it is still there. Ends after `count`
     * events, or with the event with which their weights reach `weight`.
     */
    readEvents(after: Cursor, count: number, weight: number): Promise<EngineEvent[]>;
    /** Trims events at or before the cursor. The engine chooses when. */
    trim(cursor: Cursor): Promise<unknown>;
  };
  readonly snapshots: {
    /** The last event of the stream. */
    state(): Promise<Cursor>;
  };
}

interface SettlementOptions {
  engine: EventSource;
  ledger: Pick<Ledger['settlement'], 'cursor' | 'settle'>;
  log: Pick<Logger, 'info' | 'warn' | 'error' | 'fatal'>;
  /** Most events in one transaction. */
  batchSize?: number;
  /**
   * Weight of the events in memory at which no further event is taken: those that Postgres writes and those that are
   * read meanwhile. The weight passes this limit by one event at most.
   */
  heldWeight?: number;
}

interface SettlementLag {
  /** Events that the engine has and the ledger has not. */
  lagEvents: number;
  /** Age of the oldest of them, 0 when there is none. */
  lagMs: number;
  /** Time at which any process settled the newest settled event; null before the first. Unix milliseconds. */
  lastSettledAtMs: number | null;
}

interface Settlement {
  /** Settles until nothing is left. Never rejects: a failure is logged, and a later call tries again. */
  run(): Promise<void>;
  /** Rejects when the engine or Postgres is away. */
  lag(): Promise<SettlementLag>;
  /** True when the events and the ledger contradict each other. Nothing is settled then until an operator restarts. */
  diverged(): boolean;
}

/** Events of a batch. COPY gains little beyond a thousand rows, and a kill makes us repeat a batch. */
const BATCH_SIZE = 1_000;
/** An execution is seven rows and some kilobytes of memory; one event may have thousands. */
const HELD_WEIGHT = 5_000;
/**
 * Shortest time between transactions that reach the end of the stream. A transaction costs Postgres as much as twenty
 * events.
 */
const PACE_MS = 100;
const BACKOFF_FIRST_MS = 250;
const BACKOFF_LAST_MS = 5_000;

interface BatchLimits {
  readonly events: number;
  readonly weight: number;
}

/** A batch of several events failed: half of it is tried soon. */
class SmallerBatchDue extends Error {
  constructor(cause: unknown) {
    super('the batch failed', { cause });
  }
}

const weightOfAll = (events: readonly EngineEvent[]): number =>
  events.reduce((sum, event) => sum + weightOf(event), 0);

/**
 * Limits after a failure. The batch may have been too much for a statement's time or a process's memory, so batches are
 * halved, down to one event.
 */
const halfOf = (failed: readonly EngineEvent[]): BatchLimits => ({
  events: Math.max(1, Math.floor(failed.length / 2)),
  weight: Math.max(1, Math.floor(weightOfAll(failed) / 2)),
});

const doubled = ({ events, weight }: BatchLimits, most: BatchLimits): BatchLimits => ({
  events: Math.min(most.events, events * 2),
  weight: Math.min(most.weight, weight * 2),
});

/** Events as read from the stream, from the one at a cursor on. */
interface Batch {
  readonly events: readonly EngineEvent[];
  /** Events after the cursor. */
  readonly fresh: readonly EngineEvent[];
  /** The batch reached a limit, and not the end of the stream. */
  readonly isFull: boolean;
}

const NOTHING: Batch = { events: [], fresh: [], isFull: false };

interface SettledBatch {
  readonly settled: Cursor;
  /** The next batch, if it was read meanwhile. */
  readonly ahead: Promise<Batch> | undefined;
  /** Time of the next transaction at the earliest, by `performance.now`. */
  readonly nextMs: number;
}

export const createSettlement = (options: SettlementOptions): Settlement => new Settler(options);

class Settler implements Settlement {
  readonly #engine: EventSource;
  readonly #ledger: SettlementOptions['ledger'];
  readonly #log: SettlementOptions['log'];
  readonly #heldWeight: number;
  readonly #most: BatchLimits;
  #limits: BatchLimits;
  #diverged = false;
  #failures = 0;
  /** Failures in a row that a smaller batch does not help against. */
  #backoffs = 0;
  #retryAtMs = 0;

  constructor({ engine, ledger, log, batchSize, heldWeight }: SettlementOptions) {
    this.#engine = engine;
    this.#ledger = ledger;
    this.#log = log;
    this.#heldWeight = heldWeight ?? HELD_WEIGHT;
    this.#most = { events: batchSize ?? BATCH_SIZE, weight: Math.ceil(this.#heldWeight / 2) };
    this.#limits = this.#most;
  }

  async run(): Promise<void> {
    if (this.#diverged || Date.now() < this.#retryAtMs) return;
    try {
      await this.#settleAll();
      if (this.#failures > 0) this.#log.info({ failures: this.#failures }, 'settlement goes on');
      this.#failures = 0;
      this.#backoffs = 0;
    } catch (error) {
      this.#fail(error);
    }
  }

  async lag(): Promise<SettlementLag> {
    // The cursor first: what is settled between the two questions then counts as lag, never as a lead.
    const cursor = await this.#ledger.cursor();
    const { events, ageMs } = await lagBetween(
      this.#engine.outbox,
      await this.#engine.snapshots.state(),
      cursor,
    );
    return { lagEvents: events, lagMs: ageMs, lastSettledAtMs: cursor.settledAtMs };
  }

  diverged(): boolean {
    return this.#diverged;
  }

  async #settleAll(): Promise<void> {
    let done = await this.#settleOne(await this.#read(await this.#ledger.cursor()));
    while (done !== undefined) {
      const batch = await this.#readNext(done);
      if (batch.fresh.length === 0) return;
      done = await this.#settleOne(batch);
    }
  }

  /** Settles one batch. Returns undefined when all is settled, or when another process settles. */
  async #settleOne(batch: Batch): Promise<SettledBatch | undefined> {
    const begunMs = performance.now();
    const ahead = this.#readAhead(batch);
    let settled: Cursor;
    try {
      settled = await this.#write(batch);
    } catch (error) {
      // The batch that was read ahead is given up with this one.
      await ahead?.catch(() => undefined);
      throw error;
    }
    await this.#engine.outbox.trim(settled);
    const isOurs = settled.sequence === batch.fresh.at(-1)?.sequence;
    if (!isOurs) return undefined;
    this.#limits = doubled(this.#limits, this.#most);
    return { settled, ahead, nextMs: batch.isFull ? begunMs : begunMs + PACE_MS };
  }

  async #read(after: Cursor, weight = this.#limits.weight): Promise<Batch> {
    const count = this.#limits.events;
    const events = await this.#engine.outbox.readEvents(after, count, weight);
    const fresh = events.filter(({ sequence }) => sequence > after.sequence);
    return { events, fresh, isFull: fresh.length >= count || weightOfAll(fresh) >= weight };
  }

  /**
   * Reads and decodes the next batch while Postgres writes this one, within the weight that both may have together.
   * Returns undefined when no event is left, or no room for one.
   */
  #readAhead({ fresh, isFull }: Batch): Promise<Batch> | undefined {
    const room = this.#heldWeight - weightOfAll(fresh);
    if (!isFull || room <= 0) return undefined;
    const ahead = this.#read(fresh.at(-1)!, Math.min(this.#limits.weight, room));
    // Its failure counts when its turn comes.
    ahead.catch(() => undefined);
    return ahead;
  }

  async #readNext({ settled, ahead, nextMs }: SettledBatch): Promise<Batch> {
    if (ahead !== undefined) return ahead;
    const waitMs = nextMs - performance.now();
    if (waitMs > 0) {
      const found = await this.#engine.outbox.readEvents(settled, 1, 1);
      if (found.every(({ sequence }) => sequence <= settled.sequence)) return NOTHING;
      await sleep(waitMs);
    }
    return this.#read(settled);
  }

  async #write({ events, fresh }: Batch): Promise<Cursor> {
    try {
      return await this.#ledger.settle(events);
    } catch (error) {
      if (fresh.length > 0) this.#limits = halfOf(fresh);
      const canBeLess = fresh.length > 1 && !(error instanceof LedgerDiverged);
      throw canBeLess ? new SmallerBatchDue(error) : error;
    }
  }

  #fail(error: unknown): void {
    if (error instanceof LedgerDiverged) {
      this.#diverged = true;
      this.#log.fatal({ err: error }, 'settlement stopped: the engine and the ledger contradict each other');
      return;
    }
    const isHalved = error instanceof SmallerBatchDue;
    const cause = isHalved ? error.cause : error;
    const backoffMs = isHalved
      ? BACKOFF_FIRST_MS
      : Math.min(BACKOFF_FIRST_MS * 2 ** this.#backoffs, BACKOFF_LAST_MS);
    if (!isHalved) this.#backoffs += 1;
    this.#failures += 1;
    this.#retryAtMs = Date.now() + backoffMs;
    this.#log.warn(
      { err: cause, failures: this.#failures, backoffMs, nextBatch: this.#limits },
      'settlement failed and will be tried again',
    );
  }
}
