/** Makes the statements of a batch while Postgres writes the batch before it, so that neither waits for the other. */

import type pg from 'pg';
import type { Cursor, EngineEvent } from '../domain/event.ts';
import type { Progress } from '../order/fields.ts';
import { positionOf, READ_POSITION } from './cursor.ts';
import { type FoldedBatch, fold, ordersOfEarlierBatches } from './fold.ts';
import { loadOrders, progressOf } from './order-rows.ts';
import { roundTrip, type Statement, type TextRow } from './round-trip.ts';
import { type BatchStatements, writeBatch } from './write-batch.ts';

/**
 * Statements that hold only if the batch follows from what they were made of: the batch before it, as it was prepared,
 * and orders that were read without a lock. Settlement alone changes orders, and each change moves the cursor, so the
 * locked cursor shows if another process has changed them since.
 */
export class PreparedBatch {
  readonly #after: Cursor;
  readonly #batch: FoldedBatch;
  readonly #statements: BatchStatements;
  /** Sequence of the cursor when the orders were read, or before. */
  readonly #readAt: number;
  #before: PreparedBatch | undefined;
  #isWritten = false;

  constructor({ after, before }: Preparing, batch: FoldedBatch, statements: BatchStatements, readAt: number) {
    this.#after = after;
    this.#before = before;
    this.#batch = batch;
    this.#statements = statements;
    this.#readAt = readAt;
  }

  /** True once Postgres has committed these statements. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** Returns an order that the batch places or changes, as it is afterwards. */
  progressOf(id: string): Progress | undefined {
    return this.#batch.progressOf(id);
  }

  /** Returns the statements if they hold after the locked cursor. */
  statementsAfter(settled: Cursor): BatchStatements | undefined {
    const before = this.#before;
    // Each batch would keep all before it in memory.
    this.#before = undefined;
    const holds =
      before === undefined
        ? this.#readAt === settled.sequence
        : before.#isWritten && this.#readAt >= before.#after.sequence;
    return holds && this.#after.sequence === settled.sequence ? this.#statements : undefined;
  }

  /** Records that Postgres has committed statements for the events of the batch. */
  written(statements: BatchStatements): void {
    this.#isWritten = statements === this.#statements;
  }
}

interface Preparing {
  readonly after: Cursor;
  readonly events: readonly EngineEvent[];
  readonly before: PreparedBatch | undefined;
}

/**
 * Returns undefined when it fails for any reason: Postgres may not answer now, and events that contradict the orders may
 * be settled by another process. `settle` finds out under its lock.
 */
export async function prepareBatch(
  reading: pg.Pool,
  preparing: Preparing,
): Promise<PreparedBatch | undefined> {
  try {
    return await prepare(reading, preparing);
  } catch {
    return undefined;
  }
}

async function prepare(reading: pg.Pool, preparing: Preparing): Promise<PreparedBatch | undefined> {
  const { after, events, before } = preparing;
  const fresh = events.filter(({ sequence }) => sequence > after.sequence);
  const last = fresh.at(-1);
  if (last === undefined) return undefined;
  const changed = ordersOfEarlierBatches(fresh);
  const known = changed.map((id) => [id, before?.progressOf(id)] as const);
  const unknown = known.filter(([, progress]) => progress === undefined).map(([id]) => id);
  const [cursor, found = []] = await readRows(reading, [READ_POSITION, ...loadOrders(unknown)]);
  const { sequence: readAt } = positionOf(cursor?.[0]);
  const earlier = progressOf(found);
  for (const [id, progress] of known) if (progress !== undefined) earlier.set(id, progress);
  const batch = fold(fresh, earlier);
  return new PreparedBatch(preparing, batch, writeBatch(batch, fresh[0]!.sequence, last), readAt);
}

/** Runs the statements on a connection of the pool. The cursor is read first: the orders may be later, never earlier. */
async function readRows(reading: pg.Pool, statements: readonly Statement[]): Promise<readonly TextRow[][]> {
  const client = await reading.connect();
  let sound = false;
  try {
    const rows = await roundTrip(client, statements);
    sound = true;
    return rows;
  } finally {
    client.release(!sound);
  }
}
