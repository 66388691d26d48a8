/** Proves that the benchmarks' SQL fills a ledger with the rows that settlement would have written. */

import { expect } from 'chai';
import { openLedger } from '../../src/ledger/index.ts';
import { readPlans } from '../proofs/bench/read-plans.ts';
import { seededSubject, seedLedger } from '../proofs/bench/seeded-ledger.ts';
import { freshDatabase } from '../support/servers.ts';

describe('a seeded ledger', () => {
  let databaseUrl: string;

  before(async () => {
    databaseUrl = await freshDatabase();
    const options = { trades: 1_500, wallets: 60, endMs: 1_767_605_400_000 };
    await seedLedger({ databaseUrl, ...options });
  });

  it('passes every check of the ledger', async () => {
    const ledger = openLedger({ databaseUrl });
    const { checks } = await ledger.checks.run();
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
    const { trades } = await ledger.trades.ofMarket('ETH/USDC', { limit: 500 });
    expect(trades.length).to.be.above(100);
    await ledger.close();
  });

  it('answers every read from indexes, with and without statistics', async () => {
    const plans = await readPlans(databaseUrl, seededSubject);
    expect(plans.length).to.be.above(15);
    for (const { name, scans } of plans) {
      const tables = scans.map((scan) => scan.split(' ')[0]!.replace(/_\d+$/, ''));
      for (const table of ['live_orders', 'ended_orders', 'late_orders', 'trades', 'candles'])
        expect(tables, name).not.to.include(table);
    }
  });
});
