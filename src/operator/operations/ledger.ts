import { checkpointVerb } from '../checkpoints.ts';
import type { Noun } from '../operation.ts';
import { adoptVerb } from './adopt.ts';
import { CLOSINGS } from './closings.ts';
import { rebuildVerb } from './rebuild.ts';
import { getReconcile } from './reconcile.ts';
import { REPORTS } from './reports.ts';

export const LEDGER: Noun = {
  name: 'ledger',
  description: 'check, read, close and rebuild the ledger',
  parts: [getReconcile, ...REPORTS, ...CLOSINGS, checkpointVerb, rebuildVerb, adoptVerb],
};
