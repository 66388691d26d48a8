/** `/operator/v1/wallets/{wallet}`: shows a wallet and its statement, holds and releases it. */

import { readAccount } from '../../books/accounts.ts';
import {
  accountSchema,
  holdSchema,
  holdsRequest,
  holdsSchema,
  reasonRequest,
  walletRequest,
} from '../../contract/operator.ts';
import { statementRequest } from '../../contract/requests.ts';
import { statementSchema, statementText } from '../../contract/statement.ts';
import { checked } from '../checked.ts';
import { statementPage } from '../endpoints/get-statement.ts';
import type { Writers } from '../replies/reply.ts';
import { timestamp } from '../replies/timestamp.ts';
import { actBy, type OperatorCall, operatorRoute } from './route.ts';

export const getWallet = operatorRoute({
  method: 'GET',
  path: '/wallets/:wallet',
  rights: ['read'],
  id: 'getWallet',
  tag: 'Wallets',
  summary: 'Returns balances, live orders, hold and terms of a wallet',
  reply: accountSchema,
  request: walletRequest,
  async handle({ services, params }, write) {
    return write.json(await readAccount(services, checked(walletRequest, params).wallet));
  },
});

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

const switchHold =
  (held: boolean) =>
  async ({ services, key, params, body }: OperatorCall, write: Writers<typeof holdSchema>) => {
    const { wallet } = checked(walletRequest, params);
    const act = actBy(key, checked(reasonRequest, body).reason);
    const { switches } = services.engine;
    const cancelled = held ? await switches.hold(wallet, act) : [];
    if (!held) await switches.release(wallet, act);
    services.wakeSettlement();
    return write.json({ wallet, held, cancelled, count: cancelled.length });
  };

export const postHold = operatorRoute({
  method: 'POST',
  path: '/wallets/:wallet/hold',
  rights: ['hold'],
  id: 'holdWallet',
  tag: 'Wallets',
  summary: 'Puts a wallet on custody hold and cancels its live orders',
  description: 'The wallet can then neither place orders nor withdraw.',
  parameters: { wallet: walletRequest.shape.wallet },
  reply: holdSchema,
  request: reasonRequest,
  readsBody: true,
  handle: switchHold(true),
});
export const postRelease = operatorRoute({
  method: 'POST',
  path: '/wallets/:wallet/release',
  rights: ['hold'],
  id: 'releaseWallet',
  tag: 'Wallets',
  summary: 'Ends the custody hold of a wallet',
  parameters: { wallet: walletRequest.shape.wallet },
  reply: holdSchema,
  request: reasonRequest,
  readsBody: true,
  handle: switchHold(false),
});
