/** Rows into a table by COPY: two to three times as fast as multi-row INSERT for thousands of rows. */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

export type Field = string | number | bigint | boolean | null;

const CHUNK_CHARACTERS = 64 * 1024;

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** COPY's text format: a backslash starts everything special, and no text keeps one of its own. */
const encode = (field: Field): string =>
  field === null
    ? '\\N'
    : typeof field === 'string'
      ? field.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character]!)
      : String(field);

function* chunks(rows: Iterable<readonly Field[]>): Generator<Buffer> {
  let chunk = '';
  for (const row of rows) {
    chunk += `${row.map(encode).join('\t')}\n`;
    if (chunk.length >= CHUNK_CHARACTERS) {
      yield Buffer.from(chunk);
      chunk = '';
    }
  }
  if (chunk !== '') yield Buffer.from(chunk);
}

/** @param columns The table's columns in the order of the fields of a row, separated by commas. */
export const copyRows = async (
  client: pg.PoolClient,
  table: string,
  columns: string,
  rows: Iterable<readonly Field[]>,
): Promise<void> => {
  await pipeline(
    Readable.from(chunks(rows)),
    client.query(copyFrom(`copy ${table} (${columns}) from stdin`)),
  );
};
