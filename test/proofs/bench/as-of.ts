/** Costs of balances as of a time in a seeded ledger, with and without balances that were kept at the midnight before. */

import pg from 'pg';
import { openLedger } from '../../../src/ledger/index.ts';
import { BALANCES_AT } from '../../../src/ledger/kept-balances.ts';

interface AsOfCost {
  readonly name: string;
  readonly rows: number;
  /** Number of 8 KiB pages read, from the cache of Postgres or from disk. */
  readonly buffers: number;
  readonly ms: number;
}

const LATER = `'9007199254740991'`;

/** @param timeMs after the last event */
export async function asOfCosts(databaseUrl: string, timeMs: number, wallet: string): Promise<AsOfCost[]> {
  const ledger = openLedger({ databaseUrl });
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const cost = async (name: string, account: string | null): Promise<AsOfCost> => {
    const values = [timeMs, LATER, account === null ? 'null' : `'${account}'`, 'null'].join(', ');
    await client.query(`set plan_cache_mode = force_custom_plan; set jit = off`);
    await client.query(`prepare as_of(bigint, bigint, text, text) as ${BALANCES_AT}`);
    const explain = `explain (analyze, buffers, timing off, format json) execute as_of(${values})`;
    // The first run fills the cache; the second is measured.
    await client.query(explain);
    const { rows } = await client.query(explain);
    await client.query('deallocate as_of');
    const [{ Plan: plan, 'Execution Time': ms }] = rows[0]['QUERY PLAN'];
    const buffers = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] + (plan['Temp Read Blocks'] ?? 0);
    return { name, rows: plan['Actual Rows'], buffers, ms };
  };
  try {
    const costs = [await cost('all accounts, nothing kept', null)];
    await ledger.balances.keepDay(timeMs);
    await client.query('vacuum analyze kept_balances');
    costs.push(
      await cost('all accounts, from midnight', null),
      await cost('one wallet, from midnight', wallet),
    );
    return costs;
  } finally {
    await client.end();
    await ledger.close();
  }
}
