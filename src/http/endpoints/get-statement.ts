/** `GET /v1/statement`: returns every change of the wallet's balances in a span of time, in pages. */

import type { z } from 'zod';
import { statementRequest } from '../../contract/requests.ts';
import { statementSchema, statementText } from '../../contract/statement.ts';
import { writeJson } from '../../domain/json.ts';
import { readSummedPlace, writeSummedPlace } from '../../history/list-cursor.ts';
import type { Ledger, StatementPage, StatementPosition, StatementSpan } from '../../ledger/index.ts';
import { csvPage } from '../../statements/statement.ts';
import { checked } from '../checked.ts';
import { jsonForSeveral, type Reply } from '../replies/reply.ts';
import { statementReply } from '../replies/statement.ts';
import { timestamp } from '../replies/timestamp.ts';
import { READS_IN_TURN, walletRoute } from '../route.ts';

/** Trades and movements of a page. */
const PAGE_LINES = 250;

const PATH = '/v1/statement';

export const getStatement = walletRoute({
  method: 'GET',
  path: '/v1/statement',
  id: 'getStatement',
  tag: 'Trading',
  summary: 'Returns the statement of the wallet: every change of its balances, oldest first',
  description:
    'A line is one change of one asset: for each asset, the opening balance and all amounts sum to the closing ' +
    'balance. A trade has a line for each of its assets, and the taker has one more for the fee. The first page has ' +
    'the opening balances and the last page the closing ones. Pages without lines come before it while more than ' +
    '10,000 trades of the same day lie before `from`; they have no balances. `from` is inclusive and `to` is not; at most 31 days ' +
    'lie between them. A statement shows settled events, up to `settledTo`: ask again if `to` is later. In CSV, ' +
    `the pages put together make one file, and \`Link\` names the next one. ${READS_IN_TURN}`,
  reply: statementSchema,
  alsoAs: { 'text/csv': statementText },
  headers: ['Link'],
  request: statementRequest,
  async handle({ services, reads, wallet, query }) {
    const asked = checked(statementRequest, query);
    return reads.lists.read(wallet, `statement ${JSON.stringify(asked)}`, () =>
      statementPage(services.ledger, wallet, asked, PATH),
    );
  },
});

/**
 * Returns a page of the statement of a wallet.
 * @param path of the route, for the link to the next page
 */
export async function statementPage(
  ledger: Pick<Ledger, 'statements'>,
  wallet: string,
  { from: fromMs, to: toMs, format, cursor }: z.infer<typeof statementRequest>,
  path: string,
): Promise<Reply> {
  const span = { wallet, fromMs, toMs };
  const scope = { list: 'statement', wallet, from: `${fromMs}`, to: `${toMs}` };
  const after = cursor === undefined ? null : positionOf(readSummedPlace(scope, cursor, 3));
  const page = await ledger.statements.page(span, after, PAGE_LINES);
  const next = page.next && cursorOf(scope, page.next);
  return format === 'csv'
    ? csvAnswer(span, page, after === null, next, path)
    : jsonForSeveral(writeJson(statementReply(span, page, next)));
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

function csvAnswer(
  span: StatementSpan,
  page: StatementPage,
  isFirst: boolean,
  next: string | null,
  path: string,
): Reply {
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
    nextPage: next === null ? undefined : `${path}?${query}`,
  };
}
