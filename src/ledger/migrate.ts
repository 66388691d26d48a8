/** Brings the database to the schema of this release. */

import { readdir } from 'node:fs/promises';
import knex, { type Knex } from 'knex';

const FOLDER = new URL('../../migrations/', import.meta.url);

/** Any number, the same in every release: who holds it, migrates. */
const ADVISORY_LOCK = 7_733_298_665;

/**
 * Files by name, loaded by `import`. knex's own loader looks for the nearest package.json from the
 * working directory to tell how to load a file, so it works from one directory only.
 */
const migrationSource: Knex.MigrationSource<string> = {
  getMigrations: async () => (await readdir(FOLDER)).filter((file) => file.endsWith('.ts')).sort(),
  getMigrationName: (file) => file.replace(/\.ts$/, ''),
  getMigration: async (file) => ({ ...(await import(new URL(file, FOLDER).href)), down: refuseDown }),
};

/** knex asks every migration for a way back; a permanent memory has none. */
const refuseDown = (): never => {
  throw new Error('migrations of the ledger only go forward');
};

/**
 * Applies what is missing; any number of processes may do so at once, and one may be killed at any time.
 *
 * Everything happens in one transaction: the advisory lock makes the others wait, and a process that
 * dies leaves neither half a schema nor a lock. (knex's own lock is a committed row, which the death of
 * its owner leaves behind for good; inside this transaction that row rolls back with the rest.)
 */
export const migrate = async (databaseUrl: string): Promise<void> => {
  const database = knex({
    client: 'pg',
    connection: { connectionString: databaseUrl, application_name: 'redbook migrate' },
    pool: { min: 0, max: 1 },
  });
  try {
    await database.transaction(async (transaction) => {
      await transaction.raw('select pg_advisory_xact_lock(?)', [ADVISORY_LOCK]);
      await transaction.migrate.latest({ migrationSource });
    });
  } finally {
    await database.destroy();
  }
};
