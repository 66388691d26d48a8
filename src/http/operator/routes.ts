/** Route table for operators: method, path, the right that a key needs, and endpoint. */

import type { OperatorRight } from '../../domain/operator-rights.ts';
import type { Method } from '../routes.ts';
import { getMarkets, postAsset, postClear, postMarket, postMarketChange, postVoid } from './markets.ts';
import { getMovement, postMovements } from './movements.ts';
import { getBalances, getEntries, getFees, getMovements, getVolumes } from './reports.ts';
import {
  getActs,
  getClosings,
  getReconcile,
  getStatus,
  postClosing,
  postPause,
  postResume,
  postTerms,
} from './service.ts';
import type { OperatorEndpoint } from './services.ts';
import { getHolds, getWallet, getWalletStatement, postHold, postRelease } from './wallets.ts';
import { getWithdrawal, getWithdrawals, postConfirm, postReturn, postWithdrawal } from './withdrawals.ts';

export interface OperatorRoute {
  readonly method: Method;
  readonly path: string;
  /** One of these is enough. */
  readonly rights: readonly OperatorRight[];
  readonly endpoint: OperatorEndpoint;
}

const read = (path: string, endpoint: OperatorEndpoint): OperatorRoute => ({
  method: 'GET',
  path: `/operator/v1${path}`,
  rights: ['read'],
  endpoint,
});
const write = (
  path: string,
  rights: readonly OperatorRight[],
  endpoint: OperatorEndpoint,
): OperatorRoute => ({
  method: 'POST',
  path: `/operator/v1${path}`,
  rights,
  endpoint,
});

export const OPERATOR_ROUTES: readonly OperatorRoute[] = [
  write('/movements', ['credit', 'debit'], postMovements),
  read('/movements', getMovements),
  { ...read('/movements/:reference', getMovement), rights: ['read', 'credit', 'debit'] },
  write('/withdrawals', ['debit'], postWithdrawal),
  write('/withdrawals/:reference/confirm', ['debit'], postConfirm),
  write('/withdrawals/:reference/return', ['debit'], postReturn),
  { ...read('/withdrawals', getWithdrawals), rights: ['read', 'debit'] },
  { ...read('/withdrawals/:reference', getWithdrawal), rights: ['read', 'debit'] },
  read('/wallets/:wallet', getWallet),
  read('/wallets/:wallet/statement', getWalletStatement),
  read('/holds', getHolds),
  write('/wallets/:wallet/hold', ['hold'], postHold),
  write('/wallets/:wallet/release', ['hold'], postRelease),
  read('/markets', getMarkets),
  write('/markets', ['market'], postMarket),
  write('/markets/:symbol', ['market'], postMarketChange),
  write('/markets/:symbol/clear', ['market'], postClear),
  write('/assets', ['market'], postAsset),
  write('/orders/:orderId/void', ['market'], postVoid),
  write('/trading/pause', ['pause'], postPause),
  write('/trading/resume', ['pause'], postResume),
  write('/terms', ['market'], postTerms),
  read('/balances', getBalances),
  read('/fees', getFees),
  read('/volumes', getVolumes),
  read('/status', getStatus),
  read('/reconcile', getReconcile),
  read('/entries', getEntries),
  read('/closings', getClosings),
  write('/closings', ['market'], postClosing),
  read('/acts', getActs),
];
