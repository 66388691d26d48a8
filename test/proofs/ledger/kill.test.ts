/** Proves that processes killed while they settle or migrate leave no half-written state. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { openLedger } from '../../../src/ledger/index.ts';
import { contents, query } from '../../ledger/tables.ts';
import { program } from '../../support/program.ts';
import { random, runSeed } from '../../support/seed.ts';
import { seededEvents } from '../../support/seeded-events.ts';
import { freshDatabase } from '../../support/servers.ts';

const CHILD = { entry: 'test/ledger/settle-child.ts' };
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
  this.timeout(120_000);
  const children = new Set<ChildProcess>();

  const startChild = async (...parameters: (string | number)[]): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [...(await program(CHILD)), ...parameters.map(String)], {
      cwd: ELSEWHERE,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  };

  /** Resolves to true when the child has written the line, and to false if it ended without it. */
  const line = async (child: ChildProcess, text: string): Promise<boolean> => {
    let written = '';
    for await (const chunk of child.stdout!) {
      written += chunk;
      if (written.includes(`${text}\n`)) return true;
    }
    return false;
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
      if (kills < 8) {
        // Some die while they migrate, the others in the middle of settling.
        const begun =
          kills === 0 ? false : await Promise.race([line(child, 'ready'), exit.then(() => false)]);
        await sleep(begun ? dice.below(250) : 300 + dice.below(300));
        child.kill('SIGKILL');
        kills += 1;
      }
      const [code] = await exit;
      finished = code === 0;
      places.add(await settledUpTo(stormy));
    }
    expect(places.size, 'different places it was killed at').to.be.at.least(4);
    expect(await contents(stormy)).to.deep.equal(await contents(calm));
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
