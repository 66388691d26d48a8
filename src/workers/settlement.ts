/** Moves what the engine did into the ledger, and lets the engine forget it. */

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
  /** Weight at which a transaction takes no further event: it is at most this and one event's. */
  batchWeight?: number;
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
const BATCH_WEIGHT = 5_000;
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

/** A batch that failed may have been too much for a statement's time or a process's memory: down to one event. */
const halfOf = (failed: readonly EngineEvent[]): BatchLimits => ({
  events: Math.max(1, Math.floor(failed.length / 2)),
  weight: Math.max(1, Math.floor(failed.reduce((sum, event) => sum + weightOf(event), 0) / 2)),
});

const doubled = ({ events, weight }: BatchLimits, most: BatchLimits): BatchLimits => ({
  events: Math.min(most.events, events * 2),
  weight: Math.min(most.weight, weight * 2),
});

export const createSettlement = (options: SettlementOptions): Settlement => {
  const { engine, ledger, log } = options;
  const most: BatchLimits = {
    events: options.batchSize ?? BATCH_SIZE,
    weight: options.batchWeight ?? BATCH_WEIGHT,
  };
  let limits = most;
  let diverged = false;
  let failures = 0;
  /** Failures in a row that a smaller batch does not help against. */
  let backoffs = 0;
  let retryAtMs = 0;

  /** One batch. True when there may be more for us; false when all is settled, or another process is at it. */
  const settleBatch = async (): Promise<boolean> => {
    const before = await ledger.cursor();
    const events = await engine.readEvents(before, limits.events, limits.weight);
    const last = events.at(-1);
    let settled: Cursor;
    try {
      settled = await ledger.settle(events);
    } catch (error) {
      const failed = events.filter(({ sequence }) => sequence > before.sequence);
      if (failed.length > 0) limits = halfOf(failed);
      const canBeLess = failed.length > 1 && !(error instanceof LedgerDiverged);
      throw canBeLess ? new SmallerBatchDue(error) : error;
    }
    await engine.trim(settled);
    const isOurs = last !== undefined && settled.sequence === last.sequence;
    const goesOn = isOurs && settled.sequence > before.sequence;
    if (goesOn) limits = doubled(limits, most);
    return goesOn;
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
        while (await settleBatch());
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
