/**
 * Reads the ledger for a rebuild of the engine, beside balances, live orders and switches: assets, used ids, and the
 * lock that keeps settlement out.
 */

import pg from 'pg';
import { OperatorRefusal } from '../domain/errors.ts';
import type { AccountMoved } from '../domain/event.ts';
import type { Asset } from '../domain/market.ts';
import { CURSOR_COLUMNS, type CursorRow, type SettledCursor, settledCursor } from './cursor.ts';
import { askOnce, streamRows, takeClient } from './pool.ts';

/** A settlement under way is over sooner. */
const LOCK_PATIENCE = '10s';
const LOCK_NOT_AVAILABLE = '55P03';

export interface AtRest {
  readonly cursor: SettledCursor;
  /** Ends the rest; events of an earlier epoch are refused from then on, by whoever they are still held. */
  fence(epoch: number): Promise<void>;
}

/**
 * Runs `work` while nothing is settled: all that is read meanwhile is as of the cursor.
 * @throws OperatorRefusal LEDGER_BUSY; Refusal SERVICE_UNAVAILABLE when Postgres is away
 */
export async function atRest<Result>(
  pool: pg.Pool,
  work: (rest: AtRest) => Promise<Result>,
): Promise<Result> {
  const client = await takeClient(pool);
  try {
    await client.query('begin');
    await client.query(`set local lock_timeout = '${LOCK_PATIENCE}'`);
    // Settlement passes by while this row is locked.
    const { rows } = await client.query<CursorRow>(`select ${CURSOR_COLUMNS} from engine_cursor for update`);
    return await work({
      cursor: settledCursor(rows[0]!),
      async fence(epoch) {
        await client.query('update engine_cursor set epoch = $1', [epoch]);
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
}

/** Every asset, as last settled. */
export const assets = (pool: pg.Pool): Promise<Asset[]> =>
  askOnce<Asset>(pool, 'select symbol, scale from assets order by symbol');

/** Every client order id that was ever used. */
export const clientOrderIds = (pool: pg.Pool): AsyncGenerator<{ wallet: string; clientOrderId: string }> =>
  streamRows(
    pool,
    'select wallet, client_order_id as "clientOrderId" from orders where client_order_id is not null',
  );

/** The reference of every deposit and withdrawal. */
export const movementReferences = (pool: pg.Pool): AsyncGenerator<Pick<AccountMoved, 'kind' | 'reference'>> =>
  streamRows(pool, 'select kind, reference from movements');
