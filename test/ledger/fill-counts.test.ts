/** Tests the fill count in each order's row, whichever release settled the order. */

import { expect } from 'chai';
import { migrate } from '../../src/ledger/migrate.ts';
import { seededEvents } from '../support/seeded-events.ts';
import { databaseOfEarlierRelease } from './earlier-release.ts';
import { freshLedgers } from './fresh-ledgers.ts';
import { query } from './tables.ts';

const COUNTS_SINCE = '006_fill_counts.ts';
const EVENTS = 600;

/** Fill counts of each filled order, from its row and from the trades. */
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
  let settled: string;

  before(async () => {
    const { ledger, databaseUrl } = await freshLedger();
    const events = seededEvents(11).next(EVENTS);
    // Batches of several sizes: an order's fills are counted in its own batch and in later ones.
    for (let at = 0; at < EVENTS; at += 150) await ledger.settlement.settle(events.slice(at, at + 150));
    settled = databaseUrl;
  });
  it('are kept by settlement, over several batches', async () => {
    await expectCounts(settled);
  });

  it('are filled in for the orders of a release that did not count', async () => {
    const databaseUrl = await databaseOfEarlierRelease(COUNTS_SINCE, settled);
    await migrate(databaseUrl);
    expect(await expectCounts(databaseUrl)).to.deep.equal(await query(settled, COUNTS));
  });
});
