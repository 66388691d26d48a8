/** Settles engine events into Postgres: one transaction a batch, each event exactly once. */

import pg from 'pg';
import { OperatorRefusal } from '../domain/errors.ts';
import type { Cursor, EngineEvent } from '../domain/event.ts';
import { type Adoption, writeAdoption } from './adoption.ts';
import {
  CURSOR_COLUMNS,
  type CursorRow,
  cursorNow,
  positionOf,
  READ_POSITION,
  type SettledCursor,
  settledCursor,
} from './cursor.ts';
import { LedgerDiverged } from './diverged.ts';
import { fold, ordersOfEarlierBatches } from './fold.ts';
import { loadOrders, progressOf } from './order-rows.ts';
import type { Pools } from './pools.ts';
import { type PreparedBatch, prepareBatch } from './prepared-batch.ts';
import { takeClient } from './queries.ts';
import { roundTrip, type Statement, type TextRow } from './round-trip.ts';
import { endsAfter, readEnds, SegmentsAhead } from './segments.ts';
import { type BatchStatements, writeBatch } from './write-batch.ts';

/** The new cursor. */
export interface SettledTo extends Cursor {
  /**
   * True if the disk has everything up to the cursor. Otherwise a Postgres that is killed may come back with an earlier
   * cursor, so the engine must keep the events.
   */
  readonly isFlushed: boolean;
}

/** The last settled event, which the next events must follow. */
interface Settled extends Cursor {
  /** Digest of the event at the cursor; null while nothing is settled. */
  readonly digest: string | null;
}

/** True for errors that every retry would meet: data that no table can hold (22) or that breaks a constraint (23). */
const isContradiction = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && /^(22|23)/.test(error.code ?? '');

const BEGIN: Statement = { name: 'begin', text: 'begin' };
const COMMIT: Statement = { name: 'commit', text: 'commit' };

/** Writes a message that nobody reads to the log and commits it, which flushes every commit before it. */
const FLUSH = `select pg_logical_emit_message(true, 'redbook flush', '')`;

/** Lets the commit return before its data are on disk. Postgres still writes them in the order of the commits. */
const UNFLUSHED: Statement = { name: 'unflushed', text: 'set local synchronous_commit = off' };

/**
 * Locks the cursor. Settlement processes do not queue: a process that finds the row locked leaves the work to the
 * lock's owner.
 *
 * The settings hold for the transaction. They prevent a plan made for a small table from reading all of a large one. The
 * commit flushes this transaction and all before it: even a transaction that only locks the row writes that lock to the
 * log.
 */
const LOCK: Statement = {
  name: 'lock',
  text: `
    select epoch, sequence, digest, head, ${endsAfter('engine_cursor.sequence')}, set_config('enable_seqscan', 'off', true),
      set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)
    from public.engine_cursor for update skip locked`,
};

interface SettleOptions {
  /** True to wait until the disk has the events. */
  readonly flush?: boolean;
  /** The statements of the same events, made in advance. */
  readonly prepared?: PreparedBatch | undefined;
}

/** Settles in two round trips: one reads the cursor and the orders that the events change, the other writes all rows. */
async function settleOn(
  client: pg.PoolClient,
  events: readonly EngineEvent[],
  { flush = true, prepared }: SettleOptions,
): Promise<SettledTo> {
  // The first event is usually the one at the cursor: what it placed was settled with it.
  const ids = prepared === undefined ? ordersOfEarlierBatches(events.slice(1)) : [];
  const [, locked, found] = await roundTrip(client, [BEGIN, LOCK, ...loadOrders(ids)]);
  const row = locked?.[0];
  if (row === undefined) {
    const [current] = await roundTrip(client, [READ_POSITION, COMMIT]);
    return { ...positionOf(current?.[0]), isFlushed: false };
  }
  const settled = { ...positionOf(row), digest: row[2] ?? null };
  const fresh = following(settled, events);
  const last = fresh.at(-1);
  if (last === undefined) {
    await roundTrip(client, [COMMIT]);
    return { epoch: settled.epoch, sequence: settled.sequence, isFlushed: true };
  }
  const isAsExpected = prepared === undefined && fresh.length === events.length - 1;
  const writing = prepared?.statementsAfter(settled) ?? (await foldNow(client, fresh, isAsExpected && found));
  const statements = writing.after(settled, row[3] ?? '', readEnds(row[4]));
  await roundTrip(client, [...statements, ...(flush ? [COMMIT] : [UNFLUSHED, COMMIT])]);
  prepared?.written(writing);
  return { epoch: last.epoch, sequence: last.sequence, isFlushed: flush };
}

