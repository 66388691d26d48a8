/**
 * `npm run proofs -- seed`: fills an empty database with a ledger, or reads the one of `--database-url`. Balances as of a
 * time are those of 18 hours after a midnight.
 */

import { freshDatabase } from '../../support/servers.ts';
import { readOptions, refuse, wholeNumber, withServers } from '../command.ts';
import { asOfCosts } from './as-of.ts';
import { type ReadPlan, readPlans } from './read-plans.ts';
import { seededSubject, seededWallet, seedLedger } from './seeded-ledger.ts';

const { databaseUrl: url, ...options } = readOptions(
  'npm run proofs -- seed',
  'Fills an empty database with a ledger, and reads it.',
  {
    trades: ['trades of the ledger'],
    databaseUrl: ['an existing Postgres, as a superuser; without it, a temporary one'],
    plans: ['prints the query plan of each read', false],
    asOf: ['prints what balances as of a time cost', false],
  },
);

const trades = options.trades === undefined ? undefined : wholeNumber('trades', options.trades, 1);
if (trades === undefined && url === undefined) refuse('give --trades, or --database-url of a ledger');

function printPlans(plans: readonly ReadPlan[]): void {
  const width = Math.max(...plans.map(({ name }) => name.length));
  console.log(`\n  ${'read'.padEnd(width)}     rows  buffers        ms  rows by index, and scans`);
  for (const { name, rows, buffers, ms, scans } of plans) {
    const figures = [String(rows).padStart(7), String(buffers).padStart(7), ms.toFixed(2).padStart(8)];
    console.log(`  ${name.padEnd(width)}  ${figures.join('  ')}  ${scans.join('; ')}`);
  }
}

const DAY_MS = 86_400_000;
/** Yesterday at 18:00 UTC. */
const endMs = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS / 4;

async function seed(databaseUrl: string): Promise<void> {
  const { asOf } = options;
  if (trades !== undefined) {
    await seedLedger({ databaseUrl, trades, endMs, say: (line) => console.log(line) });
  }
  if (options.plans) printPlans(await readPlans(databaseUrl, seededSubject));
  if (!asOf) return;
  for (const { name, rows, buffers, ms } of await asOfCosts(databaseUrl, endMs + 1, seededWallet(3)))
    console.log(`  ${name}: ${rows} rows, ${buffers} buffers, ${ms.toFixed(1)} ms`);
}

if (url === undefined) await withServers(async () => seed(await freshDatabase()));
else await seed(url);
