/** Answers of the routes for operators. Decimals are text. */

import type * as contract from '../../contract/operator.ts';
import type { statementSchema } from '../../contract/statement.ts';
import type { Plain } from '../../contract/written.ts';

export type Status = Plain<typeof contract.serviceStatusSchema>;
export type Reconcile = Plain<typeof contract.lastReconcileSchema>;
export type ReconcileResults = Plain<typeof contract.reconcileResultsSchema>;
export type Market = Plain<typeof contract.operatorsMarketSchema>;
export type Account = Plain<typeof contract.accountSchema>;
export type WithdrawalsPage = Plain<typeof contract.withdrawalsSchema>;
export type StatementPage = Plain<typeof statementSchema>;
export type ActsPage = Plain<typeof contract.actsSchema>;
export type Closings = Plain<typeof contract.closingsSchema>;
export type ClosedMonth = Plain<typeof contract.closedMonthSchema>;
