/** Writes a page of a statement as JSON, whose amounts are exact numbers, or as CSV. */

import type { z } from 'zod';
import { readSummedPlace, writeSummedPlace } from '../contract/list-cursor.ts';
import type { operatorStatementRequest } from '../contract/requests.ts';
import type { statementSchema } from '../contract/statement.ts';
import type { Amount } from '../contract/values.ts';
import type { Written } from '../contract/written.ts';
import { JsonText, writeJson } from '../domain/json.ts';
import type { Direction, Ledger, StatementPage, StatementPosition, StatementSpan } from '../ledger/index.ts';
import { decimalOf, isoTime } from './amounts.ts';
import type { Cell } from './report.ts';
import { rowsOfLine, STATEMENT_COLUMNS } from './statement.ts';
import { pageText, type StatementAs, statementFile, TEXTS } from './statement-text.ts';

/** Trades and movements of a page. */
const PAGE_LINES = 250;

/** A page as text. */
export interface WrittenPage {
  readonly format: 'json' | 'csv' | 'journal';
  readonly text: string;
  /** Query of the next page. JSON has its cursor itself. */
  readonly nextQuery?: string | undefined;
  /** Name under which the text is saved. */
  readonly file?: string;
}

/** A wallet's own statement has one order. */
type AskedStatement = Omit<z.infer<typeof operatorStatementRequest>, 'order'> & {
  readonly order?: Direction;
};

/** Returns a page of the statement of a wallet. */
export async function statementPage(
  ledger: Pick<Ledger, 'statements'>,
  wallet: string,
  { from: fromMs, to: toMs, format, bom, cursor, order = 'asc' }: AskedStatement,
): Promise<WrittenPage> {
  const span = { wallet, fromMs, toMs };
  const scope = { list: 'statement', wallet, from: `${fromMs}`, to: `${toMs}`, order };
  const after = cursor === undefined ? null : positionOf(readSummedPlace(scope, cursor, 3));
  const { page: oldest, newestPage } = ledger.statements;
  const page = await (order === 'desc' ? newestPage : oldest)(span, after, PAGE_LINES);
  const next = page.next && cursorOf(scope, page.next);
  if (format === 'json') return { format, text: writeJson(statementReply(span, page, next)) };
  return {
    format: TEXTS[format].extension,
    text: pageText(page, span, { format, bom }, after === null),
    nextQuery: next === null ? undefined : nextQuery(span, format, next),
    file: statementFile(span, format),
  };
}

const positionOf = ({ numbers, sums }: ReturnType<typeof readSummedPlace>): StatementPosition => ({
  sequence: numbers[0]!,
  tradeId: numbers[1]!,
  isOpening: numbers[2] === 1,
  sums,
});

const cursorOf = (
  scope: Readonly<Record<string, string>>,
  { sequence, tradeId, isOpening, sums }: StatementPosition,
): string => writeSummedPlace(scope, [sequence, tradeId, isOpening ? 1 : 0], sums);

const nextQuery = ({ fromMs, toMs }: StatementSpan, format: StatementAs['format'], cursor: string): string =>
  String(new URLSearchParams({ from: isoTime(fromMs), to: isoTime(toMs), format, cursor }));

type StatementReply = Written<typeof statementSchema>;

const COLUMNS = STATEMENT_COLUMNS.map(({ name, isAmount }, at) => ({
  before: `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`,
  isAmount,
}));

/**
 * Writes a line. A page has 500 lines of 18 members: with an object for each line, a page held the event loop for 5 ms,
 * and a text that grows by members is made of so many pieces that a collection takes 30 ms.
 */
function lineText(cells: readonly Cell[]): string {
  const parts: string[] = [];
  for (const [at, { before, isAmount }] of COLUMNS.entries()) {
    const cell = cells[at] ?? null;
    parts.push(before, isAmount && cell !== null ? String(cell) : JSON.stringify(cell));
  }
  parts.push('}');
  return parts.join('');
}

function statementReply(
  { wallet, fromMs, toMs }: StatementSpan,
  { settled, opening, stated, closing, scales }: StatementPage,
  nextCursor: string | null,
): StatementReply {
  const balances = (atomsByAsset: ReadonlyMap<string, bigint> | null) =>
    atomsByAsset &&
    [...atomsByAsset].map(([asset, atoms]) => ({
      asset,
      amount: new JsonText<Amount>(decimalOf(scales, asset, atoms)),
    }));
  return {
    wallet,
    from: isoTime(fromMs),
    to: isoTime(toMs),
    settledTo: settled.timeMs === null ? null : isoTime(settled.timeMs),
    opening: balances(opening),
    lines: new JsonText(
      `[${stated
        .flatMap((line) => rowsOfLine(line, scales))
        .map(lineText)
        .join(',')}]`,
    ),
    closing: balances(closing),
    nextCursor,
  };
}
