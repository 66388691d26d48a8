/** All that operators do, as the command line lists it. The routes for operators are its operations. */

import { COPIES } from './copies.ts';
import { KEY } from './key.ts';
import { isOperation, type Noun, type Operation } from './operation.ts';
import { ACTS } from './operations/acts.ts';
import { APPROVAL } from './operations/approvals.ts';
import { DEPOSIT } from './operations/deposits.ts';
import { LEDGER } from './operations/ledger.ts';
import { ASSET, MARKET, ORDER } from './operations/markets.ts';
import { TERMS, TRADING } from './operations/service.ts';
import { STATUS } from './operations/status.ts';
import { ACCOUNT } from './operations/wallets.ts';
import { WITHDRAWAL } from './operations/withdrawals.ts';

export const NOUNS: readonly Noun[] = [
  MARKET,
  ASSET,
  ACCOUNT,
  DEPOSIT,
  WITHDRAWAL,
  APPROVAL,
  ORDER,
  TRADING,
  TERMS,
  KEY,
  LEDGER,
  COPIES,
  ACTS,
  STATUS,
];

export const OPERATIONS: readonly Operation[] = NOUNS.flatMap(({ parts }) => parts.filter(isOperation));
