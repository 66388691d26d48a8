/** Tests that nothing which may befall an intact Postgres makes `ledger reconcile` report a difference. */

import { expect } from 'chai';
import pg from 'pg';
import { reconcile } from '../../../src/books/reconcile/index.ts';
import { type Ledger, openLedger } from '../../../src/ledger/index.ts';
import type { MakePool } from '../../../src/ledger/pools.ts';
import { MAKER, openBusyFixture } from '../../operator/busy-fixture.ts';
import type { OperatorFixture } from '../../operator/fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';
import { runSeed } from '../../support/seed.ts';
import { settleAll } from '../../support/settle-all.ts';

/** Longest time that the settings below allow, which is enough to connect in. */
const PROVIDERS_PATIENCE = '400ms';

/** Settings that providers and administrators give to a database or a user, each at a value that does most harm. */
const OF_PROVIDERS: Readonly<Record<string, string>> = {
  statement_timeout: `'${PROVIDERS_PATIENCE}'`,
  lock_timeout: `'${PROVIDERS_PATIENCE}'`,
  idle_in_transaction_session_timeout: `'${PROVIDERS_PATIENCE}'`,
  idle_session_timeout: `'${PROVIDERS_PATIENCE}'`,
  transaction_timeout: `'${PROVIDERS_PATIENCE}'`,
  standard_conforming_strings: 'off',
  backslash_quote: 'on',
  escape_string_warning: 'off',
  quote_all_identifiers: 'on',
  transform_null_equals: 'on',
  array_nulls: 'off',
  timezone: `'Pacific/Chatham'`,
  timezone_abbreviations: `'Australia'`,
  datestyle: `'German, DMY'`,
  intervalstyle: `'sql_standard'`,
  extra_float_digits: '-15',
  bytea_output: `'escape'`,
  client_encoding: `'LATIN1'`,
  lc_messages: `'C'`,
  xmloption: `'document'`,
  search_path: `'nowhere'`,
  default_transaction_isolation: `'serializable'`,
  default_transaction_read_only: 'on',
  default_transaction_deferrable: 'on',
  synchronous_commit: 'off',
  row_security: 'on',
  exit_on_error: 'on',
  jit: 'on',
  jit_above_cost: '0',
  plan_cache_mode: `'force_custom_plan'`,
  enable_hashjoin: 'off',
  enable_seqscan: 'off',
  work_mem: `'64kB'`,
  max_parallel_workers_per_gather: '4',
  debug_parallel_query: 'on',
  default_statistics_target: '1',
};

/** A run kills one in this many statements that read. */
const READS_APART = 9;

/** Returns pools whose connections break at the nth statement of all, right after it was sent. */
function breakingAt(nth: number): { makePool: MakePool; sent(): number } {
  let sent = 0;
  return {
    sent: () => sent,
    makePool: (config) => {
      const pool = new pg.Pool(config);
      pool.on('error', () => undefined);
      pool.on('connect', (client) => {
        client.on('error', () => undefined);
        const { stream } = (client as pg.PoolClient & { connection: { stream: { destroy(): void } } })
          .connection;
        const query = client.query.bind(client) as (...parameters: unknown[]) => unknown;
        client.query = ((...parameters: unknown[]) => {
          sent += 1;
          const answer = query(...parameters);
          if (sent >= nth) setImmediate(() => stream.destroy());
          return answer;
        }) as typeof client.query;
      });
      return pool;
    },
  };
}

describe('books: reconcile holds', () => {
  let postgres: PostgresServer;
  let admin: pg.Client;
  let fixture: OperatorFixture;

  const openAdmin = async (): Promise<void> => {
    admin = new pg.Client({ connectionString: postgres.url });
    admin.on('error', () => undefined);
    await admin.connect();
  };

  before(async () => {
    postgres = await startPostgresServer();
    const ledger = openLedger({ databaseUrl: postgres.url });
    await ledger.migrate();
    await ledger.close();
    await openAdmin();
    fixture = await openBusyFixture({ databaseUrl: postgres.url });
  });
  after(async () => {
    await admin.end();
    await fixture.close();
    await postgres.stop();
  });

  const differences = async (ledger: Ledger = fixture.ledger): Promise<string[]> => {
    const { checks } = await reconcile({ ...fixture.services, ledger }, { patienceMs: 30_000 });
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
    await openAdmin();
  });

  for (const owner of ['database postgres', 'role postgres'])
    it(`under every setting that a provider may give to a ${owner.split(' ')[0]}`, async () => {
      const { rows } = await admin.query('select name from pg_settings');
      const known = new Set(rows.map(({ name }) => name.toLowerCase()));
      const settings = Object.entries(OF_PROVIDERS).filter(([name]) => known.has(name));
      for (const [name, value] of settings) await admin.query(`alter ${owner} set ${name} = ${value}`);
      const ledger = openLedger({ databaseUrl: postgres.url });
      try {
        await ledger.migrate();
        await fixture.place({ wallet: MAKER, price: '3' });
        await settleAll({ engine: fixture.engine, ledger });
        // The audit waits for a lock longer than any of the settings allows, and has a session that idles meanwhile.
        await admin.query('begin; lock table trades in access exclusive mode');
        const found = differences(ledger);
        await eventually('the audit waits', async () => {
          // A transaction goes on seeing what it saw first.
          await admin.query('select pg_stat_clear_snapshot()');
          const { rows } = await admin.query(`select from pg_stat_activity where wait_event_type = 'Lock'
            and application_name = 'redbook auditing' and clock_timestamp() - query_start > 2 * interval '${PROVIDERS_PATIENCE}'`);
          return rows.length > 0;
        }).finally(() => admin.query('commit'));
        expect(await found).to.deep.equal([]);
      } finally {
        await ledger.close();
        await fixture.settle();
        for (const [name] of settings) await admin.query(`alter ${owner} reset ${name}`);
      }
    });

  it('after others that were killed at a statement that reads, or at each that writes', async () => {
    const whole = breakingAt(Number.POSITIVE_INFINITY);
    const ledger = openLedger({ databaseUrl: postgres.url, makePool: whole.makePool });
    expect(await differences(ledger)).to.deep.equal([]);
    await ledger.close();
    // The result is noted at the end; everything before it only reads. The seed chooses among the reads.
    const isKilled = (nth: number): boolean =>
      nth >= whole.sent() - 5 || nth % READS_APART === runSeed() % READS_APART;
    const statements = Array.from({ length: whole.sent() }, (_none, index) => index + 1);
    for (const nth of statements.filter(isKilled)) {
      const { makePool } = breakingAt(nth);
      const killed = openLedger({ databaseUrl: postgres.url, makePool });
      const failure = await differences(killed).then(
        () => undefined,
        (error) => error,
      );
      expect(failure, `statement ${nth}`).to.be.an('error');
      await killed.close();
    }
    expect(await differences()).to.deep.equal([]);
  });
});
