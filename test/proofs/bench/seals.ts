/**
 * Measures the nightly checks of ledgers that differ in the number of their sealed segments. Each has the same events after
 * the last one, half a segment, so a figure shows what grows with the history.
 */

import pg from 'pg';
import { type Ledger, openLedger } from '../../../src/ledger/index.ts';
import { startPostgresServer } from '../../support/postgres-server.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { seededEventsOf, seedLedger } from './seeded-ledger.ts';

/** Trades of a segment. */
const TRADES = Number(process.env.SEALS_TRADES ?? 100_000);
const SEALED = [1, 3, 10];
const NIGHTS = 3;
/** Reads a thirtieth of the sealed segments in a night: one of up to thirty. */
const SCRUB_DAYS = 30;
const MAX_OF_ONE_SEGMENT = 1.3;
const FINISHED = { sequence: 0, checks: 1, differences: 0, failedChecks: [] };

interface Reconciled {
  readonly ledger: Ledger;
  readonly seconds: number;
}

/** Runs the part of a reconcile that reads the ledger alone. @returns its seconds */
async function reconciled(ledger: Ledger): Promise<number> {
  const begun = performance.now();
  const asked = { noted: [], extent: 'night', scrubDays: SCRUB_DAYS, isSound: true } as const;
  const { checks } = await ledger.checks.reconcile({ ...asked, onCheck: () => undefined });
  const seconds = (performance.now() - begun) / 1_000;
  const failed = checks.filter(({ count }) => count > 0);
  if (failed.length > 0) throw new Error(JSON.stringify(failed).slice(0, 1_000));
  await ledger.checks.noteReconcile(FINISHED);
  return seconds;
}

/** Opens a ledger, and seals its segments. @returns the seconds of that */
async function openSealed(url: string, sealed: number): Promise<Reconciled> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const name = `sealed_${sealed}`;
  await client.query(`create database ${name}`);
  await client.query(`alter database ${name} set redbook.segment_events = ${seededEventsOf(TRADES)}`);
  await client.end();
  const databaseUrl = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  await seedLedger({ databaseUrl, trades: TRADES * sealed + TRADES / 2, endMs: Date.UTC(2026, 0, 1) });
  const ledger = openLedger({ databaseUrl });
  return { ledger, seconds: await reconciled(ledger) };
}

export async function benchSeals(): Promise<Table> {
  const postgres = await startPostgresServer({ durable: false });
  const opened: Ledger[] = [];
  const rows: Measured[] = [];
  try {
    let one: number | null = null;
    for (const sealed of SEALED) {
      const { ledger, seconds } = await openSealed(postgres.url, sealed);
      opened.push(ledger);
      const nights: number[] = [];
      for (let night = 0; night < NIGHTS; night += 1) nights.push(await reconciled(ledger));
      const figure = median(nights);
      const nightly: Measured = { name: `a night after ${sealed} sealed segments`, unit: 's', figure };
      rows.push(
        { name: `the run that seals ${sealed}`, unit: 's', figure: seconds },
        one === null
          ? nightly
          : {
              ...nightly,
              reference: { name: 'one', figure: one },
              target: { relation: '<=', bound: MAX_OF_ONE_SEGMENT },
            },
      );
      one ??= figure;
    }
    const title = `checks of a ledger whose segments have ${TRADES.toLocaleString('en-US')} trades; medians of ${NIGHTS} nights`;
    return tableOf('seals', title, rows);
  } finally {
    for (const ledger of opened) await ledger.close();
    await postgres.stop();
  }
}
