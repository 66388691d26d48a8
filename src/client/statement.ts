/** Reads the wallet's statement page by page, as values or as CSV. */

import type { Answer, CallOptions } from './exchange.ts';
import { pages } from './pages.ts';
import type { StatementPage } from './replies.ts';
import { answerAs, askAs, type Session } from './session.ts';

/** At most 31 days. */
export interface StatementSpan {
  /** ISO 8601 time, inclusive; a day like `2026-01-31` begins at midnight UTC. */
  readonly from: string;
  /** ISO 8601 time, exclusive. */
  readonly to: string;
}

const PATH = '/v1/statement';

const timesOf = ({ from, to }: StatementSpan): StatementSpan => ({ from, to });

/**
 * Yields the pages of the wallet's statement, oldest lines first. The first page has the opening balances, unless many
 * trades of its day precede the span: then pages without lines and balances come before. The last page has the closing
 * balances. `timeoutMs` bounds the reading of one page.
 */
export function statement(
  session: Session,
  span: StatementSpan,
  options: CallOptions = {},
): AsyncGenerator<StatementPage, void, undefined> {
  return pages(async ({ cursor }) => {
    const call = { ...options, method: 'GET', path: PATH, query: { ...timesOf(span), cursor } } as const;
    const page = await askAs<StatementPage>(session, call, true);
    return { items: [page], nextCursor: page.nextCursor };
  });
}

/** Yields the same pages as CSV. Together the texts are one file, whose first line has the names of the columns. */
export function statementCsv(
  session: Session,
  span: StatementSpan,
  options: CallOptions = {},
): AsyncGenerator<string, void, undefined> {
  return pages(async ({ cursor }) => {
    const query = { ...timesOf(span), format: 'csv', cursor };
    const answer = await answerAs(session, { ...options, method: 'GET', path: PATH, query }, true);
    return { items: [answer.text], nextCursor: nextCursor(answer) };
  });
}

/** Returns the cursor of the next page, which a CSV answer names in its `Link`. */
function nextCursor({ header }: Answer): string | null {
  const address = /<([^>]*)>; rel="next"/.exec(header('Link') ?? '')?.[1];
  return address === undefined ? null : new URLSearchParams(address.split('?')[1]).get('cursor');
}
