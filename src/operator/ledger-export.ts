/** Ledger entries as text: CSV for finance, lines of JSON for programs, or one JSON document. */

import { DEFAULT_SCALE } from '../domain/market.ts';
import { formatScaled } from '../domain/units.ts';
import type { LedgerEntry } from '../ledger/index.ts';

export type ExportFormat = 'csv' | 'jsonl' | 'json';
export const EXPORT_FORMATS = ['csv', 'jsonl'] as const;

const CHUNK_CHARACTERS = 64 * 1024;

/** The columns, in their order. */
const record = (entry: LedgerEntry) => ({
  entryId: entry.entryId,
  time: new Date(entry.timeMs).toISOString(),
  transactionId: entry.transactionId,
  kind: entry.kind,
  account: entry.account,
  asset: entry.asset,
  amount: formatScaled(entry.amountAtoms, entry.scale ?? DEFAULT_SCALE),
  reference: entry.reference,
});

const CSV_HEADER = 'entry_id,time,transaction_id,kind,account,asset,amount,reference\n';

/** As RFC 4180 quotes; lines end in LF all the same, so that every tool of a shell can read them. */
const csvField = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/**
 * The text of the entries in chunks.
 * @param isResumed whether it continues an earlier export: then there is no header row, so that both files can
 *   be put together as they are
 */
export async function* exportText(
  entries: AsyncIterable<LedgerEntry>,
  format: ExportFormat,
  isResumed: boolean,
): AsyncGenerator<string> {
  let chunk = format === 'csv' && !isResumed ? CSV_HEADER : format === 'json' ? '{"entries":[' : '';
  let separator = '';
  for await (const entry of entries) {
    if (format === 'csv') {
      chunk += `${Object.values(record(entry)).map(csvField).join(',')}\n`;
    } else if (format === 'jsonl') {
      chunk += `${JSON.stringify(record(entry))}\n`;
    } else {
      chunk += `${separator}\n${JSON.stringify(record(entry))}`;
      separator = ',';
    }
    if (chunk.length >= CHUNK_CHARACTERS) {
      yield chunk;
      chunk = '';
    }
  }
  yield format === 'json' ? `${chunk}\n]}\n` : chunk;
}
