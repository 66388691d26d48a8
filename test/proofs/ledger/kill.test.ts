/** Proves that processes killed while they settle or migrate leave no half-written state. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { openLedger } from '../../../src/ledger/index.ts';
import { divide } from '../../ledger/segmented.ts';
import { contents, query, WRITTEN_TABLES } from '../../ledger/tables.ts';
import { program } from '../../support/program.ts';
import { random, runSeed } from '../../support/seed.ts';
import { seededEvents } from '../../support/seeded-events.ts';
import { freshDatabase } from '../../support/servers.ts';

const CHILD = { entry: 'test/ledger/settle-child.ts' };
/** Processes that are killed before one may finish. */
const KILLS = 8;
/** A directory outside the project, because nothing may depend on the working directory. */
const ELSEWHERE = '/';

async function settledUpTo(databaseUrl: string): Promise<number> {
  const exists = await query<{ exists: boolean }>(
    databaseUrl,
    `select to_regclass('engine_cursor') is not null as exists`,
  );
  if (!exists[0]?.exists) return -1;
  const [cursor] = await query<{ sequence: string }>(databaseUrl, 'select sequence from engine_cursor');
  return Number(cursor?.sequence);
}

describe('ledger processes', function () {
  this.timeout(300_000);
  const children = new Set<ChildProcess>();

  const startChild = async (...parameters: (string | number)[]): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [...(await program(CHILD)), ...parameters.map(String)], {
      cwd: ELSEWHERE,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  };

  afterEach(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  it('leave no half batch when they are killed at any moment, and their successors continue', async () => {
    const seed = runSeed();
    const dice = random(seed);
    const count = 6_000;
    const calm = await freshDatabase();
    const ledger = openLedger({ databaseUrl: calm });
    await ledger.migrate();
    await ledger.settlement.settle(seededEvents(seed).next(count));
    await ledger.close();

    const stormy = await freshDatabase();
    const places = new Set<number>();
    let kills = 0;
    let finished = false;
    while (!finished) {
      const child = await startChild(stormy, seed, count, 1 + dice.below(25));
      const exit = once(child, 'exit');
      if (kills === 0) {
        // It dies while it migrates, or soon after.
        await sleep(300 + dice.below(300));
        child.kill('SIGKILL');
      } else if (kills < KILLS) {
        // The others die in the middle of settling, each some events further.
        const place = (await settledUpTo(stormy)) + 1 + dice.below(300);
        while (child.exitCode === null && (await settledUpTo(stormy)) < place);
        child.kill('SIGKILL');
      }
      kills += 1;
      const [code] = await exit;
      finished = code === 0;
      places.add(await settledUpTo(stormy));
    }
    expect(places.size, 'different places it was killed at').to.be.at.least(4);
    expect(await contents(stormy)).to.deep.equal(await contents(calm));
  });

  it('leave no half batch when their connection is killed at any statement of a batch', async () => {
    const events = seededEvents(4).next(700);
    const onEach = (operation: string, table: string, name: string): string =>
      `create trigger ${name} after ${operation} on ${table} for each row execute function ${name}();`;
    /** A ledger of the first hundred events. */
    const begun = async () => {
      const databaseUrl = await freshDatabase();
      const ledger = openLedger({ databaseUrl });
      await ledger.migrate();
      await divide(databaseUrl, 512);
      await query(databaseUrl, `select add_segments(${events.length})`);
      await ledger.settlement.settle(events.slice(0, 100));
      return { databaseUrl, ledger };
    };
    const whole = await begun();
    await query(
      whole.databaseUrl,
      `create table noted (operation text, relation text);
       create function note() returns trigger language plpgsql as
       $$ begin insert into public.noted values (tg_op, concat(nullif(tg_table_schema, 'public') || '.', tg_table_name)); return null; end $$;
       ${WRITTEN_TABLES.map((table) => onEach('insert or update or delete', table, 'note')).join(' ')}`,
    );
    await whole.ledger.settlement.settle(events);
    const noted = await query<{ operation: string; relation: string }>(
      whole.databaseUrl,
      'select distinct operation, relation from noted',
    );
    const names = noted.map(({ operation, relation }) => `${operation} ${relation}`);
    expect(names).to.include.members([
      'INSERT live_orders',
      'DELETE live_orders',
      'INSERT segments.ended_orders_0',
      'INSERT segments.ended_orders_1',
      'INSERT late_orders',
    ]);

    const killed = await begun();
    const before = await contents(killed.databaseUrl);
    await query(
      killed.databaseUrl,
      `create function kill() returns trigger language plpgsql as
       $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`,
    );
    for (const { operation, relation } of noted) {
      await query(killed.databaseUrl, onEach(operation, relation, 'kill'));
      const error = await killed.ledger.settlement.settle(events).catch((thrown: unknown) => thrown);
      expect(error, `${operation} ${relation}`).to.be.instanceOf(Error);
      await query(killed.databaseUrl, `drop trigger kill on ${relation}`);
      expect(await contents(killed.databaseUrl), `${operation} ${relation}`).to.deep.equal(before);
    }
    await killed.ledger.settlement.settle(events);
    expect(await contents(killed.databaseUrl)).to.deep.equal(await contents(whole.databaseUrl));
    await Promise.all([whole, killed].map(({ ledger }) => ledger.close()));
  });

  it('migrate one database when eight start at the same time', async () => {
    const databaseUrl = await freshDatabase();
    const exits = Array.from({ length: 8 }, async () => once(await startChild(databaseUrl, 1, 0, 1), 'exit'));
    expect((await Promise.all(exits)).map(([code]) => code)).to.deep.equal(Array(8).fill(0));
    const applied = await query<{ name: string }>(
      databaseUrl,
      'select name from knex_migrations order by id',
    );
    const all = readdirSync(new URL('../../../migrations/', import.meta.url))
      .map((file) => file.replace(/\.\w+$/, ''))
      .sort();
    expect(applied.map(({ name }) => name)).to.deep.equal(all);
  });
});
