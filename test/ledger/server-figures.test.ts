/** Tests the figures of Postgres that settlement exports. */

import { expect } from 'chai';
import { freshLedgers } from './fresh-ledgers.ts';
import { query } from './tables.ts';

describe('the figures of Postgres', () => {
  const fresh = freshLedgers();

  it('tell the log that stays for the slot furthest behind, and nothing without slots', async function () {
    if (process.env.DATABASE_URL) this.skip(); // its user may not make slots
    const { ledger, databaseUrl } = await fresh();
    expect(await ledger.serverFigures()).to.have.property('replicationLagBytes', null);
    await query(databaseUrl, `select pg_create_physical_replication_slot('late', true)`);
    try {
      await query(
        databaseUrl,
        `create table log as select repeat('x', 100) as line from generate_series(1, 1000)`,
      );
      expect((await ledger.serverFigures()).replicationLagBytes).to.be.above(100_000);
    } finally {
      await query(databaseUrl, `select pg_drop_replication_slot('late')`);
    }
  });
});
