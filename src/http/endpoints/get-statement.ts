/** `GET /v1/statement`: returns every change of the wallet's balances in a span of time, in pages. */

import { statementRequest } from '../../contract/requests.ts';
import type { statementSchema } from '../../contract/statement.ts';
import { readPlace, writePlace } from '../../history/list-cursor.ts';
import type { StatementPage, StatementPosition, StatementSpan } from '../../ledger/index.ts';
import { csvPage } from '../../statements/statement.ts';
import { checked } from '../checked.ts';
import type { WalletEndpoint } from '../endpoint.ts';
import { json, jsonForSeveral, type Reply } from '../replies/reply.ts';
import { statementReply } from '../replies/statement.ts';
import { timestamp } from '../replies/timestamp.ts';

/** Trades and movements of a page. */
const PAGE_LINES = 250;

export const getStatement: WalletEndpoint = {
  request: statementRequest,
  async handle({ services, reads, wallet, query }) {
    const { from: fromMs, to: toMs, format, cursor } = checked(statementRequest, query);
    const span = { wallet, fromMs, toMs };
    const scope = { list: 'statement', wallet, from: `${fromMs}`, to: `${toMs}` };
    const after = cursor === undefined ? null : positionOf(readPlace(scope, cursor, 2));
    return reads.lists.read(
      wallet,
      `statement ${JSON.stringify([fromMs, toMs, format, cursor])}`,
      async () => {
        const page = await services.ledger.statements.page(span, after, PAGE_LINES);
        const next = page.next === null ? null : writePlace(scope, [page.next.sequence, page.next.tradeId]);
        return format === 'csv'
          ? csvAnswer(span, page, after === null, next)
          : jsonForSeveral(json<typeof statementSchema>(statementReply(span, page, next)).text);
      },
    );
  },
};

const positionOf = ([sequence, tradeId]: readonly number[]): StatementPosition => ({
  sequence: sequence!,
  tradeId: tradeId!,
});

function csvAnswer(span: StatementSpan, page: StatementPage, isFirst: boolean, next: string | null): Reply {
  const text = csvPage(page, span, isFirst);
  const { fromMs, toMs } = span;
  const query = new URLSearchParams({
    from: timestamp(fromMs),
    to: timestamp(toMs),
    format: 'csv',
    cursor: next ?? '',
  });
  return {
    status: 200,
    contentType: 'text/csv; charset=utf-8; header=present',
    text,
    bytes: Buffer.from(text),
    nextPage: next === null ? undefined : `/v1/statement?${query}`,
  };
}
