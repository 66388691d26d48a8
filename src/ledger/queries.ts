/** Runs the statements of the ledger's readers, and limits how long a reader waits. */

import { createHash } from 'node:crypto';
import pg from 'pg';
import { Refusal } from '../domain/errors.ts';
import { withTimeLimit } from '../domain/time-limit.ts';

/**
 * Classes and codes of SQLSTATE that are not the statement's fault: connection (08), a limit of the server on
 * transactions (25P03, 25P04), sign-in (28), no such database (3D000), serialization (40), resources (53), a limit of the
 * server on waiting for a lock (55P03), cancelled or shutting down (57), system (58).
 */
const AWAY = /^(08|25P03|25P04|28|3D000|40|53|55P03|57|58)/;

/**
 * Returns the error that a reader throws: `SERVICE_UNAVAILABLE` when Postgres is unavailable, otherwise the given
 * error. Takes only errors of the driver, each of which is an answer of the server or a lost connection.
 */
const readerError = (error: unknown): unknown =>
  error instanceof pg.DatabaseError && !AWAY.test(error.code ?? '')
    ? error
    : new Refusal('SERVICE_UNAVAILABLE', 'the ledger is temporarily unavailable', { cause: error });

/**
 * True for an error of a statement, or of the code that decodes its rows: a value, or the type of a column, is not what the
 * release makes it. Never true while Postgres is unavailable.
 */
export const isDamage = (error: unknown): error is Error =>
  error instanceof pg.DatabaseError ||
  error instanceof TypeError ||
  error instanceof SyntaxError ||
  error instanceof RangeError;

/**
 * Limits a reader's wait to the time limit of one statement, even when it runs several statements, waits for a free
 * connection or asks a server that hangs. The statement itself continues until its own limit.
 */
export async function inTime<Result>(pool: pg.Pool, reading: Promise<Result>): Promise<Result> {
  const limitMs = pool.options.query_timeout;
  if (limitMs === undefined) return reading;
  return withTimeLimit(limitMs, reading, () => {
    throw readerError(new Error('Postgres does not answer in time'));
  });
}

/** True for the error that a table is not there. */
export const isUndefinedTable = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '42P01';

/** Runs one statement and returns its rows. */
export type Ask = <Row extends pg.QueryResultRow>(
  sql: string,
  parameters?: readonly unknown[],
) => Promise<Row[]>;

/** Runs one statement, which its connection may keep prepared. */
export type AskPrepared = <Row extends pg.QueryResultRow>(
  sql: string | PreparedQuery,
  parameters?: readonly unknown[],
) => Promise<Row[]>;

export const SNAPSHOT = 'begin isolation level repeatable read read only';

/** Sets that the rows of a transaction are found by index alone: Postgres must not read all trades because it has no statistics yet. */
export const BY_INDEX = `select set_config(name, 'off', true)
  from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'jit']) as setting (name)`;

/**
 * Runs `read` in one read-only snapshot: everything it asks is as of the same moment.
 * Throws `Refusal` SERVICE_UNAVAILABLE when Postgres is unavailable.
 */
export const inSnapshot = <Result>(
  pool: pg.Pool,
  read: (ask: AskPrepared) => Promise<Result>,
): Promise<Result> => inTime(pool, inTransaction(pool, SNAPSHOT, read));

/** @throws Refusal SERVICE_UNAVAILABLE when no connection can be made, for any reason */
export const takeClient = (pool: pg.Pool): Promise<pg.PoolClient> =>
  pool.connect().catch((error) => {
    throw new Refusal('SERVICE_UNAVAILABLE', 'the ledger is temporarily unavailable', { cause: error });
  });

/** Returns a function that asks on one connection. Errors as in `inSnapshot`. */
export const asking =
  (client: pg.PoolClient | pg.Pool): AskPrepared =>
  async (sql, parameters) => {
    const query = typeof sql === 'string' ? sql : { ...sql };
    try {
      return (await client.query(query as string, parameters as unknown[])).rows;
    } catch (error) {
      throw readerError(error);
    }
  };

/** Runs work in a transaction that `begin` begins, and rolls it back when the work fails. Errors as in `inSnapshot`. */
export async function inTransaction<Result>(
  pool: pg.Pool,
  begin: string,
  work: (ask: AskPrepared) => Promise<Result>,
): Promise<Result> {
  const client = await takeClient(pool);
  const ask = asking(client);
  let sound = false;
  try {
    await ask(begin);
    const result = await work(ask);
    await ask('commit');
    sound = true;
    return result;
  } finally {
    // Closing the connection is the rollback that always works.
    client.release(!sound);
  }
}

/** Runs one statement, which is a snapshot by itself. Errors as in `inSnapshot`. */
export const askOnce = <Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  sql: string | PreparedQuery,
  parameters: readonly unknown[] = [],
): Promise<Row[]> => inTime(pool, asking(pool)<Row>(sql, parameters));

/** A statement that each connection plans on first use. */
export interface PreparedQuery {
  readonly name: string;
  readonly text: string;
}

export const prepared = (text: string): PreparedQuery => ({
  name: createHash('sha256').update(text).digest('base64url'),
  text,
});

type TwoTexts = readonly [first: string | null, second: string | null];

/** Asks for one row of at most two texts. @returns null in place of each where there is no row. Errors as in `inSnapshot`. */
export const askForTexts = (
  pool: pg.Pool,
  statement: PreparedQuery,
  parameters: unknown[],
): Promise<TwoTexts> => inTime(pool, texts(pool, statement, parameters));

const NO_TEXTS: TwoTexts = [null, null];

async function texts(pool: pg.Pool, statement: PreparedQuery, values: unknown[]): Promise<TwoTexts> {
  try {
    const { rows } = await pool.query({ ...statement, values, rowMode: 'array' });
    return (rows[0] as unknown as TwoTexts | undefined) ?? NO_TEXTS;
  } catch (error) {
    throw readerError(error);
  }
}
