/**
 * `npm run tool -- seed --trades N [--database-url URL] [--entries] [--plans]`: fills an empty database with a ledger
 * of N trades. Without a URL it uses a temporary Postgres, which is removed at the end. `--plans` prints the query plan
 * of each read; with a URL and without `--trades`, it reads the existing ledger.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbedded } from '../../../src/embedded/index.ts';
import { type ReadPlan, readPlans } from './read-plans.ts';
import { seededSubject, seedLedger } from './seeded-ledger.ts';

const { values: options } = parseArgs({
  options: {
    trades: { type: 'string' },
    'database-url': { type: 'string' },
    entries: { type: 'boolean', default: false },
    plans: { type: 'boolean', default: false },
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

async function seed(databaseUrl: string): Promise<void> {
  if (trades !== undefined) {
    const { entries } = options;
    await seedLedger({ databaseUrl, trades, entries, endMs: Date.now(), say: (line) => console.log(line) });
  }
  if (options.plans) printPlans(await readPlans(databaseUrl, seededSubject));
}

if (options['database-url'] !== undefined) {
  await seed(options['database-url']);
} else {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-seed-'));
  const servers = await startEmbedded({ dataDir: join(folder, 'data'), durable: false });
  try {
    await seed(servers.databaseUrl);
  } finally {
    await servers.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
