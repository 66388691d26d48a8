/** Engine events into Postgres: one transaction a batch, each event exactly once. */

import pg from 'pg';
import type { Cursor, EngineEvent } from '../domain/event.ts';
import type { OrderStatus } from '../domain/order.ts';
import { CURSOR_COLUMNS, type CursorRow, readCursor, type SettledCursor, settledCursor } from './cursor.ts';
import { LedgerDiverged } from './diverged.ts';
import { fold, ordersOfEarlierBatches, type Progress } from './fold.ts';
import { writeBatch } from './write-batch.ts';

/**
 * Settles the events that follow the cursor and skips those at or before it. Returns the cursor as it
 * then stands: short of the last event only when another process is settling right now, in which case
 * nothing was done.
 *
 * @throws LedgerDiverged when the events do not follow from what is settled.
 */
export const settle = async (pool: pg.Pool, events: readonly EngineEvent[]): Promise<Cursor> => {
  const client = await pool.connect();
  let sound = false;
  try {
    // The setting turns off the trigger that counts the fills for releases that do not.
    await client.query('begin; set local redbook.counts_fills = on');
    const cursor = await settleIn(client, events);
    await client.query('commit');
    sound = true;
    return cursor;
  } catch (error) {
    throw isContradiction(error)
      ? new LedgerDiverged(`the events contradict the ledger: ${error.message}`, { cause: error })
      : error;
  } finally {
    // Closing the connection is the rollback that always works.
    client.release(!sound);
  }
};

/** Data that no table can hold (22) or that breaks a constraint (23): so it will at every attempt. */
const isContradiction = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && /^(22|23)/.test(error.code ?? '');

const settleIn = async (client: pg.PoolClient, events: readonly EngineEvent[]): Promise<Cursor> => {
  // Settlers take turns without queueing up: whoever finds the row locked leaves the work to its owner.
  const locked = await client.query<CursorRow>(
    `select ${CURSOR_COLUMNS} from engine_cursor for update skip locked`,
  );
  if (!locked.rows[0]) return readCursor(async (sql) => (await client.query(sql)).rows);
  const cursor = settledCursor(locked.rows[0]);

  const fresh = following(cursor, events);
  const last = fresh.at(-1);
  if (!last) return cursor;

  await writeBatch(client, fold(fresh, await loadOrders(client, ordersOfEarlierBatches(fresh))));
  await client.query(
    `update engine_cursor
     set epoch = $1, sequence = $2, digest = $3, event_time_ms = $4, settled_at = clock_timestamp()`,
    [last.epoch, last.sequence, last.digest, last.timeMs],
  );
  return { epoch: last.epoch, sequence: last.sequence };
};

/** The events after the cursor, after making sure that they follow it. */
const following = (cursor: SettledCursor, events: readonly EngineEvent[]): EngineEvent[] => {
  const settled = events.find((event) => event.sequence === cursor.sequence);
  if (settled && (settled.digest !== cursor.digest || settled.epoch !== cursor.epoch)) {
    throw new LedgerDiverged(`event ${settled.epoch}-${settled.sequence} is not the one that was settled`);
  }
  const fresh = events.filter((event) => event.sequence > cursor.sequence);
  let previous: Cursor = cursor;
  for (const event of fresh) {
    if (event.sequence !== previous.sequence + 1) {
      throw new LedgerDiverged(`event ${previous.sequence + 1} is missing: found ${event.sequence} after it`);
    }
    if (event.epoch < previous.epoch) {
      throw new LedgerDiverged(
        `event ${event.sequence} is of epoch ${event.epoch}, before ${previous.epoch}`,
      );
    }
    previous = event;
  }
  return fresh;
};

interface ProgressRow {
  id: string;
  size_steps: bigint;
  filled_steps: bigint;
  fill_count: bigint;
  status: OrderStatus;
  updated_at_ms: bigint;
  updated_sequence: bigint;
}

const loadOrders = async (client: pg.PoolClient, ids: readonly string[]): Promise<Map<string, Progress>> => {
  if (ids.length === 0) return new Map();
  const { rows } = await client.query<ProgressRow & { closed_sequence: bigint | null }>(
    `select id, size_steps, filled_steps, fill_count, status, updated_at_ms, updated_sequence, closed_sequence
     from orders where id = any($1)`,
    [ids],
  );
  return new Map(
    rows.map((row) => [
      row.id,
      {
        sizeSteps: row.size_steps,
        filledSteps: row.filled_steps,
        fillCount: Number(row.fill_count),
        status: row.status,
        updatedAtMs: Number(row.updated_at_ms),
        updatedSequence: Number(row.updated_sequence),
        closedSequence: row.closed_sequence === null ? null : Number(row.closed_sequence),
      },
    ]),
  );
};
