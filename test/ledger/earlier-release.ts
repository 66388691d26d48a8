/** A database as an earlier release left it: its migrations, and the rows that it wrote. */

import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { migrate } from '../../src/ledger/migrate.ts';
import { freshDatabase } from '../support/servers.ts';
import { query, TABLES } from './tables.ts';

const FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url));

/** Rows of what its triggers watch come before the cursor that contains them. */
const IN_ORDER = [...TABLES.filter((table) => table !== 'engine_cursor'), 'engine_cursor'];
const ALONE = ['engine_cursor', 'trading_switches'];
/** Columns that triggers of that release wrote, or that it did not write at all. */
const NOT_COPIED = new Set(['witness', 'fill_count']);
/** Rows that these releases had, where they had only some. */
const KEPT: Readonly<Record<string, string>> = { candles: `where timeframe = '1m'` };
const OF_CURSOR = new Set(['epoch', 'sequence', 'digest', 'event_time_ms', 'settled_at']);

/** @param before the first migration that the release does not have */
async function migratedBefore(before: string): Promise<string> {
  const databaseUrl = await freshDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'redbook-migrations-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (const file of readdirSync(FOLDER).filter((name) => name < before))
    copyFileSync(join(FOLDER, file), join(folder, file));
  await migrate(databaseUrl, pathToFileURL(`${folder}/`));
  rmSync(folder, { recursive: true });
  return databaseUrl;
}

/**
 * A database with the migrations before one, and the rows of a settled ledger. Fill counts, witnesses and counts of
 * rows are those that the triggers of these migrations made.
 */
export async function databaseOfEarlierRelease(before: string, settledUrl: string): Promise<string> {
  const databaseUrl = await migratedBefore(before);
  const columns = await query<{ relation: string; name: string }>(
    databaseUrl,
    `select table_name as relation, column_name as name from information_schema.columns where table_schema = 'public'`,
  );
  for (const table of IN_ORDER) {
    const isAlone = ALONE.includes(table);
    const names = columns
      .filter(({ relation, name }) => relation === table && !NOT_COPIED.has(name))
      .filter(({ name }) => table !== 'engine_cursor' || OF_CURSOR.has(name))
      .map(({ name }) => name);
    const rows = await query<{ rows: string }>(
      settledUrl,
      `select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as rows from ${table} t ${KEPT[table] ?? ''}`,
    );
    const copied = `jsonb_populate_recordset(null::${table}, $rows$${rows[0]!.rows}$rows$)`;
    await query(
      databaseUrl,
      isAlone
        ? `update ${table} set (${names}) = (select ${names} from ${copied})`
        : `insert into ${table} (${names}) select ${names} from ${copied}`,
    );
  }
  return databaseUrl;
}
