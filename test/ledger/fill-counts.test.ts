/** The number of fills that each order's row carries, whoever settled it and since when. */

import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect } from 'chai';
import pg from 'pg';
import { migrate } from '../../src/ledger/migrate.ts';
import { seededEvents } from '../support/seeded-events.ts';
import { freshDatabase } from '../support/servers.ts';
import { freshLedgers } from './fresh-ledgers.ts';
import { query } from './tables.ts';

const FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url));
const COUNTS_SINCE = '006_fill_counts.ts';
const EVENTS = 600;

/** Fill counts of each filled order by its row and by the trades. */
const COUNTS = `
  select id, fill_count::int as kept,
    (select count(*) from trades where taker_order_id = id or maker_order_id = id)::int as counted
  from orders where fill_count > 0 or filled_steps > 0 order by id`;

interface Counts {
  id: string;
  kept: number;
  counted: number;
}

const expectCounts = async (databaseUrl: string): Promise<Counts[]> => {
  const counts = await query<Counts>(databaseUrl, COUNTS);
  expect(counts.filter(({ kept, counted }) => kept !== counted)).to.deep.equal([]);
  expect(Math.max(...counts.map(({ kept }) => kept))).to.be.above(2);
  return counts;
};

describe('fill counts', () => {
  const freshLedger = freshLedgers();
  const folder = mkdtempSync(join(tmpdir(), 'redbook-migrations-'));
  let settled: string;

  before(async () => {
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    for (const file of readdirSync(FOLDER).filter((name) => name < COUNTS_SINCE)) {
      copyFileSync(join(FOLDER, file), join(folder, file));
    }
    const { ledger, databaseUrl } = await freshLedger();
    const events = seededEvents(11).next(EVENTS);
    // Batches of several sizes: an order's fills are counted in its own batch and in later ones.
    for (let at = 0; at < EVENTS; at += 150) await ledger.settle(events.slice(at, at + 150));
    settled = databaseUrl;
  });
  after(() => rmSync(folder, { recursive: true }));

  /** The orders and trades of the settled ledger, written as a release before the column did. */
  const copyAsOlderRelease = async (databaseUrl: string): Promise<void> => {
    const target = new pg.Client({ connectionString: databaseUrl });
    await target.connect();
    try {
      const orders = await query<{ row: string }>(settled, 'select to_jsonb(o)::text as row from orders o');
      const trades = await query<{ row: string }>(settled, 'select to_jsonb(t)::text as row from trades t');
      const columns = `id, wallet, market, side, type, time_in_force, post_only, leverage, price_ticks, size_steps,
        filled_steps, status, reject_reason, client_order_id, created_at_ms, updated_at_ms, sequence,
        updated_sequence, closed_sequence, base, quote, base_atoms_per_step, quote_atoms_per_lot`;
      const write = (table: string, list: string, rows: readonly { row: string }[]) =>
        target.query(
          `insert into ${table} (${list}) select ${list} from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
          [`[${rows.map(({ row }) => row).join(',')}]`],
        );
      await write('orders', columns, orders);
      const half = trades.length >> 1;
      for (const part of [trades.slice(0, half), trades.slice(half)]) {
        await write(
          'trades',
          `trade_id, sequence, market, taker_side, price_ticks, size_steps, base_atoms, notional_atoms, fee_atoms,
           taker_order_id, maker_order_id, taker_wallet, maker_wallet, time_ms, base, quote, base_atoms_per_step,
           quote_atoms_per_lot`,
          part,
        );
      }
    } finally {
      await target.end();
    }
  };

  it('are kept by settlement, over several batches', async () => {
    await expectCounts(settled);
  });

  it('are filled in for the orders of a release that did not count', async () => {
    const databaseUrl = await freshDatabase();
    await migrate(databaseUrl, pathToFileURL(`${folder}/`));
    await copyAsOlderRelease(databaseUrl);
    await migrate(databaseUrl);
    expect(await expectCounts(databaseUrl)).to.deep.equal(await query(settled, COUNTS));
  });

  it('stay right while a release that does not count settles into the same database', async () => {
    const { databaseUrl } = await freshLedger();
    await copyAsOlderRelease(databaseUrl);
    expect(await expectCounts(databaseUrl)).to.deep.equal(await query(settled, COUNTS));
  });

  it('are not counted a second time by the trigger when this release settles', async () => {
    const { ledger, databaseUrl } = await freshLedger();
    await query(
      databaseUrl,
      `create or replace function count_fills() returns trigger language plpgsql as
       $$ begin raise exception 'the trigger counts'; end $$`,
    );
    await ledger.settle(seededEvents(11).next(EVENTS));
    await expectCounts(databaseUrl);
  });
});
