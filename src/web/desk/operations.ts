/** The operations that the desk has views for, by their types. Decimals of their answers are text. */

import type { getActs } from '../../operator/operations/acts.ts';
import type { getApprovals, postApprove, postRefuse } from '../../operator/operations/approvals.ts';
import type { listClosings, postClosing, postReopening } from '../../operator/operations/closings.ts';
import type { changeMarket, getMarkets } from '../../operator/operations/markets.ts';
import type { getOwnKey } from '../../operator/operations/own-key.ts';
import type { getReconcile } from '../../operator/operations/reconcile.ts';
import type { getWalletStatement } from '../../operator/operations/reports.ts';
import type { pauseTrading, resumeTrading } from '../../operator/operations/service.ts';
import type { getServiceStatus } from '../../operator/operations/status.ts';
import type { getWallet, holdWallet, releaseWallet } from '../../operator/operations/wallets.ts';
import type {
  confirmWithdrawal,
  getWithdrawal,
  getWithdrawals,
  postRelease,
  postTake,
  returnWithdrawal,
} from '../../operator/operations/withdrawals.ts';
import type { Answer } from './operators.ts';

export type GetStatus = typeof getServiceStatus;
export type GetReconcile = typeof getReconcile;
export type GetMarkets = typeof getMarkets;
export type ChangeMarket = typeof changeMarket;
export type GetWallet = typeof getWallet;
export type GetStatement = typeof getWalletStatement;
export type HoldWallet = typeof holdWallet;
export type ReleaseWallet = typeof releaseWallet;
export type GetWithdrawal = typeof getWithdrawal;
export type GetWithdrawals = typeof getWithdrawals;
export type ConfirmWithdrawal = typeof confirmWithdrawal;
export type TakeWithdrawal = typeof postTake;
export type ReleaseWithdrawal = typeof postRelease;
export type ReturnWithdrawal = typeof returnWithdrawal;
export type GetOwnKey = typeof getOwnKey;
export type GetApprovals = typeof getApprovals;
export type ApproveMovement = typeof postApprove;
export type RefuseMovement = typeof postRefuse;
export type GetActs = typeof getActs;
export type ListClosings = typeof listClosings;
export type CloseMonth = typeof postClosing;
export type ReopenMonth = typeof postReopening;
export type PauseTrading = typeof pauseTrading;
export type ResumeTrading = typeof resumeTrading;

export type OwnKey = Answer<GetOwnKey>;
export type Waiting = Answer<GetApprovals>['movements'][number];
export type Status = Answer<GetStatus>;
export type Market = Answer<GetMarkets>['markets'][number];
export type Account = Answer<GetWallet>;
export type Withdrawal = Answer<GetWithdrawal>;
