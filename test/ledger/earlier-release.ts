/** Creates a database in the state of an earlier release: its migrations, and the rows that it wrote. */

import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { migrate } from '../../src/ledger/migrate.ts';
import { freshDatabase } from '../support/servers.ts';
import { query, TABLES } from './tables.ts';

const FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url));

/** Rows watched by the cursor's triggers must precede the cursor. */
const IN_ORDER = [...TABLES.filter((table) => table !== 'engine_cursor'), 'engine_cursor'];
const ALONE = ['engine_cursor', 'trading_switches'];
/** Columns written by that release's triggers, or not written at all. */
const NOT_COPIED = new Set(['witness', 'fill_count']);
/** Filters for tables of which these releases had only some rows. */
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
 * Creates a database with the migrations before a given one and the rows of a settled ledger. The triggers of these
 * migrations write fill counts, witnesses and row counts.
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
