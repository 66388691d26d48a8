/** Creates migrated ledgers, each on its own database. */

import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { freshLedgerDatabase } from '../support/servers.ts';

export interface FreshLedger {
  readonly ledger: Ledger;
  readonly databaseUrl: string;
}

/**
 * Call this at the start of a `describe`.
 * @returns a function that creates ledgers, which are closed after its tests
 */
export function freshLedgers(): () => Promise<FreshLedger> {
  const opened: Ledger[] = [];
  after(() => Promise.all(opened.map((ledger) => ledger.close())));
  return async () => {
    const databaseUrl = await freshLedgerDatabase();
    const ledger = openLedger({ databaseUrl });
    opened.push(ledger);
    return { ledger, databaseUrl };
  };
}
