/** All routes for operators. Read it as an index. */

import {
  changeMarket,
  clearOrders,
  createMarket,
  getMarkets,
  setAssetOf,
  voidOrder,
} from '../../operator/operations/markets.ts';
import {
  listClosings,
  pauseTrading,
  requireTerms,
  resumeTrading,
} from '../../operator/operations/service.ts';
import { getWallet, holdWallet, releaseWallet } from '../../operator/operations/wallets.ts';
import {
  confirmWithdrawal,
  getWithdrawal,
  requestWithdrawal,
  returnWithdrawal,
} from '../../operator/operations/withdrawals.ts';
import { getServiceStatus } from '../../operator/status.ts';
import { getMovement, postMovements } from './movements.ts';
import { getBalances, getEntries, getFees, getMovements, getVolumes } from './reports.ts';
import { type OperatorRoute, routeOf } from './route.ts';
import { getActs, getReconcile, postClosing } from './service.ts';
import { getHolds, getWalletStatement } from './wallets.ts';
import { getWithdrawals } from './withdrawals.ts';

export const OPERATOR_ROUTES: readonly OperatorRoute[] = [
  postMovements,
  getMovements,
  getMovement,
  routeOf(requestWithdrawal),
  routeOf(confirmWithdrawal),
  routeOf(returnWithdrawal),
  getWithdrawals,
  routeOf(getWithdrawal),
  routeOf(getWallet),
  getWalletStatement,
  getHolds,
  routeOf(holdWallet),
  routeOf(releaseWallet),
  routeOf(getMarkets),
  routeOf(createMarket),
  routeOf(changeMarket),
  routeOf(clearOrders),
  routeOf(setAssetOf),
  routeOf(voidOrder),
  routeOf(pauseTrading),
  routeOf(resumeTrading),
  routeOf(requireTerms),
  getBalances,
  getFees,
  getVolumes,
  routeOf(getServiceStatus),
  getReconcile,
  getEntries,
  routeOf(listClosings),
  postClosing,
  getActs,
];
