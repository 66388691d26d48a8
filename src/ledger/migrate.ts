/**
 * Migrates the database to the schema of this release, or accepts the schema of a later release.
 *
 * A release can be rolled back without a restore, because migrations only add, and this release ignores what a later
 * one added. A migration that removes something or changes a meaning says so in its name (`002_breaking_…`); a release
 * that does not know it refuses the database.
 */

import { readdir } from 'node:fs/promises';
import knex, { type Knex } from 'knex';
import type pg from 'pg';
import { DatabaseRefused, NO_RIGHT } from './database-refused.ts';
import { grantRights } from './grants.ts';
import type { Ask } from './queries.ts';
import { sessionSettings } from './session-settings.ts';

const FOLDER = new URL('../../migrations/', import.meta.url);
/** A migration is TypeScript in a checkout, and JavaScript where the service was compiled. Its name is the same. */
const MIGRATION = /\.(ts|m?js)$/;
const BREAKING = /^\d+_breaking_/;
/** First migrations of builds before release 0.1.0. */
const UNRELEASED = ['001_engine_state', '001_ledger'];

/** Key of the lock that the migrating process holds: any number, the same in every release. */
const ADVISORY_LOCK = 7_733_298_665;

/** Limits the wait for a server that hangs: it accepts connections and never answers. */
const CONNECTED_WITHIN_MS = 5_000;

/**
 * Loads migrations by name with `import`. knex's own loader searches for the nearest package.json from the working
 * directory to decide how to load a file, so it works from one directory only.
 */
const migrationSource = (folder: URL): Knex.MigrationSource<string> => ({
  getMigrations: async () => (await readdir(folder)).filter((file) => MIGRATION.test(file)).sort(),
  getMigrationName: nameOf,
  getMigration: async (file) => ({ ...(await import(new URL(file, folder).href)), down: refuseDown }),
});

const nameOf = (file: string): string => file.replace(MIGRATION, '');

/** Replaces the down migration that knex requires. The ledger is permanent and has none. */
function refuseDown(): never {
  throw new Error('migrations of the ledger only go forward');
}

/**
 * Work on a large table that a migration exports as `beside`. It runs beside trading after the migrations are committed,
 * in steps that may each be the last one before the process is killed.
 */
interface BesideWork {
  readonly what: string;
  /** SQL of one row with the flag `left`: true while a step is left. */
  readonly isLeft: string;
  /** SQL of one step, in a transaction of its own. */
  readonly step: string;
}

export interface MigrateOptions {
  /** Called with a line before each work beside trading, and with the rows so far every ten seconds. */
  readonly onProgress?: (line: string) => void;
  /** Folder of the migrations; tests use it to imitate a later release. */
  readonly folder?: URL;
  /** True to leave a database that lacks a breaking migration as it is. */
  readonly additiveOnly?: boolean;
}

/**
 * Applies missing migrations. Any number of processes may do so at once, and one may be killed at any time. A user who
 * may not migrate passes where nothing is missing.
 *
 * Everything happens in one transaction: the advisory lock makes the others wait, and a process that dies leaves
 * neither half a schema nor a lock. (knex's own lock is a committed row that outlives its owner; inside this
 * transaction that row rolls back with the rest.)
 * @returns the breaking migration that `additiveOnly` left
 * @throws DatabaseRefused
 */
export async function migrate(
  databaseUrl: string,
  { folder = FOLDER, additiveOnly = false, onProgress = () => {} }: MigrateOptions = {},
): Promise<string | undefined> {
  const database = knex({
    client: 'pg',
    connection: { connectionString: databaseUrl, application_name: 'redbook migrate' },
    pool: {
      min: 0,
      max: 1,
      afterCreate: (client: pg.Client, done: (error?: Error) => void) =>
        void client
          .query(sessionSettings({ patienceMs: 0, pauseMs: 0, isMigrating: true }))
          .then(() => done(), done),
    },
    acquireConnectionTimeout: CONNECTED_WITHIN_MS,
    // Each warning of the library is thrown as well, and the caller reports it.
    log: { warn: () => undefined, error: () => undefined },
  });
  // knex refuses every migration that it does not know; the check below decides which of them are refused.
  const settings = { migrationSource: migrationSource(folder), disableMigrationsListValidation: true };
  try {
    const left = await database.transaction(async (transaction) => {
      await transaction.raw('select pg_advisory_xact_lock(?)', [ADVISORY_LOCK]);
      const [applied, missing]: [{ name: string }[], string[]] = await transaction.migrate.list(settings);
      const known = (await settings.migrationSource.getMigrations([])).map(nameOf);
      const unknown = applied.map(({ name }) => name).filter((name) => !known.includes(name));
      checkUnknown(unknown, missing.map(nameOf));
      const breaking = missing.map(nameOf).find((name) => BREAKING.test(name));
      if (additiveOnly && applied.length > 0 && breaking !== undefined) return breaking;
      if (missing.length > 0) await transaction.migrate.latest(settings);
      await grantRights(askingIn(transaction));
      return undefined;
    });
    await workBeside(database, folder, onProgress);
    return left;
  } catch (error) {
    throw (error as { code?: unknown }).code === NO_RIGHT ? notTheOwner(error as Error) : error;
  } finally {
    await database.destroy();
  }
}

