/** Proves that each user of Postgres may run exactly the statements of its processes, and that nobody is superuser. */

import { expect } from 'chai';
import pg from 'pg';
import { WRITES } from '../../../src/ledger/grants.ts';
import { openLedger } from '../../../src/ledger/index.ts';
import { query } from '../../ledger/tables.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/ports.ts';
import { freshDatabase, freshLedgerDatabase, freshRedis, POSTGRES_USERS } from '../../support/servers.ts';
import { isReady, launchService, operate } from '../../support/service.ts';

const NO_RIGHT = '42501';
const OWNER = 'redbook_owner';
const OTHERS = ['redbook_settlement', 'redbook_api', 'redbook_operator_api', 'redbook_backup'] as const;

/** Statements of each class, which change no row. */
const CLASSES: Readonly<Record<string, (table: string, column: string) => string>> = {
  select: (table) => `select from ${table} limit 0`,
  insert: (table) => `insert into ${table} select * from ${table} where false`,
  update: (table, column) => `update ${table} set ${column} = ${column} where false`,
  delete: (table) => `delete from ${table} where false`,
  truncate: (table) => `truncate ${table}`,
};

const NOBODYS = [
  'create table mine (id int)',
  'drop table candles',
  'drop trigger append_only on trades',
  'alter table trades disable trigger all',
  "copy assets to program 'true'",
  "copy assets from '/etc/hostname'",
  'create role mine',
  'alter role redbook_api superuser',
  'set role redbook_owner',
  'set session_replication_role = replica',
  'create schema mine',
];
/** Statements that not even the owner may run. */
const OWNERS = NOBODYS.filter((sql) =>
  /program|hostname|create role|superuser|session_replication/.test(sql),
);

const asUser = (user: string, databaseUrl: string): string =>
  Object.assign(new URL(databaseUrl), { username: user }).href;

