/** Ledger entries as text: CSV for finance, lines of JSON for programs, or one JSON document. */

import { DEFAULT_SCALE } from '../domain/market-rules.ts';
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

/**
 * Matches text that a spreadsheet would run as a formula, with any apostrophes before it. Excel reads the last four,
 * full-width forms, as the plain ones.
 */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/**
 * Returns a cell quoted as in RFC 4180, except that lines end in LF, so that every tool of a shell can read them. A
 * semicolon and a TAB are quoted because spreadsheets in some languages split cells there.
 *
 * A text that reads as a formula gets one leading apostrophe: references may be payment memos that strangers chose.
 * Removing one apostrophe before the same characters restores the text.
 */
function csvCell(name: string, text: string): string {
  const isFormula = name !== 'amount' && FORMULA.test(text);
  const shown = isFormula ? `'${text}` : text;
  return isFormula || /[",;\t\r\n]/.test(text) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

const csvLine = (entry: LedgerEntry): string =>
  `${Object.entries(record(entry))
    .map(([name, text]) => csvCell(name, text))
    .join(',')}\n`;

/**
 * Yields the text of the entries in chunks.
 * @param isResumed true: the text continues an earlier export and has no header row, so that both files can be put
 *   together
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
      chunk += csvLine(entry);
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
