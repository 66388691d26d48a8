/** Moves what the engine did into the ledger, and lets the engine forget it. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Cursor, type EngineEvent, weightOf } from '../domain/event.ts';
import { type Ledger, LedgerDiverged } from '../ledger/index.ts';

/** What settlement needs of the engine. */
export interface EventSource {
  /**
   * Events after the cursor, and before them the one at the cursor while it is still there: up to `count`, and up to the
   * one with which their weights reach `weight`.
   */
  readEvents(after: Cursor, count: number, weight: number): Promise<EngineEvent[]>;
  /** Forgets what lies at or before the cursor, when it sees fit. */
  trim(cursor: Cursor): Promise<unknown>;
  /** Where the stream ends. */
  state(): Promise<Cursor>;
}

export interface SettlementOptions {
  engine: EventSource;
  ledger: Pick<Ledger, 'cursor' | 'settle'>;
  log: Pick<Logger, 'info' | 'warn' | 'error' | 'fatal'>;
  /** Most events in one transaction. */
  batchSize?: number;
  /**
   * Weight of the events in memory, those that Postgres writes and those that are read meanwhile, at which no further
   * event is taken: it is at most this and one event's.
   */
  heldWeight?: number;
}

export interface SettlementLag {
  /** Events that the engine has and the ledger has not. */
  lagEvents: number;
  /** Age of the oldest of them, 0 when there is none. */
  lagMs: number;
  /** When the newest settled event was settled, by anyone; null before the first. Unix milliseconds. */
  lastSettledAtMs: number | null;
}

export interface Settlement {
  /** Settles until nothing is left. Never rejects: what goes wrong is logged, and tried again at a later call. */
  run(): Promise<void>;
  /** Rejects when the engine or Postgres is away. */
  lag(): Promise<SettlementLag>;
  /** Whether the events and the ledger contradict each other; then nothing is settled until an operator looked. */
  diverged(): boolean;
}

/** COPY gains little beyond a thousand rows, and a batch is also what a kill makes us repeat. */
const BATCH_SIZE = 1_000;
/** An execution is seven rows and some kilobytes of memory; one event may have thousands. */
const HELD_WEIGHT = 5_000;
/**
 * A transaction costs Postgres as much as twenty events. One that found the stream's end leaves those that come within
 * this time for the next one.
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

/** A batch that failed may have been too much for a statement's time or a process's memory: down to one event. */
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

export const createSettlement = (options: SettlementOptions): Settlement => {
  const { engine, ledger, log } = options;
  const heldWeight = options.heldWeight ?? HELD_WEIGHT;
  const most: BatchLimits = {
    events: options.batchSize ?? BATCH_SIZE,
    weight: Math.ceil(heldWeight / 2),
  };
  let limits = most;
  let diverged = false;
  let failures = 0;
  /** Failures in a row that a smaller batch does not help against. */
  let backoffs = 0;
  let retryAtMs = 0;

  const read = async (after: Cursor, weight = limits.weight): Promise<Batch> => {
    const count = limits.events;
    const events = await engine.readEvents(after, count, weight);
    const fresh = events.filter(({ sequence }) => sequence > after.sequence);
    return { events, fresh, isFull: fresh.length >= count || weightOfAll(fresh) >= weight };
  };

  /**
   * The next batch is read and decoded while Postgres writes this one, within what both may weigh together.
   * Undefined: there is no more, or no room for it.
   */
  const readAhead = ({ fresh, isFull }: Batch): Promise<Batch> | undefined => {
    const room = heldWeight - weightOfAll(fresh);
    if (!isFull || room <= 0) return undefined;
    const ahead = read(fresh.at(-1)!, Math.min(limits.weight, room));
    // Its failure counts when its turn comes.
    ahead.catch(() => undefined);
    return ahead;
  };

  const write = async ({ events, fresh }: Batch): Promise<Cursor> => {
    try {
      return await ledger.settle(events);
    } catch (error) {
      if (fresh.length > 0) limits = halfOf(fresh);
      const canBeLess = fresh.length > 1 && !(error instanceof LedgerDiverged);
      throw canBeLess ? new SmallerBatchDue(error) : error;
    }
  };

  /** One batch. Undefined: all is settled, or another process is at it. */
  const settleOne = async (batch: Batch): Promise<SettledBatch | undefined> => {
    const begunMs = performance.now();
    const ahead = readAhead(batch);
    let settled: Cursor;
    try {
      settled = await write(batch);
    } catch (error) {
      // The batch that was read ahead is given up with this one.
      await ahead?.catch(() => undefined);
      throw error;
    }
    await engine.trim(settled);
    const isOurs = settled.sequence === batch.fresh.at(-1)?.sequence;
    if (!isOurs) return undefined;
    limits = doubled(limits, most);
    return { settled, ahead, nextMs: batch.isFull ? begunMs : begunMs + PACE_MS };
  };

  const readNext = async ({ settled, ahead, nextMs }: SettledBatch): Promise<Batch> => {
    if (ahead !== undefined) return ahead;
    const waitMs = nextMs - performance.now();
    if (waitMs > 0) {
      const found = await engine.readEvents(settled, 1, 1);
      if (found.every(({ sequence }) => sequence <= settled.sequence)) return NOTHING;
      await sleep(waitMs);
    }
    return read(settled);
  };

  const settleAll = async (): Promise<void> => {
    let done = await settleOne(await read(await ledger.cursor()));
    while (done !== undefined) {
      const batch = await readNext(done);
      if (batch.fresh.length === 0) return;
      done = await settleOne(batch);
    }
  };

  const fail = (error: unknown): void => {
    if (error instanceof LedgerDiverged) {
      diverged = true;
      log.fatal({ err: error }, 'settlement stopped: the engine and the ledger contradict each other');
      return;
    }
    const isHalved = error instanceof SmallerBatchDue;
    const cause = isHalved ? error.cause : error;
    const backoffMs = isHalved
      ? BACKOFF_FIRST_MS
      : Math.min(BACKOFF_FIRST_MS * 2 ** backoffs, BACKOFF_LAST_MS);
    if (!isHalved) backoffs += 1;
    failures += 1;
    retryAtMs = Date.now() + backoffMs;
    log.warn(
      { err: cause, failures, backoffMs, nextBatch: limits },
      'settlement failed and will be tried again',
    );
  };

  return {
    run: async () => {
      if (diverged || Date.now() < retryAtMs) return;
      try {
        await settleAll();
        if (failures > 0) log.info({ failures }, 'settlement goes on');
        [failures, backoffs] = [0, 0];
      } catch (error) {
        fail(error);
      }
    },
    lag: async () => {
      // The cursor first: what is settled between the two questions then counts as lag, never as a lead.
      const cursor = await ledger.cursor();
      const { sequence } = await engine.state();
      const events = await engine.readEvents(cursor, 1, 1);
      const oldest = events.find((event) => event.sequence > cursor.sequence);
      return {
        lagEvents: Math.max(0, sequence - cursor.sequence),
        lagMs: oldest ? Math.max(0, Date.now() - oldest.timeMs) : 0,
        lastSettledAtMs: cursor.settledAtMs,
      };
    },
    diverged: () => diverged,
  };
};