describe('the users of Postgres', () => {
  before(function () {
    if (process.env.DATABASE_URL) this.skip(); // nobody wants them on a server of their own
  });

  const opened: pg.Client[] = [];
  const connect = async (databaseUrl: string): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    opened.push(client);
    return client;
  };
  after(() => Promise.all(opened.map((client) => client.end())));

  /** Returns false where Postgres refuses the right. Whatever happened is undone. */
  async function may(client: pg.Client, sql: string): Promise<boolean> {
    await client.query('begin');
    const code = await client.query(sql).then(
      () => undefined,
      (error: pg.DatabaseError) => error.code,
    );
    await client.query('rollback');
    return code !== NO_RIGHT;
  }

  it('have a row for each table and view of this release', async () => {
    const tables = await query<{ name: string }>(
      await freshLedgerDatabase(),
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')`,
    );
    expect(tables.map(({ name }) => name)).to.have.members(Object.keys(WRITES));
  });

  it('may run the statements of their row, class by class, and no others', async () => {
    const databaseUrl = await freshLedgerDatabase();
    const columns = await query<{ table: string; name: string }>(
      databaseUrl,
      `select distinct on (attrelid) attrelid::regclass::text as table, attname as name from pg_attribute
       join pg_class on pg_class.oid = attrelid
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and attnum > 0 and attidentity = ''
       order by attrelid, attnum`,
    );
    for (const user of OTHERS) {
      const client = await connect(asUser(user, databaseUrl));
      for (const { table, name } of columns) {
        const { settlement, api, operators = api, backup = '' } = WRITES[table]!;
        const writes = {
          redbook_settlement: settlement,
          redbook_api: api,
          redbook_operator_api: operators,
          redbook_backup: backup,
        }[user];
        const allowed: string[] = [];
        for (const [kind, sql] of Object.entries(CLASSES))
          if (await may(client, sql(table, name))) allowed.push(kind);
        expect(allowed.join(' '), `${user} on ${table}`).to.equal(`select ${writes}`.trim());
      }
    }
  });

  it('may make, drop and disable nothing, run no program, and become nobody else', async () => {
    const databaseUrl = await freshLedgerDatabase();
    for (const [user, refused] of [
      ...OTHERS.map((one) => [one, NOBODYS] as const),
      [OWNER, OWNERS] as const,
    ]) {
      const client = await connect(asUser(user, databaseUrl));
      for (const sql of refused) expect(await may(client, sql), `${user}: ${sql}`).to.equal(false);
    }
    const high = await query(
      databaseUrl,
      `select rolname from pg_roles where rolname ~ '^redbook_' and (rolsuper or rolcreaterole or rolcreatedb or rolbypassrls)`,
    );
    expect(high).to.deep.equal([]);
  });

  it('may take a base backup as redbook_backup alone', async () => {
    const databaseUrl = await freshLedgerDatabase();
    for (const user of OTHERS) {
      const client = await connect(asUser(user, databaseUrl));
      for (const sql of [
        "select pg_create_restore_point('a test')",
        'select pg_switch_wal()',
        "select current_setting('data_directory')",
      ])
        expect(await may(client, sql), `${user}: ${sql}`).to.equal(user === 'redbook_backup');
    }
    const replication = await connect(
      `${asUser('redbook_backup', databaseUrl)}?replication=database`.replace('??', '?'),
    );
    const { rows } = await replication.query('IDENTIFY_SYSTEM');
    expect(rows[0]).to.have.property('xlogpos');
  });

  it('are made twice over, on a managed server by a user who is no superuser, and take over older tables', async () => {
    const databaseUrl = await freshDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    const manager = `manager_${name}`;
    await query(
      databaseUrl,
      `create role ${manager} createrole login password 'test'; alter database ${name} owner to ${manager};
       grant redbook_owner, redbook_settlement, redbook_api, redbook_operator_api, redbook_backup to ${manager} with admin option`,
    );
    const managed = asUser(manager, databaseUrl);
    const ledger = openLedger({ databaseUrl: managed });
    await ledger.migrate();
    await ledger.close();
    await query(managed, POSTGRES_USERS);
    await query(managed, POSTGRES_USERS);
    const owned = openLedger({ databaseUrl: asUser(OWNER, databaseUrl) });
    await owned.migrate();
    await owned.checkRights('all');
    await owned.close();
    for (const [user, role] of [
      ['redbook_settlement', 'operator'],
      ['redbook_api', 'snapshot'],
    ] as const) {
      const ledgerOf = openLedger({ databaseUrl: asUser(user, databaseUrl) });
      await ledgerOf.migrate();
      await ledgerOf.checkRights(role);
      await ledgerOf.close();
    }
    await query(
      databaseUrl,
      `alter database ${name} owner to postgres; drop owned by ${manager}; drop role ${manager}`,
    );
  });

  it('that lack a right, or the tables, are told so: a process waits, and a command is refused', async () => {
    const databaseUrl = await freshLedgerDatabase();
    const redis = { REDIS_URL: await freshRedis() };
    const port = async () => ({ PORT: String(await freePort()) });
    await query(databaseUrl, 'revoke insert on engine_epochs from redbook_settlement');
    const short = { ...redis, DATABASE_URL: databaseUrl };
    const said = await operate(short, 'status').then(String, ({ message }: Error) => message);
    expect(said).to.match(
      /redbook_settlement insert engine_epochs: run `redbook migrate`.*"DATABASE_REFUSED"/,
    );
    const empty = await freshDatabase();
    await query(empty, POSTGRES_USERS);
    const missing = { ...redis, DATABASE_URL: asUser('redbook_settlement', empty) };
    const waiting = await Promise.all([
      launchService('settlement', { ...short, ...(await port()) }),
      launchService('settlement', { ...missing, ...(await port()) }),
    ]);
    try {
      await eventually('it names the right', async () =>
        /(insert|denied for table) engine_epochs: run `redbook migrate` as the owner/.test(
          waiting[0].output(),
        ),
      );
      await eventually('it says who migrates', async () =>
        /its tables are not of this release, and its user may not migrate them \(permission denied for schema public\)/.test(
          waiting[1].output(),
        ),
      );
      for (const url of [databaseUrl, empty]) {
        const migrating = await launchService('migrate', { DATABASE_URL: asUser(OWNER, url) });
        await eventually('it has migrated', async () => migrating.child.exitCode === 0);
      }
      for (const one of waiting) await eventually('it is ready', () => isReady(one.url));
    } finally {
      for (const one of waiting) await one.end('SIGKILL');
    }
  });
});
