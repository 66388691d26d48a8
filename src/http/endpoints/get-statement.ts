/** `GET /v1/statement`: returns every change of the wallet's balances in a span of time, in pages. */

import { checked } from '../../contract/checked.ts';
import { statementRequest } from '../../contract/requests.ts';
import { statementJournal, statementSchema, statementText } from '../../contract/statement.ts';
import { statementPage, type WrittenPage } from '../../statements/page.ts';
import { CSV_TYPE, jsonForSeveral, type Reply } from '../replies/reply.ts';
import { READS_IN_TURN, walletRoute } from '../route.ts';

const PATH = '/v1/statement';

export const getStatement = walletRoute({
  method: 'GET',
  path: PATH,
  id: 'getStatement',
  tag: 'Trading',
  summary: 'Returns the statement of the wallet: every change of its balances, oldest first',
  description:
    'A line is one change of one asset: for each asset, the opening balance and all amounts sum to the closing ' +
    'balance. A trade has a line for each of its assets, and the taker has one more for the fee. The first page has ' +
    'the opening balances and the last page the closing ones. Pages without lines come before it while more than ' +
    '10,000 trades of the same day lie before `from`; they have no balances. `from` is inclusive and `to` is not; at most 31 days ' +
    'lie between them. A statement shows settled events, up to `settledTo`: ask again if `to` is later. As text, ' +
    `the pages put together make one file, and \`Link\` names the next one. ${READS_IN_TURN}`,
  reply: statementSchema,
  alsoAs: { 'text/csv': statementText, 'text/plain': statementJournal },
  headers: ['Link', 'Content-Disposition'],
  request: statementRequest,
  async handle({ services, reads, wallet, query }) {
    const asked = checked(statementRequest, query);
    return reads.lists.read(wallet, `statement ${JSON.stringify(asked)}`, async () =>
      pageReply(await statementPage(services.ledger, wallet, asked), PATH),
    );
  },
});

const TYPES = { csv: CSV_TYPE, journal: 'text/plain; charset=utf-8' };

/** @param path of the route, for the link to the next page */
export function pageReply({ format, text, nextQuery, file }: WrittenPage, path: string): Reply {
  if (format === 'json') return jsonForSeveral(text);
  return {
    status: 200,
    contentType: TYPES[format],
    text,
    bytes: Buffer.from(text),
    nextPage: nextQuery === undefined ? undefined : `${path}?${nextQuery}`,
    file,
  };
}
