/** Tests that nothing which may befall an intact Postgres makes `ledger reconcile` report a difference. */

import { expect } from 'chai';
import { reconcile } from '../../src/books/reconcile/index.ts';
import { openLedger } from '../../src/ledger/index.ts';
import { MAKER, openBusyFixture } from '../operator/busy-fixture.ts';
import type { OperatorFixture } from '../operator/fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';

describe('books: reconcile holds', function () {
  this.timeout(60_000);
  let postgres: PostgresServer;
  let fixture: OperatorFixture;

  before(async () => {
    postgres = await startPostgresServer();
    const ledger = openLedger({ databaseUrl: postgres.url });
    await ledger.migrate();
    await ledger.close();
    fixture = await openBusyFixture({ databaseUrl: postgres.url });
  });
  after(async () => {
    await fixture.close();
    await postgres.stop();
  });

  const differences = async (): Promise<string[]> => {
    const { checks } = await reconcile(fixture.services, { patienceMs: 30_000 });
    return checks.flatMap(({ name, differences }) =>
      differences.map((one) => `${name}: ${one.subject}: ${one.expected} / ${one.found}`),
    );
  };

  it('after the postmaster was killed', async () => {
    expect(await differences()).to.deep.equal([]);
    for (let time = 1; time <= 2; time += 1) {
      await fixture.place({ wallet: MAKER, price: `${time}` });
      await postgres.kill();
      await postgres.start();
      await eventually('Postgres answers', async () => {
        await fixture.ledger.ping();
        return true;
      });
      await fixture.settle();
      expect(await differences(), `kill ${time}`).to.deep.equal([]);
    }
  });
});
