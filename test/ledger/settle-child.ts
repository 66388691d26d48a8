/** Settles the seeded stream until it is done or killed: `settle-child.ts <databaseUrl> <seed> <events> <batch>`. */

import { openLedger } from '../../src/ledger/index.ts';
import { seededEvents } from '../support/seeded-events.ts';

const [databaseUrl, seed, count, size] = process.argv.slice(2);
const events = seededEvents(Number(seed)).next(Number(count));
const ledger = openLedger({ databaseUrl: databaseUrl! });
await ledger.migrate();
for (let { sequence } = await ledger.settlement.cursor(); sequence < events.length; ) {
  ({ sequence } = await ledger.settlement.settle(
    events.slice(Math.max(0, sequence - 1), sequence + Number(size)),
  ));
}
await ledger.close();
