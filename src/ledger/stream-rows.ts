/** Reads the rows of a query of any length with little memory. */

import type pg from 'pg';
import { type Ask, asking, SNAPSHOT, takeClient } from './queries.ts';

const STREAM_ROWS = 2_000;

/**
 * Tells Postgres that cursors are read to their end. By default it prefers plans that begin early, such as a walk over
 * the key of all orders to find the few that are live.
 */
export const LISTS_ARE_READ_WHOLE = 'set local cursor_tuple_fraction = 1';

/**
 * Yields the rows of a query of any length, in one snapshot, with at most `STREAM_ROWS` rows in memory. The packages
 * pg-cursor and pg-query-stream need the same transaction around them. For a million rows they took the same processor
 * time, and 93 to 96 MB of memory against 120.
 * @param settings SQL before the query in its transaction
 */
export async function* streamRows<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  sql: string,
  parameters: readonly unknown[] = [],
  settings = LISTS_ARE_READ_WHOLE,
): AsyncGenerator<Row> {
  const client = await takeClient(pool);
  const ask = asking(client);
  let sound = false;
  try {
    await ask(`${SNAPSHOT}; ${settings}`);
    yield* cursorRows<Row>(ask, sql, parameters);
    await ask('commit');
    sound = true;
  } finally {
    client.release(!sound);
  }
}

/** Yields the rows of a query within a transaction. */
export async function* cursorRows<Row extends pg.QueryResultRow>(
  ask: Ask,
  sql: string,
  parameters: readonly unknown[] = [],
): AsyncGenerator<Row> {
  for await (const rows of cursorChunks<Row>(ask, sql, parameters)) yield* rows;
}

/** Yields the rows of a query within a transaction, up to `STREAM_ROWS` of them together. */
export async function* cursorChunks<Row extends pg.QueryResultRow>(
  ask: Ask,
  sql: string,
  parameters: readonly unknown[],
): AsyncGenerator<readonly Row[]> {
  await ask(`declare rows no scroll cursor for ${sql}`, parameters);
  // A reader may stop early. A transaction that failed takes no further statement.
  let isOpen = true;
  try {
    for (;;) {
      isOpen = false;
      const rows = await ask<Row>(`fetch ${STREAM_ROWS} from rows`);
      isOpen = true;
      if (rows.length === 0) return;
      yield rows;
    }
  } finally {
    if (isOpen) await ask('close rows');
  }
}
