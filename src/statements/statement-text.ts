/** Statements as text: CSV for people, and what Koinly, CoinTracking and hledger import. */

import type { StatementTextFormat } from '../contract/requests.ts';
import type { StatementPage, StatementSpan } from '../ledger/index.ts';
import { isoTime } from './amounts.ts';
import { csvHeader, csvLine, fileName, MARK, plainColumns, textColumns } from './report.ts';
import { pagesOf, type ReadPage, rowsOfPage, STATEMENT_COLUMNS } from './statement.ts';
import { hledger } from './statement-journal.ts';
import { cointracking, koinly } from './statement-trades.ts';

/** A format. The pages, put together, make one file. */
export interface StatementText {
  /** Extension of its files. */
  readonly extension: 'csv' | 'journal';
  /** Text before the first page. */
  readonly head: (span: StatementSpan) => string;
  readonly page: (page: StatementPage, span: StatementSpan) => string;
}

const CSV_COLUMNS = [...STATEMENT_COLUMNS, ...textColumns('wallet'), ...plainColumns('from', 'to')];

/** Each statement begins with a row that names its wallet and span, also when nothing happened in it. */
const csv: StatementText = {
  extension: 'csv',
  head({ wallet, fromMs, toMs }) {
    const from = isoTime(fromMs);
    const to = isoTime(toMs);
    const none = Array<null>(STATEMENT_COLUMNS.length - 2).fill(null);
    const row = [from, 'statement', ...none, wallet, from, to];
    return `${csvHeader(CSV_COLUMNS)}${csvLine(CSV_COLUMNS, row)}`;
  },
  page: (page, span) =>
    rowsOfPage(page, span)
      .map((cells) => csvLine(CSV_COLUMNS, cells))
      .join(''),
};

export const TEXTS: Readonly<Record<StatementTextFormat, StatementText>> = {
  csv,
  koinly,
  cointracking,
  hledger,
};

export interface StatementAs {
  readonly format: StatementTextFormat;
  /** True: CSV begins with a byte order mark. */
  readonly bom?: boolean | undefined;
}

/** Returns the text of a page. @param isFirst true: with the head of the file */
export function pageText(
  page: StatementPage,
  span: StatementSpan,
  { format, bom = false }: StatementAs,
  isFirst: boolean,
): string {
  const { extension, head, page: write } = TEXTS[format];
  const mark = bom && extension === 'csv' ? MARK : '';
  return `${isFirst ? `${mark}${head(span)}` : ''}${write(page, span)}`;
}

/** Yields the text of a whole statement. */
export async function* statementText(
  readPage: ReadPage,
  span: StatementSpan,
  as: StatementAs,
): AsyncGenerator<string> {
  let isFirst = true;
  for await (const page of pagesOf(readPage, span)) {
    yield pageText(page, span, as, isFirst);
    isFirst = false;
  }
}

export const statementFile = ({ wallet, fromMs, toMs }: StatementSpan, format: StatementTextFormat): string =>
  fileName(
    ['statement', ...(TEXTS[format] === csv ? [] : [format]), wallet],
    [fromMs, toMs],
    TEXTS[format].extension,
  );