/** Key of the lock of the process that works beside trading. */
const BESIDE_LOCK = ADVISORY_LOCK + 1;
/** Longest wait of a step for a lock, because everybody else waits behind it. */
const STEP_WAITS = '2s';
const LOCK_NOT_AVAILABLE = '55P03';
const PROGRESS_EVERY_MS = 10_000;

/** Runs what applied migrations have left to do beside trading, unless another process does it or the owner has to. */
async function workBeside(database: Knex, folder: URL, onProgress: (line: string) => void): Promise<void> {
  const applied = await database.raw('select name from public.knex_migrations');
  const names = new Set(applied.rows.map(({ name }: { name: string }) => name));
  for (const file of (await readdir(folder)).filter((one) => MIGRATION.test(one)).sort()) {
    const { beside = [] } = (await import(new URL(file, folder).href)) as { beside?: readonly BesideWork[] };
    for (const work of names.has(nameOf(file)) ? beside : []) await inSteps(database, work, onProgress);
  }
}

async function inSteps(
  database: Knex,
  { what, isLeft, step }: BesideWork,
  onProgress: (line: string) => void,
): Promise<void> {
  const isAnyLeft = async (): Promise<boolean> => (await database.raw(isLeft)).rows[0]?.left === true;
  if (!(await isAnyLeft())) return;
  const locked = await database.raw('select pg_try_advisory_lock(?) as mine', [BESIDE_LOCK]);
  if (locked.rows[0].mine !== true) return;
  onProgress(`${what}: begins, beside trading`);
  await database.raw(`set lock_timeout = '${STEP_WAITS}'`);
  let rows = 0;
  let toldMs = performance.now();
  while (await isAnyLeft()) {
    const done = await database.raw(step).catch((error: { code?: unknown }) => {
      if (error.code === NO_RIGHT) return undefined;
      if (error.code !== LOCK_NOT_AVAILABLE) throw error;
      return { rowCount: 0 };
    });
    if (done === undefined) return;
    rows += done.rowCount ?? 0;
    if (performance.now() - toldMs < PROGRESS_EVERY_MS) continue;
    onProgress(`${what}: ${rows} rows so far`);
    toldMs = performance.now();
  }
  onProgress(`${what}: done`);
  await database.raw('select pg_advisory_unlock(?)', [BESIDE_LOCK]);
}

/** Asks in the transaction of a migration. Rows have the types of the driver's default. */
const askingIn =
  (transaction: Knex.Transaction): Ask =>
  async (sql, parameters = []) =>
    (
      await transaction.raw(
        sql.replace(/\$(\d+)/g, ':p$1 '),
        Object.fromEntries(parameters.map((value, index) => [`p${index + 1}`, value as Knex.RawBinding])),
      )
    ).rows;

const notTheOwner = ({ message }: Error): DatabaseRefused =>
  new DatabaseRefused(
    `its tables are not of this release, and its user may not migrate them (${message.split(' - ').at(-1)}): run \`redbook migrate\` as their owner`,
  );

/**
 * @param unknown migrations of the database that this release does not have
 * @param missing migrations of this release that the database does not have
 */
function checkUnknown(unknown: readonly string[], missing: readonly string[]): void {
  if (unknown.some((name) => UNRELEASED.includes(name))) {
    throw new DatabaseRefused(
      'the database was made before release 0.1.0, and no release reads it: nothing was changed; start anew with an empty Redis and an empty database (`npm start`: another DATA_DIR)',
    );
  }
  const breaking = unknown.find((name) => BREAKING.test(name));
  if (breaking !== undefined) {
    throw new DatabaseRefused(
      `the database has migration ${breaking}, which no release without it can work on`,
    );
  }
  // The database comes from a release on another branch. Nobody has tested both sets of migrations together.
  if (unknown.length > 0 && missing.length > 0) {
    throw new DatabaseRefused(`the database has ${unknown.join(', ')} and lacks ${missing.join(', ')}`);
  }
}
