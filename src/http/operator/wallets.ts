import { holdsRequest, holdsSchema, walletRequest } from '../../contract/operator.ts';
import { statementRequest } from '../../contract/requests.ts';
import { statementSchema, statementText } from '../../contract/statement.ts';
import { checked } from '../checked.ts';
import { statementPage } from '../endpoints/get-statement.ts';
import { timestamp } from '../replies/timestamp.ts';
import { operatorRoute } from './route.ts';

export const getWalletStatement = operatorRoute({
  method: 'GET',
  path: '/wallets/:wallet/statement',
  rights: ['read'],
  id: 'getWalletStatement',
  tag: 'Wallets',
  summary: 'Returns the statement of a wallet',
  description: 'At most 31 days a request.',
  parameters: { wallet: walletRequest.shape.wallet },
  reply: statementSchema,
  alsoAs: { 'text/csv': statementText },
  headers: ['Link'],
  request: statementRequest,
  handle({ services, params, query }) {
    const { wallet } = checked(walletRequest, params);
    const path = `/operator/v1/wallets/${wallet}/statement`;
    return statementPage(services.ledger, wallet, checked(statementRequest, query), path);
  },
});

export const getHolds = operatorRoute({
  method: 'GET',
  path: '/holds',
  rights: ['read'],
  id: 'listHolds',
  tag: 'Wallets',
  summary: 'Lists the wallets on custody hold',
  reply: holdsSchema,
  request: holdsRequest,
  async handle({ services, query }, write) {
    const { limit, cursor = '' } = checked(holdsRequest, query);
    // One wallet more than the page tells that another page follows.
    const found = await services.ledger.state.holds(cursor, limit + 1);
    const holds = found
      .slice(0, limit)
      .map(({ wallet, heldAtMs }) => ({ wallet, since: timestamp(heldAtMs) }));
    const nextCursor = found.length > limit ? holds.at(-1)!.wallet : null;
    return write.json({ holds, nextCursor });
  },
});
