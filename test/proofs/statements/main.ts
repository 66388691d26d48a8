/**
 * `npm run proofs -- statements [--events N] [--seed S]`: settles a seeded history, closes its months, and compares balances
 * and statements with an independent recomputation.
 */

import { parseArgs } from 'node:util';
import { compareEverything, monthsOf, settleHistory } from '../../statements/history.ts';
import { runSeed } from '../../support/seed.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';
import { withServers } from '../command.ts';

const { values } = parseArgs({
  options: { events: { type: 'string', default: '200000' }, seed: { type: 'string' } },
});
if (values.seed !== undefined) process.env.SEED = values.seed;
await withServers(async () => {
  const options = { seed: runSeed(), events: Number(values.events), batch: 2_000, days: 100 };
  const history = await settleHistory(await freshLedgerDatabase(), options);
  await compareEverything(history, 10);
  const { changes } = history.whole;
  console.log(
    `SEED=${options.seed}: ${history.events} events with ${changes.length} changes of balances, ` +
      `${monthsOf(history).length} months and ten random times: everything equals its recomputation`,
  );
  await history.ledger.close();
});
