/** Writes the engine's events to the ledger, and trims them from the engine once the disk of Postgres has them. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { lagBetween } from '../books/settlement-lag.ts';
import { type Cursor, type EngineEvent, totalWeight } from '../domain/event.ts';
import { type Ledger, LedgerDiverged, type PreparedBatch, type SettledTo } from '../ledger/index.ts';

/** Parts of the engine that settlement uses. */
export interface EventSource {
  readonly outbox: {
    /**
     * Reads the event at the cursor, if it still exists, and the events after it. Stops after `count` events, or with
     * the event at which their total weight reaches `weight`.
     */
    readEvents(after: Cursor, count: number, weight: number): Promise<EngineEvent[]>;
    /** Trims events up to and including the cursor. The engine may delay it. */
    trim(cursor: Cursor): Promise<unknown>;
  };
  readonly reads: {
    /** Returns the position of the last event in the stream. */
    state(): Promise<Cursor>;
  };
}

interface SettlementOptions {
  engine: EventSource;
  ledger: Pick<Ledger['settlement'], 'cursor' | 'prepare' | 'settle'>;
  log: Pick<Logger, 'info' | 'warn' | 'error' | 'fatal'>;
  /** Maximum events per transaction. */
  batchSize?: number;
  /**
   * Limit of the weight of events in memory: those that Postgres is writing and those being read ahead. At most one
   * event exceeds the limit.
   */
  heldWeight?: number;
}

interface SettlementLag {
  /** Number of events that the engine has and the ledger does not. */
  lagEvents: number;
  /** Age of the oldest of these events; 0 if there is none. */
  lagMs: number;
  /** Unix milliseconds at which any process settled the newest settled event; null before the first. */
  lastSettledAtMs: number | null;
}

interface SettlementWorker {
  /** Settles until no event is left. Never rejects: logs a failure, and a later call retries. */
  run(): Promise<void>;
  /** Rejects if the engine or Postgres is unavailable. */
  lag(): Promise<SettlementLag>;
  /** True if the events and the ledger contradict each other. Settlement then stops until an operator restarts it. */
  diverged(): boolean;
}

/** Events per batch. COPY gains little beyond a thousand rows, and a killed process repeats its batch. */
const BATCH_SIZE = 1_000;
/** An execution is seven rows and some kilobytes of memory, and one event may have thousands of executions. */
const HELD_WEIGHT = 5_000;
/**
 * Minimum time between transactions that reach the end of the stream. A transaction costs Postgres as much as twenty
 * events.
 */
const PACE_MS = 100;
/**
 * Batches of a backlog for each one that waits for the disk. The others do not wait, so the disk writes while the next
 * batches are prepared. The engine keeps the events of all of them until the disk has them.
 */
const BATCHES_PER_FLUSH = 8;
const BACKOFF_FIRST_MS = 250;
/** Short, because the lag grows while settlement waits, and a failed attempt costs little. */
const BACKOFF_LAST_MS = 500;
/** Shortest time between log lines of attempts that fail alike, such as those of an hour without Postgres. */
const LOG_EVERY_MS = 5_000;

interface BatchLimits {
  readonly events: number;
  readonly weight: number;
}

/** A batch of several events failed. Half of it is retried soon. */
class SmallerBatchDue extends Error {
  constructor(cause: unknown) {
    super('the batch failed', { cause });
  }
}

/**
 * Returns the limits after a failure. The batch may have exceeded a statement timeout or the memory of a process, so
 * batches are halved, down to one event.
 */
const halfOf = (failed: readonly EngineEvent[]): BatchLimits => ({
  events: Math.max(1, Math.floor(failed.length / 2)),
  weight: Math.max(1, Math.floor(totalWeight(failed) / 2)),
});

const doubled = ({ events, weight }: BatchLimits, max: BatchLimits): BatchLimits => ({
  events: Math.min(max.events, events * 2),
  weight: Math.min(max.weight, weight * 2),
});

/** Events read from the stream, starting with the one at the cursor. */
interface EventBatch {
  readonly events: readonly EngineEvent[];
  /** Events after the cursor. */
  readonly fresh: readonly EngineEvent[];
  /** True if the batch stopped at a limit and not at the end of the stream. */
  readonly isFull: boolean;
  /** Made for a full batch, and absent if that failed. */
  readonly prepared?: PreparedBatch | undefined;
}

