/** Tests that `ledger reconcile` holds on a Postgres that was promoted, restored to a moment, or dumped into a later version. */

import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { reconcile } from '../../../src/books/reconcile/index.ts';
import { openLedger } from '../../../src/ledger/index.ts';
import { MAKER, openBusyFixture } from '../../operator/busy-fixture.ts';
import type { OperatorFixture } from '../../operator/fixture.ts';
import { eventually } from '../../support/eventually.ts';
import {
  installedPostgres,
  type PostgresServer,
  runTool,
  startOnBackup,
  startPostgresServer,
} from '../../support/postgres-server.ts';
import { settleAll } from '../../support/settle-all.ts';

const home = installedPostgres();

describe('books: reconcile holds (where Debian’s Postgres is installed)', function () {
  this.timeout(300_000);
  const started: PostgresServer[] = [];
  let archive: string;
  let primary: PostgresServer;
  let fixture: OperatorFixture;

  const folder = (): string => mkdtempSync(join(tmpdir(), 'redbook-restored-'));

  /** Takes a base backup of the primary. @returns the folder for `startOnBackup` */
  const backup = (...options: string[]): string => {
    const taken = folder();
    mkdirSync(join(taken, 'postgres'));
    runTool(
      home!,
      'pg_basebackup',
      `--pgdata=${join(taken, 'postgres/data')}`,
      `--dbname=${primary.url}`,
      ...options,
    );
    return taken;
  };

  const asking = async <Row extends pg.QueryResultRow>(
    url: string,
    ...statements: string[]
  ): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      for (const sql of statements.slice(0, -1)) await client.query(sql);
      return (await client.query<Row>(statements.at(-1)!)).rows;
    } finally {
      await client.end();
    }
  };

  /** Settles into another Postgres what it lacks, and reconciles twice. */
  async function differencesOn(databaseUrl: string): Promise<string[]> {
    const ledger = openLedger({ databaseUrl });
    try {
      const found: string[] = [];
      for (const price of ['11', '12']) {
        await fixture.place({ wallet: MAKER, price });
        await settleAll({ engine: fixture.engine, ledger }, { trims: false });
        const { checks } = await reconcile({ ...fixture.services, ledger }, { patienceMs: 30_000 });
        for (const { name, differences } of checks)
          found.push(...differences.map((one) => `${name}: ${one.subject}: ${one.expected} / ${one.found}`));
      }
      return found;
    } finally {
      await ledger.close();
    }
  }

  before(async function () {
    if (home === undefined) this.skip();
    archive = folder();
    chmodSync(archive, 0o777);
    const settings = ['archive_mode = on', `archive_command = 'cp %p ${archive}/%f'`];
    primary = await startPostgresServer({ installed: { home, settings } });
    started.push(primary);
    const ledger = openLedger({ databaseUrl: primary.url });
    await ledger.migrate();
    await ledger.close();
    fixture = await openBusyFixture({ databaseUrl: primary.url });
    expect(await differencesOn(primary.url)).to.deep.equal([]);
  });
  after(async () => {
    await fixture?.close();
    for (const server of started) await server.stop();
    if (archive !== undefined) rmSync(archive, { recursive: true, force: true });
  });

  it('after a dump was restored into another major version', async () => {
    const files = folder();
    const dump = join(files, 'dump.sql');
    runTool(home!, 'pg_dump', `--dbname=${primary.url}`, `--file=${dump}`);
    const other = await startPostgresServer();
    started.push(other);
    runTool(
      home!,
      'psql',
      other.url,
      '--quiet',
      '--set=ON_ERROR_STOP=1',
      `--file=${dump}`,
      '--output=/dev/null',
    );
    rmSync(files, { recursive: true, force: true });
    const [before, after] = await Promise.all(
      [primary.url, other.url].map((url) =>
        asking<{ major: number }>(url, `select current_setting('server_version_num')::int / 10000 as major`),
      ),
    );
    expect(after![0]!.major).to.not.equal(before![0]!.major);
    expect(await differencesOn(other.url)).to.deep.equal([]);
  });

  it('after a restore to a moment between two reconciles', async () => {
    const restored = backup();
    await differencesOn(primary.url);
    await asking(primary.url, `select pg_create_restore_point('between')`);
    await differencesOn(primary.url);
    const [{ file }] = (await asking<{ file: string }>(
      primary.url,
      'select pg_walfile_name(pg_switch_wal()) as file',
    )) as [{ file: string }];
    await eventually('the log is archived', async () => {
      const [{ last }] = (await asking<{ last: string | null }>(
        primary.url,
        'select last_archived_wal as last from pg_stat_archiver',
      )) as [{ last: string | null }];
      return last !== null && last >= file;
    });
    const data = join(restored, 'postgres/data');
    writeFileSync(join(data, 'recovery.signal'), '');
    appendFileSync(
      join(data, 'postgresql.auto.conf'),
      `restore_command = 'cp ${archive}/%f %p'\nrecovery_target_name = 'between'\nrecovery_target_action = 'promote'\narchive_mode = off\n`,
    );
    const server = await startOnBackup(home!, restored);
    started.push(server);
    await eventually('Postgres has recovered', async () => {
      const [row] = await asking<{ recovering: boolean }>(
        server.url,
        'select pg_is_in_recovery() as recovering',
      );
      return row?.recovering === false;
    });
    expect(await differencesOn(server.url)).to.deep.equal([]);
  });

  it('after a standby was promoted when the primary was killed', async () => {
    const server = await startOnBackup(home!, backup('--write-recovery-conf'));
    started.push(server);
    await eventually('the standby streams', async () => {
      const rows = await asking(primary.url, `select from pg_stat_replication where state = 'streaming'`);
      return rows.length > 0;
    });
    expect(await differencesOn(primary.url)).to.deep.equal([]);
    await primary.kill();
    await asking(server.url, 'select pg_promote()');
    expect(await differencesOn(server.url)).to.deep.equal([]);
  });
});
