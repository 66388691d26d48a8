/** Answers of the routes for operators. Decimals are text. */

import type { Plain } from '../../contract/written.ts';
import type { getActs } from '../../operator/operations/acts.ts';
import type { listClosings, postClosing } from '../../operator/operations/closings.ts';
import type { getMarkets } from '../../operator/operations/markets.ts';
import type { getReconcile } from '../../operator/operations/reconcile.ts';
import type { getWalletStatement } from '../../operator/operations/reports.ts';
import type { getServiceStatus } from '../../operator/operations/status.ts';
import type { getWallet } from '../../operator/operations/wallets.ts';
import type { getWithdrawals } from '../../operator/operations/withdrawals.ts';

export type Status = Plain<(typeof getServiceStatus)['reply']>;
export type ReconcileResults = Plain<(typeof getReconcile)['reply']>;
export type Market = Plain<(typeof getMarkets)['reply']>['markets'][number];
export type Account = Plain<(typeof getWallet)['reply']>;
export type WithdrawalsPage = Plain<(typeof getWithdrawals)['reply']>;
export type StatementPage = Plain<(typeof getWalletStatement)['reply']>;
export type ActsPage = Plain<(typeof getActs)['reply']>;
export type Closings = Plain<(typeof listClosings)['reply']>;
export type ClosedMonth = Plain<(typeof postClosing)['reply']>;
