/** `/operator/v1/wallets/{wallet}`: shows a wallet and its statement, holds and releases it. */

import { readAccount } from '../../books/accounts.ts';
import {
  type accountSchema,
  type holdSchema,
  holdsRequest,
  type holdsSchema,
  reasonRequest,
  walletRequest,
} from '../../contract/operator.ts';
import { statementRequest } from '../../contract/requests.ts';
import { checked } from '../checked.ts';
import { statementPage } from '../endpoints/get-statement.ts';
import { json } from '../replies/reply.ts';
import { timestamp } from '../replies/timestamp.ts';
import { actBy, type OperatorEndpoint } from './services.ts';

export const getWallet: OperatorEndpoint = {
  request: walletRequest,
  async handle({ services, params }) {
    return json<typeof accountSchema>(await readAccount(services, checked(walletRequest, params).wallet));
  },
};

export const getWalletStatement: OperatorEndpoint = {
  request: statementRequest,
  handle({ services, params, query }) {
    const { wallet } = checked(walletRequest, params);
    const path = `/operator/v1/wallets/${wallet}/statement`;
    return statementPage(services.ledger, wallet, checked(statementRequest, query), path);
  },
};

export const getHolds: OperatorEndpoint = {
  request: holdsRequest,
  async handle({ services, query }) {
    const { limit, cursor = '' } = checked(holdsRequest, query);
    // One wallet more than the page tells that another page follows.
    const found = await services.ledger.state.holds(cursor, limit + 1);
    const holds = found
      .slice(0, limit)
      .map(({ wallet, heldAtMs }) => ({ wallet, since: timestamp(heldAtMs) }));
    const nextCursor = found.length > limit ? holds.at(-1)!.wallet : null;
    return json<typeof holdsSchema>({ holds, nextCursor });
  },
};

const switchHold = (held: boolean): OperatorEndpoint => ({
  request: reasonRequest,
  readsBody: true,
  async handle({ services, key, params, body }) {
    const { wallet } = checked(walletRequest, params);
    const act = actBy(key, checked(reasonRequest, body).reason);
    const { switches } = services.engine;
    const cancelled = held ? await switches.hold(wallet, act) : [];
    if (!held) await switches.release(wallet, act);
    services.wakeSettlement();
    return json<typeof holdSchema>({ wallet, held, cancelled, count: cancelled.length });
  },
});

export const postHold = switchHold(true);
export const postRelease = switchHold(false);
