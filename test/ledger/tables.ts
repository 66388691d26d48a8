/** The ledger's tables as text, for tests that compare two databases byte by byte. */

import { createHash } from 'node:crypto';
import pg from 'pg';

/** The tables that settlement writes alike, whatever the batches were. */
const TABLES = [
  'engine_cursor',
  'trading_switches',
  'assets',
  'markets',
  'wallet_terms',
  'holds',
  'live_orders',
  'ended_orders',
  'late_orders',
  'trades',
  'candles',
  'movements',
  'market_versions',
  'setting_changes',
  'operator_acts',
  'chain_heads',
  'epoch_starts',
  'announced_deposits',
  'pending_withdrawals',
  'taken_withdrawals',
];
/** All tables that settlement writes. */
export const WRITTEN_TABLES = [...TABLES, 'chain_links'];

export async function query<Row extends pg.QueryResultRow>(
  databaseUrl: string,
  sql: string,
  parameters?: readonly unknown[],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query<Row>(sql, parameters as unknown[])).rows;
  } finally {
    await client.end();
  }
}

/**
 * Returns a digest and a row count for each table, and for the views. Left out are the time of settlement and
 * the head, which follows batches.
 */
export async function contents(databaseUrl: string): Promise<Record<string, string>> {
  const result: Record<string, string> = {};
  for (const table of [...TABLES, 'orders', 'ledger_entries']) {
    const rows = await query<{ row: string }>(
      databaseUrl,
      `select (to_jsonb(t) - 'settled_at' - 'head')::text as row from ${table} t order by row`,
    );
    const digest = createHash('sha256').update(rows.map(({ row }) => row).join('\n'));
    result[table] = `${rows.length} rows, ${digest.digest('hex')}`;
  }
  return result;
}

/**
 * Copies all rows.
 * @param further tables that settlement does not write
 * @returns a function that restores them, whatever was changed, added or removed
 */
export async function remembered(
  databaseUrl: string,
  further: readonly string[] = [],
): Promise<() => Promise<void>> {
  const tables = [...WRITTEN_TABLES, ...further];
  const copies = tables.map((table) => `create table saved.${table} as table ${table};`);
  await query(databaseUrl, `drop schema if exists saved cascade; create schema saved; ${copies.join(' ')}`);
  const rows = tables.map((table) => `delete from ${table}; insert into ${table} table saved.${table};`);
  return async () => {
    await query(databaseUrl, `set session_replication_role = replica; ${rows.join(' ')}`);
  };
}
