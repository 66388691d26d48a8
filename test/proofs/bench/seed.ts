/**
 * `npm run proofs -- seed --trades N [--database-url URL] [--entries] [--plans] [--as-of]`: fills an empty database with a
 * ledger of N trades, as a superuser. Without a URL it uses a temporary Postgres, which is removed at the end. `--plans`
 * prints the query plan of each read; with a URL and without `--trades`, it reads the existing ledger. `--as-of` writes
 * entries too, and prints what balances as of 18 hours after a midnight cost.
 */

import { parseArgs } from 'node:util';
import { freshDatabase } from '../../support/servers.ts';
import { withServers } from '../command.ts';
import { asOfCosts } from './as-of.ts';
import { type ReadPlan, readPlans } from './read-plans.ts';
import { seededSubject, seededWallet, seedLedger } from './seeded-ledger.ts';

const { values: options } = parseArgs({
  options: {
    trades: { type: 'string' },
    'database-url': { type: 'string' },
    entries: { type: 'boolean', default: false },
    plans: { type: 'boolean', default: false },
    'as-of': { type: 'boolean', default: false },
  },
});

const trades = options.trades === undefined ? undefined : Number(options.trades);
if (trades === undefined ? options['database-url'] === undefined : !(trades >= 1)) {
  console.error('seed: --trades must be a number of trades, 1 or more');
  process.exit(2);
}

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
  const asOf = options['as-of'];
  if (trades !== undefined) {
    const entries = options.entries || asOf;
    await seedLedger({ databaseUrl, trades, entries, endMs, say: (line) => console.log(line) });
  }
  if (options.plans) printPlans(await readPlans(databaseUrl, seededSubject));
  if (!asOf) return;
  for (const { name, rows, buffers, ms } of await asOfCosts(databaseUrl, endMs + 1, seededWallet(3)))
    console.log(`  ${name}: ${rows} rows, ${buffers} buffers, ${ms.toFixed(1)} ms`);
}

const { 'database-url': url } = options;
if (url === undefined) await withServers(async () => seed(await freshDatabase()));
else await seed(url);
