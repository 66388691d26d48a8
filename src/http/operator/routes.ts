/** All routes for operators. Read it as an index. */

import { getMarkets, postAsset, postClear, postMarket, postMarketChange, postVoid } from './markets.ts';
import { getMovement, postMovements } from './movements.ts';
import { getBalances, getEntries, getFees, getMovements, getVolumes } from './reports.ts';
import type { OperatorRoute } from './route.ts';
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
import { getHolds, getWallet, getWalletStatement, postHold, postRelease } from './wallets.ts';
import { getWithdrawal, getWithdrawals, postConfirm, postReturn, postWithdrawal } from './withdrawals.ts';

export const OPERATOR_ROUTES: readonly OperatorRoute[] = [
  postMovements,
  getMovements,
  getMovement,
  postWithdrawal,
  postConfirm,
  postReturn,
  getWithdrawals,
  getWithdrawal,
  getWallet,
  getWalletStatement,
  getHolds,
  postHold,
  postRelease,
  getMarkets,
  postMarket,
  postMarketChange,
  postClear,
  postAsset,
  postVoid,
  postPause,
  postResume,
  postTerms,
  getBalances,
  getFees,
  getVolumes,
  getStatus,
  getReconcile,
  getEntries,
  getClosings,
  postClosing,
  getActs,
];