const NOTHING: EventBatch = { events: [], fresh: [], isFull: false };

interface SettledBatch {
  readonly settled: Cursor;
  /** The next batch, if it is being read ahead. */
  readonly ahead: Promise<EventBatch> | undefined;
  /** False if the preparation of the next batch relies on what was not written. */
  readonly isAsPrepared: boolean;
  /** Earliest time of the next transaction, by `performance.now`. */
  readonly nextMs: number;
}

export const createSettlementWorker = (options: SettlementOptions): SettlementWorker => new Settler(options);

class Settler implements SettlementWorker {
  readonly #engine: EventSource;
  readonly #ledger: SettlementOptions['ledger'];
  readonly #log: SettlementOptions['log'];
  readonly #heldWeight: number;
  readonly #max: BatchLimits;
  #limits: BatchLimits;
  #diverged = false;
  #failures = 0;
  /** Number of consecutive failures that a smaller batch cannot fix. */
  #backoffs = 0;
  #retryAtMs = 0;
  #loggedAtMs = 0;
  /** True if another process settled when this one tried last. */
  #othersSettle = false;
  /** Number of consecutive batches that the disk may not have yet. */
  #unflushed = 0;

  constructor({ engine, ledger, log, batchSize, heldWeight }: SettlementOptions) {
    this.#engine = engine;
    this.#ledger = ledger;
    this.#log = log;
    this.#heldWeight = heldWeight ?? HELD_WEIGHT;
    this.#max = { events: batchSize ?? BATCH_SIZE, weight: Math.ceil(this.#heldWeight / 2) };
    this.#limits = this.#max;
  }

  async run(): Promise<void> {
    if (this.#diverged || performance.now() < this.#retryAtMs) return;
    try {
      await this.#settleAll().catch((error: unknown) => this.#settleAgain(error));
      if (this.#failures > 0) this.#log.info({ failures: this.#failures }, 'settlement continues');
      this.#failures = 0;
      this.#backoffs = 0;
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * Reads everything again after a contradiction. A batch that was read before the engine was rebuilt contradicts the
   * ledger, and the rebuilt engine does not.
   */
  async #settleAgain(error: unknown): Promise<void> {
    if (!(error instanceof LedgerDiverged)) throw error;
    await this.#settleAll();
  }

  async lag(): Promise<SettlementLag> {
    // Read the cursor first: events that are settled between the two reads then count as lag and never make it
    // negative.
    const cursor = await this.#ledger.cursor();
    const { events, ageMs } = await lagBetween(this.#engine.outbox, await this.#engine.reads.state(), cursor);
    return { lagEvents: events, lagMs: ageMs, lastSettledAtMs: cursor.settledAtMs };
  }

  diverged(): boolean {
    return this.#diverged;
  }

  async #settleAll(): Promise<void> {
    this.#unflushed = 0;
    const cursor = await this.#ledger.cursor();
    const first = this.#othersSettle ? await this.#readOne(cursor) : await this.#readNow(cursor);
    if (first.fresh.length === 0) await this.#checkEnd(cursor);
    let done = await this.#settleOne(first);
    while (done !== undefined) {
      const batch = await this.#readNext(done);
      // The end of the stream flushes what the last full batch has not.
      if (batch.fresh.length === 0 && this.#unflushed === 0) return;
      done = await this.#settleOne(batch);
    }
  }

  /**
   * Checks that a stream without events after the cursor lacks none. If the engine's last events were deleted, no later
   * event shows the gap. Each position is read twice, because the engine may be replaced and others may settle meanwhile.
   * @throws LedgerDiverged
   */
  async #checkEnd(cursor: Cursor): Promise<void> {
    const newest = await this.#engine.reads.state();
    // An engine of an earlier epoch was replaced by another one.
    if (newest.sequence <= cursor.sequence || newest.epoch < cursor.epoch) return;
    const { fresh } = await this.#read(cursor);
    const now = await this.#engine.reads.state();
    const isSame = now.epoch === newest.epoch && now.sequence >= newest.sequence;
    const { sequence } = await this.#ledger.cursor();
    if (fresh.length > 0 || !isSame || sequence !== cursor.sequence) return;
    throw new LedgerDiverged(
      `event ${sequence + 1} is missing: found none after ${sequence}, and the engine is at event ${now.sequence}`,
    );
  }

  /** Settles one batch. Returns undefined if everything is settled, or if another process settles. */
  async #settleOne(batch: EventBatch): Promise<SettledBatch | undefined> {
    const begunMs = performance.now();
    const ahead = this.#readAhead(batch);
    let settled: SettledTo;
    try {
      settled = await this.#write(batch);
    } catch (error) {
      // The batch that was read ahead is dropped too.
      await ahead?.catch(() => undefined);
      throw error;
    }
    this.#unflushed = settled.isFlushed ? 0 : this.#unflushed + 1;
    if (settled.isFlushed) await this.#engine.outbox.trim(settled);
    const last = batch.fresh.at(-1);
    this.#othersSettle = last !== undefined && settled.sequence < last.sequence;
    if (settled.sequence !== last?.sequence) return undefined;
    this.#limits = doubled(this.#limits, this.#max);
    const isAsPrepared = batch.prepared?.isWritten === true;
    return { settled, ahead, isAsPrepared, nextMs: batch.isFull ? begunMs : begunMs + PACE_MS };
  }

  async #read(after: Cursor, weight = this.#limits.weight): Promise<EventBatch> {
    const count = this.#limits.events;
    const events = await this.#engine.outbox.readEvents(after, count, weight);
    const fresh = events.filter(({ sequence }) => sequence > after.sequence);
    return { events, fresh, isFull: fresh.length >= count || totalWeight(fresh) >= weight };
  }

  /**
   * Makes the statements of a batch of a backlog.
   * @param before the batch before it, if that is being settled
   */
  async #prepare(after: Cursor, batch: EventBatch, before?: PreparedBatch): Promise<EventBatch> {
    if (!batch.isFull) return batch;
    return { ...batch, prepared: await this.#ledger.prepare(after, batch.events, before) };
  }

  /**
   * Reads a batch of one event, which finds out if another process still settles. While one works on a backlog, the
   * others would read a batch at each wake-up and then find the cursor locked.
   */
  async #readOne(after: Cursor): Promise<EventBatch> {
    const events = await this.#engine.outbox.readEvents(after, 1, 1);
    return { events, fresh: events.filter(({ sequence }) => sequence > after.sequence), isFull: false };
  }

