/** Reads the wallet's statement page by page, as values or as CSV. */

import { getStatementCsv, type StatementQuery } from './account.ts';
import type { CallOptions } from './exchange.ts';
import { pages } from './pages.ts';
import type { StatementPage } from './replies.ts';
import { askAs, type Session } from './session.ts';

/** At most 31 days. */
export type StatementSpan = Omit<StatementQuery, 'cursor'>;

/**
 * Yields the pages of the wallet's statement, oldest lines first. The first page has the opening balances, the last one
 * the closing balances. `timeoutMs` bounds the reading of one page.
 */
export const statement = (
  session: Session,
  { from, to }: StatementSpan,
  options: CallOptions = {},
): AsyncGenerator<StatementPage, void, undefined> =>
  pages(async ({ cursor }) => {
    const call = { ...options, method: 'GET', path: '/v1/statement', query: { from, to, cursor } } as const;
    const page = await askAs<StatementPage>(session, call, true);
    return { items: [page], nextCursor: page.nextCursor };
  });

/** Yields the same pages as CSV. Together the texts are one file, whose first line has the names of the columns. */
export const statementCsv = (
  session: Session,
  span: StatementSpan,
  options: CallOptions = {},
): AsyncGenerator<string, void, undefined> =>
  pages(async (from) => {
    const { text, nextCursor } = await getStatementCsv(session, { ...span, ...from }, options);
    return { items: [text], nextCursor };
  });
