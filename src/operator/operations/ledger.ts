import { checkpointVerb } from '../checkpoints.ts';
import type { Noun } from '../operation.ts';
import { adoptVerb } from './adopt.ts';
import { listClosings, postClosing } from './closings.ts';
import { rebuildVerb } from './rebuild.ts';
import { getReconcile } from './reconcile.ts';
import { getBalances, getEntries, getFees, getMovements, getVolumes } from './reports.ts';
import { getWalletStatement } from './wallets.ts';

export const LEDGER: Noun = {
  name: 'ledger',
  description: 'check, read, close and rebuild the ledger',
  parts: [
    getReconcile,
    getBalances,
    getWalletStatement,
    getFees,
    getVolumes,
    getMovements,
    getEntries,
    postClosing,
    listClosings,
    checkpointVerb,
    rebuildVerb,
    adoptVerb,
  ],
};
