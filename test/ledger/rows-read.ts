/** Counts the rows that reads of the ledger cost Postgres, which counts them from version 15 on when a connection ends. */

import pg from 'pg';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { query } from './tables.ts';

/** Live and dead rows of the ledger's tables read by any process. */
const ROWS_READ = `
  select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as rows from pg_stat_user_tables`;
const COUNTS_AT_ONCE_FROM = 15;

/** False for Postgres 14, which counts rows some time after they were read. */
export async function countsRows(databaseUrl: string): Promise<boolean> {
  const [server] = await query<{ version: number }>(
    databaseUrl,
    `select current_setting('server_version_num')::int / 10000 as version`,
  );
  return server!.version >= COUNTS_AT_ONCE_FROM;
}

/** Returns the rows that one read costs. It has its own connections, because a connection reports its counts when it ends. */
export async function rowsReadBy(
  databaseUrl: string,
  read: (ledger: Ledger) => Promise<unknown>,
): Promise<number> {
  const before = await settledCounts(databaseUrl);
  const ledger = openLedger({ databaseUrl });
  await read(ledger);
  await ledger.close();
  return (await settledCounts(databaseUrl)) - before;
}

async function settledCounts(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (;;) {
      const { rows } = await client.query(
        `select count(*)::int as readers from pg_stat_activity
         where datname = current_database() and application_name like 'redbook %'`,
      );
      if (rows[0].readers === 0) break;
    }
    return (await client.query<{ rows: number }>(ROWS_READ)).rows[0]!.rows;
  } finally {
    await client.end();
  }
}
