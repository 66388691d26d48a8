/** Reports as text: CSV for finance, lines of JSON for programs, or one JSON document. */

const CHUNK_CHARACTERS = 64 * 1024;

/** A column. */
export interface ReportColumn {
  /** In JSON; CSV has it in snake case, and tables in capitals. */
  readonly name: string;
  readonly isAmount?: true;
  /** Amounts, days and numbers of Redbook, which a spreadsheet may read as such. Other texts stay texts there. */
  readonly isPlain?: true;
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

/** The form of a report's text. */
export interface ReportAs {
  readonly format: ReportFormat;
  /** True: CSV begins with a byte order mark, without which spreadsheets read UTF-8 as another encoding. */
  readonly mark?: boolean | undefined;
  /** True: the text goes on with an earlier one, without mark and header row, so that both files can be put together. */
  readonly isResumed?: boolean | undefined;
}

export const amountColumn = (name: string): ReportColumn => ({ name, isAmount: true, isPlain: true });
export const plainColumns = (...names: readonly string[]): ReportColumn[] =>
  names.map((name) => ({ name, isPlain: true }));
export const textColumns = (...names: readonly string[]): ReportColumn[] => names.map((name) => ({ name }));

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns the title of a column in a table for people. */
export const titleOf = ({ name }: ReportColumn): string => snakeCase(name).replaceAll('_', ' ').toUpperCase();

/** Excel reads the last four, full-width forms, as the plain ones. An apostrophe here makes the one in front removable. */
const FORMULA = /^['=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
/** Digits without a letter: a number, a date, a time or a sum of money, in the notation of some country. */
const NUMBER = /^[^\p{L}]*\d[^\p{L}]*$/u;
const EXPONENT = /^[\s\d.,]+e[+-]?\d+\s*$/i;
/** Excel reads MAR1 as the first of March. */
const DATE =
  /^[\s\d.,/-]*(jan|feb|m(ar|är|ae)|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])\p{L}{0,6}[\s\d.,/-]*$/iu;
const TRUTH = /^(true|false|wahr|falsch|vrai|faux)$/i;

/** True for a text that a spreadsheet would run or read as something else. */
const isReadOtherwise = (text: string): boolean =>
  FORMULA.test(text) ||
  NUMBER.test(text) ||
  EXPONENT.test(text) ||
  (DATE.test(text) && /\d/.test(text)) ||
  TRUTH.test(text);

/**
 * Returns a cell quoted as in RFC 4180, except that lines end in LF, so that every tool of a shell can read them. A
 * semicolon and a TAB are quoted because spreadsheets in some languages split cells there.
 *
 * A text that a spreadsheet would run as a formula, or read as a number or a date, gets one leading apostrophe.
 * References may be payment memos that strangers chose, and some order ids look like 3.07E+93. An apostrophe also
 * stands before a text that begins with one: to remove the first apostrophe of a cell restores every text.
 */
function csvCell({ isPlain }: ReportColumn, cell: Cell): string {
  if (cell === null) return '';
  const text = String(cell);
  const isKept = !isPlain && typeof cell === 'string' && isReadOtherwise(text);
  const shown = isKept ? `'${text}` : text;
  return isKept || /[",;\t\r\n]/.test(text) ? `"${shown.replaceAll('"', '""')}"` : shown;
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

/** Returns the name of a file, whose days are written as days. */
export function fileName(words: readonly string[], timesMs: readonly number[], extension: string): string {
  const days = timesMs.map((timeMs) => new Date(timeMs).toISOString().replace('T00:00:00.000Z', ''));
  return `${[...words, ...days.map((day) => day.replace(/:|\.000/g, ''))].join('-')}.${extension}`;
}

/** A byte order mark. */
export const MARK = '\ufeff';

/** Yields the text of a report in chunks. */
export async function* reportText(
  { facts, list, columns, rows, totals = () => ({}) }: Report,
  { format, mark = false, isResumed = false }: ReportAs,
): AsyncGenerator<string> {
  const head = Object.keys(facts).length === 0 ? '' : `${membersOf(facts)},`;
  let chunk =
    format === 'csv' && !isResumed
      ? `${mark ? MARK : ''}${csvHeader(columns)}`
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
