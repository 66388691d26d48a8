/** Reports as text: CSV for finance, lines of JSON for programs, or one JSON document. */

const CHUNK_CHARACTERS = 64 * 1024;

/** A column. Only amounts may begin like a formula, because they are numbers. */
export interface ReportColumn {
  /** In JSON; CSV has it in snake case, and tables in capitals. */
  readonly name: string;
  readonly isAmount?: true;
}

export type Cell = string | number | null;

/** A report of any length. */
export interface Report {
  /** Members of the JSON document before the list. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Member of the JSON document that holds the rows. */
  readonly list: string;
  readonly columns: readonly ReportColumn[];
  /** Cells in the order of the columns. */
  readonly rows: AsyncIterable<readonly Cell[]>;
  /** Members of the JSON document after the list, known when the rows are read. */
  readonly totals?: () => Readonly<Record<string, unknown>>;
}

export async function* mapped<Item>(
  items: AsyncIterable<Item>,
  rowOf: (item: Item) => readonly Cell[],
): AsyncGenerator<readonly Cell[]> {
  for await (const item of items) yield rowOf(item);
}

export type ReportFormat = 'csv' | 'jsonl' | 'json';

export const amountColumn = (name: string): ReportColumn => ({ name, isAmount: true });
export const textColumns = (...names: readonly string[]): ReportColumn[] => names.map((name) => ({ name }));

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns the title of a column in a table for people. */
export const titleOf = ({ name }: ReportColumn): string => snakeCase(name).replaceAll('_', ' ').toUpperCase();

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
function csvCell({ isAmount }: ReportColumn, cell: Cell): string {
  if (cell === null) return '';
  const text = String(cell);
  const isFormula = !isAmount && FORMULA.test(text);
  const shown = isFormula ? `'${text}` : text;
  return isFormula || /[",;\t\r\n]/.test(text) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

export const csvHeader = (columns: readonly ReportColumn[]): string =>
  `${columns.map(({ name }) => snakeCase(name)).join(',')}\n`;

export const csvLine = (columns: readonly ReportColumn[], cells: readonly Cell[]): string =>
  `${columns.map((column, at) => csvCell(column, cells[at] ?? null)).join(',')}\n`;

/** Returns a row as an object of JSON. */
export const recordOf = (columns: readonly ReportColumn[], cells: readonly Cell[]): Record<string, Cell> =>
  Object.fromEntries(columns.map(({ name }, at) => [name, cells[at] ?? null]));

const membersOf = (facts: Readonly<Record<string, unknown>>): string =>
  Object.entries(facts)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
    .join(',');

/**
 * Yields the text of a report in chunks.
 * @param isResumed true: the text continues an earlier one and has no header row, so that both files can be put together
 */
export async function* reportText(
  { facts, list, columns, rows, totals = () => ({}) }: Report,
  format: ReportFormat,
  isResumed = false,
): AsyncGenerator<string> {
  const head = Object.keys(facts).length === 0 ? '' : `${membersOf(facts)},`;
  let chunk =
    format === 'csv' && !isResumed
      ? csvHeader(columns)
      : format === 'json'
        ? `{${head}${JSON.stringify(list)}:[`
        : '';
  let separator = '';
  for await (const cells of rows) {
    if (format === 'csv') {
      chunk += csvLine(columns, cells);
    } else if (format === 'jsonl') {
      chunk += `${JSON.stringify(recordOf(columns, cells))}\n`;
    } else {
      chunk += `${separator}\n${JSON.stringify(recordOf(columns, cells))}`;
      separator = ',';
    }
    if (chunk.length >= CHUNK_CHARACTERS) {
      yield chunk;
      chunk = '';
    }
  }
  const tail = membersOf(totals());
  yield format === 'json' ? `${chunk}\n]${tail === '' ? '' : `,${tail}`}}\n` : chunk;
}
