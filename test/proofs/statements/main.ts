/**
 * `npm run proofs -- statements`: settles a seeded history, closes its months, and compares balances
 * and statements with an independent recomputation.
 */

import { compareEverything, monthsOf, settleHistory } from '../../statements/history.ts';
import { runSeed } from '../../support/seed.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';
import { readOptions, wholeNumber, withServers } from '../command.ts';

const values = readOptions(
  'npm run proofs -- statements',
  'Recomputes every statement of a seeded history.',
  {
    events: ['events of the history', '200000'],
    seed: ['repeats the history of a run'],
  },
);
const events = wholeNumber('events', values.events, 1);
if (values.seed !== undefined) process.env.SEED = values.seed;
await withServers(async () => {
  const options = { seed: runSeed(), events, batch: 2_000, days: 100 };
  const history = await settleHistory(await freshLedgerDatabase(), options);
  await compareEverything(history, 10);
  const { changes } = history.whole;
  console.log(
    `SEED=${options.seed}: ${history.events} events with ${changes.length} changes of balances, ` +
      `${monthsOf(history).length} months and ten random times: everything equals its recomputation`,
  );
  await history.ledger.close();
});