  /** Reads a batch while no other is being settled. */
  async #readNow(after: Cursor): Promise<EventBatch> {
    return this.#prepare(after, await this.#read(after));
  }

  /**
   * Reads, decodes and prepares the next batch while Postgres writes this one, within their common weight limit.
   * Returns undefined if no event is left, or if there is no room for one.
   */
  #readAhead({ fresh, isFull, prepared }: EventBatch): Promise<EventBatch> | undefined {
    const room = this.#heldWeight - totalWeight(fresh);
    if (!isFull || room <= 0) return undefined;
    const last = fresh.at(-1)!;
    const read = this.#read(last, Math.min(this.#limits.weight, room));
    const ahead = prepared === undefined ? read : read.then((batch) => this.#prepare(last, batch, prepared));
    // A failure is handled when the batch is used.
    ahead.catch(() => undefined);
    return ahead;
  }

  async #readNext({ settled, ahead, isAsPrepared, nextMs }: SettledBatch): Promise<EventBatch> {
    if (ahead !== undefined) return isAsPrepared ? ahead : this.#prepare(settled, await ahead);
    const waitMs = nextMs - performance.now();
    if (waitMs > 0) {
      const found = await this.#engine.outbox.readEvents(settled, 1, 1);
      if (found.every(({ sequence }) => sequence <= settled.sequence)) return NOTHING;
      await sleep(waitMs);
    }
    return this.#readNow(settled);
  }

  async #write({ events, fresh, isFull, prepared }: EventBatch): Promise<SettledTo> {
    const flush = !isFull || this.#unflushed + 1 >= BATCHES_PER_FLUSH;
    try {
      return await this.#ledger.settle(events, { flush, prepared });
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
    const nowMs = performance.now();
    this.#retryAtMs = nowMs + backoffMs;
    if (this.#failures > 1 && !isHalved && nowMs - this.#loggedAtMs < LOG_EVERY_MS) return;
    this.#loggedAtMs = nowMs;
    this.#log.warn(
      { err: cause, failures: this.#failures, backoffMs, nextBatch: this.#limits },
      'settlement failed and will be tried again',
    );
  }
}