/** @param found the orders of earlier batches; false if they must be read again, because other events were expected */
async function foldNow(
  client: pg.PoolClient,
  fresh: readonly EngineEvent[],
  found: readonly TextRow[] | undefined | false,
): Promise<BatchStatements> {
  const earlier = found === false ? await reload(client, fresh) : found;
  return writeBatch(fold(fresh, progressOf(earlier ?? [])), fresh[0]!.sequence, fresh.at(-1)!);
}

/**
 * @returns the events after the cursor
 * @throws LedgerDiverged when they do not follow it
 */
function following(cursor: Settled, events: readonly EngineEvent[]): EngineEvent[] {
  const settled = events.find((event) => event.sequence === cursor.sequence);
  if (settled !== undefined && (settled.digest.hex !== cursor.digest || settled.epoch !== cursor.epoch)) {
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
}

/** Loads the orders again because another process settled some of the events. */
async function reload(
  client: pg.PoolClient,
  fresh: readonly EngineEvent[],
): Promise<readonly TextRow[] | undefined> {
  const [found] = await roundTrip(client, loadOrders(ordersOfEarlierBatches(fresh)));
  return found;
}

/** Longest wait for the lock; a running settlement ends sooner. */
const LOCK_PATIENCE = '10s';
const LOCK_NOT_AVAILABLE = '55P03';

/** The ledger while nothing is settled. */
interface AtRest {
  readonly cursor: SettledCursor;
  /** Lets settlement continue, and makes it refuse events of earlier epochs. */
  fence(epoch: number): Promise<void>;
  /** Writes a seam after the cursor, and lets settlement continue behind it. */
  adopt(adoption: Adoption): Promise<void>;
}

export type Settlement = ReturnType<typeof settlement>;

/** The place up to which events are settled, with two operations: settle further events, or keep settlement out. */
export function settlement({
  public: reading,
  settling,
  auditing,
}: Pick<Pools, 'public' | 'settling' | 'auditing'>) {
  const segments = new SegmentsAhead();
  return {
    /** Returns the last settled event; `{ epoch: 0, sequence: 0, digest: null, … }` while nothing is settled. */
    cursor(): Promise<SettledCursor> {
      return cursorNow(reading);
    },

    /**
     * Makes the statements of events before their transaction, so that Postgres writes an earlier batch meanwhile.
     * Returns undefined when it cannot: `settle` makes them in any case.
     * @param after the event that the first of the events follows, or is
     * @param before the batch that is being settled and ends with that event; nothing is being settled unless given
     */
    prepare(
      after: Cursor,
      events: readonly EngineEvent[],
      before?: PreparedBatch,
    ): Promise<PreparedBatch | undefined> {
      return prepareBatch(reading, { after, events, before });
    },

    /**
     * Settles the events that follow the cursor in one transaction, and skips events at or before it. Returns the new
     * cursor. The cursor is short of the last event only when another process is settling right now; nothing was done
     * then. Rejects with an error that a later try may not meet while a segment is missing.
     * @throws LedgerDiverged when the events do not follow from what is settled
     */
    async settle(events: readonly EngineEvent[], options: SettleOptions = {}): Promise<SettledTo> {
      const client = await settling.connect();
      let sound = false;
      try {
        await segments.reach(client, events.at(-1)?.sequence ?? 0);
        const cursor = await settleOn(client, events, options);
        sound = true;
        return cursor;
      } catch (thrown) {
        const error = segments.errorOf(thrown);
        throw isContradiction(error)
          ? new LedgerDiverged(`the events contradict the ledger: ${error.message}`, { cause: error })
          : error;
      } finally {
        // Closing the connection is the rollback that always works.
        client.release(!sound);
      }
    },

    /**
     * Runs `work` while settlement is paused: everything it reads is as of the cursor, and the disk has it.
     * @throws OperatorRefusal LEDGER_BUSY; Refusal SERVICE_UNAVAILABLE when Postgres is unavailable
     */
    async atRest<Result>(work: (rest: AtRest) => Promise<Result>): Promise<Result> {
      const client = await takeClient(auditing);
      try {
        await client.query('begin');
        await client.query(`select set_config('lock_timeout', '${LOCK_PATIENCE}', true)`);
        // Settlement skips its turn while this row is locked.
        const { rows } = await client.query<CursorRow>(
          `select ${CURSOR_COLUMNS} from public.engine_cursor for update`,
        );
        await auditing.query(FLUSH);
        const cursor = settledCursor(rows[0]!);
        return await work({
          cursor,
          adopt: (adoption) => writeAdoption(client, cursor, adoption),
          async fence(epoch) {
            await client.query('update public.engine_cursor set epoch = $1', [epoch]);
            await client.query('commit');
          },
        });
      } catch (error) {
        if (error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE)
          throw new OperatorRefusal('LEDGER_BUSY', 'something else keeps the ledger locked: try again');
        throw error;
      } finally {
        // Closing the connection is the rollback that always works.
        client.release(true);
      }
    },
  };
}
