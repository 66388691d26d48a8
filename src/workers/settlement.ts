/** Moves what the engine did into the ledger, and lets the engine forget it. */

import type { Logger } from 'pino';
import type { Cursor, EngineEvent } from '../domain/event.ts';
import { type Ledger, LedgerDiverged } from '../ledger/index.ts';

/** What settlement needs of the engine. */
export interface EventSource {
  /** Up to `count` events after the cursor, and before them the one at the cursor while it is still there. */
  readEvents(after: Cursor, count: number): Promise<EngineEvent[]>;
  /** Forgets what lies at or before the cursor, when it sees fit. */
  trim(cursor: Cursor): Promise<unknown>;
  /** Where the stream ends. */
  state(): Promise<Cursor>;
}

export interface SettlementOptions {
  engine: EventSource;
  ledger: Pick<Ledger, 'cursor' | 'settle'>;
  log: Pick<Logger, 'info' | 'warn' | 'error' | 'fatal'>;
  /** Events in one transaction. */
  batchSize?: number;
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
const BACKOFF_FIRST_MS = 250;
const BACKOFF_LAST_MS = 5_000;

export const createSettlement = (options: SettlementOptions): Settlement => {
  const { engine, ledger, log, batchSize = BATCH_SIZE } = options;
  let diverged = false;
  let failures = 0;
  let retryAtMs = 0;

  /** One batch. True when there may be more for us; false when all is settled, or another process is at it. */
  const settleBatch = async (): Promise<boolean> => {
    const before = await ledger.cursor();
    const events = await engine.readEvents(before, batchSize);
    const last = events.at(-1);
    const settled = await ledger.settle(events);
    await engine.trim(settled);
    const isOurs = last !== undefined && settled.sequence === last.sequence;
    return isOurs && settled.sequence > before.sequence;
  };

  const fail = (error: unknown): void => {
    if (error instanceof LedgerDiverged) {
      diverged = true;
      log.fatal({ err: error }, 'settlement stopped: the engine and the ledger contradict each other');
      return;
    }
    const backoffMs = Math.min(BACKOFF_FIRST_MS * 2 ** failures, BACKOFF_LAST_MS);
    failures += 1;
    retryAtMs = Date.now() + backoffMs;
    log.warn({ err: error, failures, backoffMs }, 'settlement failed and will be tried again');
  };

  return {
    run: async () => {
      if (diverged || Date.now() < retryAtMs) return;
      try {
        while (await settleBatch());
        if (failures > 0) log.info({ failures }, 'settlement goes on');
        failures = 0;
      } catch (error) {
        fail(error);
      }
    },
    lag: async () => {
      // The cursor first: what is settled between the two questions then counts as lag, never as a lead.
      const cursor = await ledger.cursor();
      const { sequence } = await engine.state();
      const events = await engine.readEvents(cursor, 1);
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
