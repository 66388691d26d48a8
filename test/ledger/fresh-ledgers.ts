/** Migrated ledgers, each on a database of its own. */

import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { freshLedgerDatabase } from '../support/servers.ts';

export interface FreshLedger {
  readonly ledger: Ledger;
  readonly databaseUrl: string;
}

/** To be called where a `describe` begins. @returns what makes them, for its tests; closed when these are over */
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
