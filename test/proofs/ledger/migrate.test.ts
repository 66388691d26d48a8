/** Tests databases of other releases: what a later one added, what it took away, and what no release wrote. */

import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { LAST_MIGRATION, SCHEMA_OBJECTS } from '../../../src/ledger/checks/schema-objects.ts';
import { DatabaseRefused, openLedger } from '../../../src/ledger/index.ts';
import { migrate } from '../../../src/ledger/migrate.ts';
import { schemaObjectsOf, schemaOf } from '../../ledger/schema-text.ts';
import { query } from '../../ledger/tables.ts';
import { seededEvents } from '../../support/seeded-events.ts';
import { freshDatabase } from '../../support/servers.ts';

const FOLDER = fileURLToPath(new URL('../../../migrations/', import.meta.url));
const OURS = readdirSync(FOLDER).sort();

/** A migration that removes something that an earlier release needs, or adds something that it would have to write. */
const TAKES_AWAY =
  /\b(drop (table|column|function|trigger)|rename|alter column|add column [^,;]*not null(?! default))\b/i;

describe('migrations', () => {
  const folders: string[] = [];
  after(() => {
    for (const folder of folders) rmSync(folder, { recursive: true });
  });

  /** The migrations of another release: some of ours, and others by name and statement. */
  const release = (ours: readonly string[], others: Readonly<Record<string, string>>): URL => {
    const folder = mkdtempSync(join(tmpdir(), 'redbook-migrations-'));
    folders.push(folder);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    for (const file of ours) copyFileSync(join(FOLDER, file), join(folder, file));
    for (const [name, sql] of Object.entries(others)) {
      writeFileSync(join(folder, `${name}.ts`), `export const up = (knex) => knex.raw(\`${sql}\`);`);
    }
    return pathToFileURL(`${folder}/`);
  };

  const refusal = async (attempt: Promise<unknown>): Promise<unknown> => attempt.catch((error) => error);

  it('create the schema of schema.sql in an empty database', async () => {
    const databaseUrl = await freshDatabase();
    await migrate(databaseUrl);
    const kept = readFileSync(new URL('../../ledger/schema.sql', import.meta.url), 'utf8');
    const advice = 'run `npm run -s proofs -- schema` after a new migration';
    expect(await schemaOf(databaseUrl), advice).to.equal(kept);
    const made = await schemaObjectsOf(databaseUrl);
    expect(made, advice).to.deep.equal({ objects: SCHEMA_OBJECTS, last: LAST_MIGRATION });
  });

  it('of a later release that only add are accepted by this release', async () => {
    const databaseUrl = await freshDatabase();
    const added =
      'alter table ended_orders add column note text; alter table candles add column spread_ticks bigint';
    await migrate(databaseUrl, {
      folder: release(OURS, { '998_notes': added, '999_more': 'create table more (id int)' }),
    });

    const ledger = openLedger({ databaseUrl });
    await ledger.migrate();
    await ledger.settlement.settle(seededEvents(3).next(400));
    const { sequence, checks } = await ledger.checks.run();
    expect(sequence).to.equal(400);
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
    await ledger.close();
    const applied = await query<{ name: string }>(
      databaseUrl,
      'select name from knex_migrations order by id',
    );
    expect(applied.map(({ name }) => name).slice(-2)).to.deep.equal(['998_notes', '999_more']);
  });

  it('of a later release that take something away are rejected by name', async () => {
    const databaseUrl = await freshDatabase();
    const gone = {
      '998_breaking_notes': 'alter table ended_orders drop column leverage cascade',
      '999_more': 'select 1',
    };
    const folder = release(OURS, gone);
    await migrate(databaseUrl);
    const names = 'select name from knex_migrations';
    const left = await migrate(databaseUrl, { folder, additiveOnly: true });
    expect(left).to.equal('998_breaking_notes');
    expect(await query(databaseUrl, names)).to.have.lengthOf(OURS.length);
    await migrate(databaseUrl, { folder });
    const error = await refusal(migrate(databaseUrl));
    expect(error)
      .to.be.instanceOf(DatabaseRefused)
      .with.property('message')
      .that.includes('998_breaking_notes');
    await migrate(databaseUrl, { folder });
  });

  it('work on large tables in steps beside trading, tell their progress, and go on after a kill', async () => {
    const databaseUrl = await freshDatabase();
    await migrate(databaseUrl);
    await query(databaseUrl, `insert into backups (kind) select 'b' || n from generate_series(1, 25) as n`);
    const marking = (mark: string): URL => {
      const folder = release(OURS, {});
      const step = `update backups set mark = ${mark} where kind in
        (select kind from backups where mark is null order by kind limit 10)`;
      writeFileSync(
        new URL('998_marks.ts', folder),
        `export const up = (knex) => knex.raw('alter table backups add column mark int');
         export const beside = [{ what: 'marks', step: \`${step}\`,
           isLeft: 'select exists (select from backups where mark is null) as left' }];`,
      );
      return folder;
    };
    const left = 'select count(*)::int as n from backups where mark is null';
    const failing = marking('1 / (select count(*) - 15 from backups where mark is null)');
    expect(await refusal(migrate(databaseUrl, { folder: failing }))).to.be.instanceOf(Error);
    expect(await query(databaseUrl, left)).to.deep.equal([{ n: 15 }]);
    const repaired = marking('1');
    if (!process.env.DATABASE_URL) {
      const reader = Object.assign(new URL(databaseUrl), { username: 'redbook_api' }).href;
      await migrate(reader, { folder: repaired });
      expect(await query(databaseUrl, left)).to.deep.equal([{ n: 15 }]);
    }
    const told: string[] = [];
    await migrate(databaseUrl, { folder: repaired, onProgress: (line) => told.push(line) });
    expect(told).to.deep.equal(['marks: begins, beside trading', 'marks: done']);
    expect(await query(databaseUrl, left)).to.deep.equal([{ n: 0 }]);
    await migrate(databaseUrl, { folder: repaired, onProgress: (line) => told.push(line) });
    expect(told).to.have.lengthOf(2);
  });

  it('of another history are rejected, and nothing is applied on top', async () => {
    const databaseUrl = await freshDatabase();
    await migrate(databaseUrl, {
      folder: release(OURS.slice(0, -1), { '998_other': 'create table other (id int)' }),
    });
    const error = await refusal(migrate(databaseUrl));
    expect(error).to.be.instanceOf(DatabaseRefused).with.property('message').that.includes('998_other');
    const applied = await query(databaseUrl, 'select 1 from knex_migrations');
    expect(applied).to.have.lengthOf(OURS.length);
  });

  it('of builds before release 0.1.0 are rejected with how to start anew, and nothing is changed', async () => {
    const databaseUrl = await freshDatabase();
    const before = {
      '001_engine_state': 'create table engine_cursor (epoch int)',
      '008_breaking_counts': 'select 1',
    };
    await migrate(databaseUrl, { folder: release([], before) });
    const schema = await schemaOf(databaseUrl);
    const error = await refusal(migrate(databaseUrl));
    expect(error)
      .to.be.instanceOf(DatabaseRefused)
      .with.property('message')
      .that.matches(
        /^the database was made before release 0\.1\.0, .* start anew with an empty Redis and an empty database/,
      );
    expect(await schemaOf(databaseUrl)).to.equal(schema);
  });

  it('leave no trigger that runs for settled orders, trades and movements', async () => {
    const databaseUrl = await freshDatabase();
    await migrate(databaseUrl);
    const [row] = await query<{ triggers: string[] }>(
      databaseUrl,
      // 4: of inserts.
      `select coalesce(array_agg(concat(tgrelid::regclass, ' ', tgname)), '{}') as triggers from pg_trigger
       where not tgisinternal and (tgrelid = 'live_orders'::regclass
         or tgtype & 4 > 0 and tgrelid::regclass::text in ('ended_orders', 'late_orders', 'trades', 'movements'))`,
    );
    expect(row!.triggers).to.deep.equal([]);
  });

  it('have a name that tells when they take something away', () => {
    const silent = OURS.filter((file) => {
      return !file.includes('_breaking_') && TAKES_AWAY.test(readFileSync(join(FOLDER, file), 'utf8'));
    });
    expect(silent).to.deep.equal([]);
    expect('alter table orders drop column leverage').to.match(TAKES_AWAY);
    expect('alter table orders add column note text not null').to.match(TAKES_AWAY);
  });
});
