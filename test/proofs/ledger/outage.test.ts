/** Proves that reads are refused while Postgres is down or slow, and resume without a restart. */

import { expect } from 'chai';
import pg from 'pg';
import { Refusal } from '../../../src/domain/errors.ts';
import { type Ledger, LedgerDiverged, openLedger } from '../../../src/ledger/index.ts';
import { eventually } from '../../support/eventually.ts';
import { openLink } from '../../support/link.ts';
import { type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';
import { seededEvents, WALLETS } from '../../support/seeded-events.ts';

describe('ledger without Postgres', () => {
  const events = seededEvents(6).next(600);
  let postgres: PostgresServer;
  let ledger: Ledger;

  const ordersOf = (limit: number) => ledger.orders.ofWallet(WALLETS[0]!, { limit });
  const reads: Record<string, () => Promise<unknown>> = {
    'settlement.cursor': () => ledger.settlement.cursor(),
    'orders.ofWallet': () => ordersOf(10),
    'orders.fills': () => ledger.orders.fills(new Map([['0'.repeat(34), 1]]), { epoch: 1, sequence: 1 }),
    'orders.byId': () => ledger.orders.byId(WALLETS[0]!, '0'.repeat(34), 10),
    'orders.idByClientId': () => ledger.orders.idByClientId(WALLETS[0]!, 'x'),
    'orders.placedId': () => ledger.orders.placedId(WALLETS[0]!, 'x'),
    'trades.ofWallet': () => ledger.trades.ofWallet(WALLETS[0]!, { limit: 10 }),
    'journal.movement': () => ledger.journal.movement('credited', 'x'),
  };

  const failureOf = (attempt: Promise<unknown>): Promise<unknown> =>
    attempt.then(
      () => undefined,
      (error) => error,
    );

  /** Runs `work` on an administrator's connection, then `undoing`, whatever came of it. */
  const asAdmin = async (undoing: string, work: (admin: pg.Client) => Promise<void>): Promise<void> => {
    const admin = new pg.Client({ connectionString: postgres.url });
    await admin.connect();
    try {
      await work(admin);
    } finally {
      await admin.query(undoing);
      await admin.end();
    }
  };

  /** Ends all connections of the ledger, so that the next ones are new. */
  const endOthers = (admin: pg.Client): Promise<unknown> =>
    admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );

  before(async () => {
    postgres = await startPostgresServer();
    ledger = openLedger({ databaseUrl: postgres.url, poolSize: 3 });
    await ledger.migrate();
  });

  after(async () => {
    await ledger.close();
    await postgres.stop();
  });

  it('returns SERVICE_UNAVAILABLE while Postgres is down, and recovers by itself', async () => {
    await ledger.settlement.settle(events.slice(0, 300));
    for (let round = 0; round < 2; round += 1) {
      // Both idle and busy connections exist when Postgres dies.
      const inFlight = Array.from({ length: 12 }, () => failureOf(ordersOf(100)));
      const settling = failureOf(ledger.settlement.settle(events.slice(0, 300 + 100 * (round + 1))));
      await postgres.kill();
      for (const error of await Promise.all(inFlight)) {
        if (error !== undefined)
          expect(error).to.be.instanceOf(Refusal).with.property('code', 'SERVICE_UNAVAILABLE');
      }
      expect(await settling).not.to.be.instanceOf(LedgerDiverged);

      for (const [name, read] of Object.entries(reads)) {
        const error = await failureOf(read());
        expect(error, name).to.be.instanceOf(Refusal).with.property('code', 'SERVICE_UNAVAILABLE');
      }
      expect(await failureOf(ledger.settlement.settle(events)))
        .to.be.instanceOf(Error)
        .and.not.instanceOf(LedgerDiverged);

      await postgres.start();
      // Look-ups before placements are refused at once until a background check has found Postgres again.
      await eventually(
        'the look-up answers',
        async () => (await failureOf(reads['orders.placedId']!())) === undefined,
      );
      for (const read of Object.values(reads)) await read();
      const { sequence } = await ledger.settlement.cursor();
      expect(sequence, 'what was settled stays').to.be.at.least(300);
      await ledger.settlement.settle(events.slice(sequence - 1, 300 + 100 * (round + 1)));
      expect(await ledger.settlement.cursor()).to.include({ sequence: 300 + 100 * (round + 1) });
    }
    expect((await ledger.checks.run()).checks.every(({ count }) => count === 0)).to.equal(true);
  });

  it('returns SERVICE_UNAVAILABLE when Postgres does not answer in time', async () => {
    const blocker = new pg.Client({ connectionString: postgres.url });
    await blocker.connect();
    await blocker.query('begin; lock table orders in access exclusive mode');
    // The lock is held until the read has given up.
    const error = await failureOf(ordersOf(10));
    expect(error).to.be.instanceOf(Refusal).with.property('code', 'SERVICE_UNAVAILABLE');
    await blocker.end();
    expect((await ordersOf(10)).orders).to.have.length(10);
  });

  it('returns SERVICE_UNAVAILABLE while Postgres accepts no connections', async () => {
    const { password } = new URL(postgres.url);
    await asAdmin(`alter role postgres password '${password}'`, async (admin) => {
      await admin.query(`alter role postgres password 'another'`);
      await endOthers(admin);
      for (const [name, read] of Object.entries(reads))
        expect(await failureOf(read()), name)
          .to.be.instanceOf(Refusal)
          .with.property('code', 'SERVICE_UNAVAILABLE');
      expect(await failureOf(ledger.settlement.settle(events)))
        .to.be.instanceOf(Error)
        .and.not.instanceOf(LedgerDiverged);
    });
    expect((await ordersOf(10)).orders).to.have.length(10);
  });

  it('returns SERVICE_UNAVAILABLE when Postgres cancels a wait for a lock', async () => {
    await asAdmin('rollback; alter role postgres reset lock_timeout', async (admin) => {
      await admin.query('alter role postgres set lock_timeout = 1');
      await endOthers(admin);
      await admin.query('begin; lock table orders in access exclusive mode');
      expect(await failureOf(ordersOf(10)))
        .to.be.instanceOf(Refusal)
        .with.property('code', 'SERVICE_UNAVAILABLE');
    });
    await asAdmin('select 1', async (admin) => void (await endOthers(admin)));
  });

  it('lets another process settle soon when one hangs in the middle of a batch', async () => {
    const link = await openLink(postgres.url);
    const hanging = openLedger({ databaseUrl: link.url, poolSize: 1 });
    const stands = link.trap({ request: String.raw`^(?=.*move cursor\0)`, isSent: false });
    const hung = failureOf(hanging.settlement.settle(events));
    await stands;
    const last = events.at(-1)!.sequence;
    const settles = async (): Promise<boolean> => (await ledger.settlement.settle(events)).sequence === last;
    await eventually('another process settles', settles);
    await link.mend();
    expect(await hung)
      .to.be.instanceOf(Error)
      .and.not.instanceOf(LedgerDiverged);
    await hanging.close();
    link.close();
  });

  it('waits a limited time for a connection of a busy pool', async () => {
    const blocker = new pg.Client({ connectionString: postgres.url });
    await blocker.connect();
    await blocker.query('begin; lock table orders in access exclusive mode');
    const busy = Array.from({ length: 3 }, () => failureOf(ordersOf(10)));
    const error = await failureOf(ledger.trades.ofWallet(WALLETS[0]!, { limit: 10 }));
    expect(error).to.be.instanceOf(Refusal).with.property('code', 'SERVICE_UNAVAILABLE');
    await blocker.end();
    await Promise.all(busy);
  });
});
