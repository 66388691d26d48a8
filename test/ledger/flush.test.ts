/** Proves which commits of settlement a killed Postgres keeps. */

import { expect } from 'chai';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { eventually } from '../support/eventually.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { seededEvents } from '../support/seeded-events.ts';
import { query } from './tables.ts';

/** Settings under which Postgres itself flushes nothing within a test. */
const LAZY = ["wal_writer_delay = '10s'", "wal_writer_flush_after = '1GB'", 'autovacuum = off'];

describe('a killed Postgres', () => {
  const events = seededEvents(31).next(500);
  let server: PostgresServer;
  let ledger: Ledger;

  const settings = async (...changes: readonly string[]): Promise<void> => {
    for (const change of changes) await query(server.url, `alter system set ${change}`);
    await query(server.url, 'select pg_reload_conf()');
  };

  const settle = async (from: number, to: number, flush: boolean): Promise<boolean> =>
    (await ledger.settlement.settle(events.slice(Math.max(0, from - 1), to), { flush })).isFlushed;

  /** Returns the sequence of the cursor after the kill. */
  async function killed(): Promise<number> {
    await server.kill();
    await server.start();
    let sequence = 0;
    await eventually('Postgres answers', async () => {
      const cursor = await ledger.settlement.cursor().catch(() => undefined);
      sequence = cursor?.sequence ?? 0;
      return cursor !== undefined;
    });
    return sequence;
  }

  before(async () => {
    server = await startPostgresServer();
    await settings(...LAZY);
    ledger = openLedger({ databaseUrl: server.url });
    await ledger.migrate();
  });

  after(async () => {
    await ledger?.close();
    await server?.stop();
  });

  it('loses batches that were not flushed, which are then settled again', async () => {
    expect(await settle(0, 100, true)).to.equal(true);
    expect(await settle(100, 150, false)).to.equal(false);
    expect(await settle(150, 200, false)).to.equal(false);
    expect(await ledger.settlement.cursor()).to.include({ sequence: 200 });
    expect(await killed()).to.equal(100);
    await settle(100, 200, true);
    const { sequence, checks } = await ledger.checks.run();
    expect(sequence).to.equal(200);
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
  });

  it('keeps batches after a later batch was flushed', async () => {
    await settle(200, 250, false);
    await settle(250, 260, true);
    expect(await killed()).to.equal(260);
  });

  it('keeps batches after a settlement found nothing to settle', async () => {
    await settle(260, 300, false);
    expect(await settle(300, 300, false)).to.equal(true);
    expect(await killed()).to.equal(300);
  });

  it('keeps batches after the ledger was read at rest', async () => {
    await settle(300, 400, false);
    expect(await ledger.settlement.atRest(async ({ cursor }) => cursor)).to.include({ sequence: 400 });
    expect(await killed()).to.equal(400);
  });

  it('keeps a flushed batch when the server does not wait for the disk by default', async () => {
    await settings('synchronous_commit = off');
    expect(await settle(400, 450, true)).to.equal(true);
    expect(await killed()).to.equal(450);
  });
});
