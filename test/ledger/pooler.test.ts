/** Proves that the ledger works behind a pooler of sessions, and refuses one that shares sessions between transactions. */

import { expect } from 'chai';
import type { Program } from '../../src/embedded/obtain/program.mjs';
import { openLedger } from '../../src/ledger/index.ts';
import { obtainPgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { freshDatabase, freshRedis } from '../support/servers.ts';
import { operate } from '../support/service.ts';

describe('a pooler before Postgres (where PgBouncer can be had)', () => {
  let program: Program;
  before(async function () {
    program = await obtainPgBouncer().catch((error: Error) => {
      console.log(`      ${error.message}`);
      return this.skip();
    });
  });

  it('works when it keeps sessions apart, with the limits of each connection', async () => {
    const pooler = await startPgBouncer(program, await freshDatabase(), 'session');
    const ledger = openLedger({ databaseUrl: pooler.databaseUrl });
    try {
      await ledger.migrate();
      expect(await ledger.settlement.cursor()).to.include({ sequence: 0 });
      expect(await ledger.serverFigures())
        .to.have.property('connections')
        .that.is.above(0);
    } finally {
      await ledger.close();
      pooler.stop();
    }
  });

  it('is refused by one sentence when it shares them, before anything is changed', async () => {
    const direct = await freshDatabase();
    const pooler = await startPgBouncer(program, direct, 'transaction');
    const ledger = openLedger({ databaseUrl: pooler.databaseUrl });
    try {
      const refusal = await ledger.migrate().then(
        () => 'migrated',
        ({ message }: Error) => message,
      );
      expect(refusal).to.match(/^it is behind a pooler that shares its sessions .*session pooling/);
      const settings = { REDIS_URL: await freshRedis(), DATABASE_URL: pooler.databaseUrl };
      const told = await operate(settings, 'status').then(
        () => 'told',
        ({ message }: Error) => message,
      );
      expect(told).to.match(/"error":"Postgres at .* is behind a pooler.*"code":"DATABASE_REFUSED"/);
    } finally {
      await ledger.close();
      pooler.stop();
    }
  });
});
