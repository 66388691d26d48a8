/** Opens connections to Postgres that survive its restarts, and runs the statements of the ledger on them. */

import { createHash } from 'node:crypto';
import pg from 'pg';
import { Refusal } from '../domain/errors.ts';
import { withTimeLimit } from '../domain/time-limit.ts';

const INT8 = 20;

/** Every bigint column arrives as a `bigint`: the driver's default is a string. */
const integersAsBigints: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format)) as never,
};

/**
 * Settings for short reads, which walk indexes from their ends. Without them, Postgres reads and sorts all rows where
 * its statistics say that there are few. A plan is made once a connection, for all values, because planning a list
 * costs as much as reading it. Compiling a plan costs a hundred times as much.
 */
const BY_INDEX_ALONE = [
  'set enable_seqscan = off',
  'set enable_bitmapscan = off',
  'set enable_sort = off',
  'set plan_cache_mode = force_generic_plan',
  'set jit = off',
].join('; ');

interface PoolOptions {
  databaseUrl: string;
  /** Purpose of its connections; Postgres lists them as `redbook <work>`. */
  work: string;
  size: number;
  /** Longest wait for a connection in milliseconds. */
  connectMs: number;
  /** Longest run of one statement, 0 for no limit. A missing reply is given up `UNANSWERED_MS` later. */
  patienceMs: number;
  /** Longest pause between two statements of a transaction; `patienceMs` unless given. */
  pauseMs?: number;
  /** For short reads alone: plans are made once, and use index scans. */
  byIndexAlone?: boolean;
  /** Makes the pool. Tests pass a pool whose statements wait for their turn. */
  makePool?: MakePool | undefined;
}

export type MakePool = (config: pg.PoolConfig) => pg.Pool;

/** Milliseconds to wait for a reply after the statement should have ended. */
const UNANSWERED_MS = 300;

export function openPool({
  databaseUrl,
  work,
  size,
  connectMs,
  patienceMs,
  pauseMs = patienceMs,
  byIndexAlone = false,
  makePool = (config) => new pg.Pool(config),
}: PoolOptions): pg.Pool {
  const pool = makePool({
    connectionString: databaseUrl,
    application_name: `redbook ${work}`,
    max: size,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    types: integersAsBigints,
    ...(byIndexAlone && { onConnect: async (client) => void (await client.query(BY_INDEX_ALONE)) }),
    ...(patienceMs > 0 && {
      statement_timeout: patienceMs,
      query_timeout: patienceMs + UNANSWERED_MS,
      // A process that stops in mid-transaction must not hold its locks forever.
      idle_in_transaction_session_timeout: pauseMs,
    }),
  });
  // The loss of an idle connection, or of a borrowed one between two queries, emits an event that ends the process if
  // nobody listens. The next query fails and tells its caller.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

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
 * Limits a reader's wait to the time limit of one statement, even when it runs several statements, waits for a free
 * connection or asks a server that hangs. The statement itself continues until its own limit.
 */
async function inTime<Result>(pool: pg.Pool, reading: Promise<Result>): Promise<Result> {
  const limitMs = pool.options.query_timeout;
  if (limitMs === undefined) return reading;
  return withTimeLimit(limitMs, reading, () => {
    throw readerError(new Error('Postgres does not answer in time'));
  });
}

/** Runs one statement and returns its rows. */
export type Ask = <Row extends pg.QueryResultRow>(
  sql: string,
  parameters?: readonly unknown[],
) => Promise<Row[]>;

const SNAPSHOT = 'begin isolation level repeatable read read only';

/**
 * Runs `read` in one read-only snapshot: everything it asks is as of the same moment.
 * Throws `Refusal` SERVICE_UNAVAILABLE when Postgres is unavailable.
 */
export const inSnapshot = <Result>(pool: pg.Pool, read: (ask: Ask) => Promise<Result>): Promise<Result> =>
  inTime(pool, snapshot(pool, SNAPSHOT, read));

/** @throws Refusal SERVICE_UNAVAILABLE when no connection can be made, for any reason */
export const takeClient = (pool: pg.Pool): Promise<pg.PoolClient> =>
  pool.connect().catch((error) => {
    throw new Refusal('SERVICE_UNAVAILABLE', 'the ledger is temporarily unavailable', { cause: error });
  });

/** Returns a function that asks on one connection. Errors as in `inSnapshot`. */
export const asking =
  (client: pg.PoolClient): Ask =>
  async (sql, parameters) => {
    try {
      return (await client.query(sql, parameters as unknown[])).rows;
    } catch (error) {
      throw readerError(error);
    }
  };

async function snapshot<Result>(
  pool: pg.Pool,
  begin: string,
  read: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  const client = await takeClient(pool);
  const ask = asking(client);
  let sound = false;
  try {
    await ask(begin);
    const result = await read(ask);
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
): Promise<Row[]> => inTime(pool, statement<Row>(pool, sql, parameters));

async function statement<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  sql: string | PreparedQuery,
  parameters: readonly unknown[],
): Promise<Row[]> {
  const query = typeof sql === 'string' ? { text: sql } : sql;
  try {
    return (await pool.query<Row>({ ...query, values: parameters as unknown[] })).rows;
  } catch (error) {
    throw readerError(error);
  }
}

/** A statement that each connection plans on first use. */
export interface PreparedQuery {
  readonly name: string;
  readonly text: string;
}

export const prepared = (text: string): PreparedQuery => ({
  name: createHash('sha256').update(text).digest('base64url'),
  text,
});

type Texts = readonly [first: string | null, second: string | null];

/** Asks for one row of at most two texts. @returns null in place of each where there is no row. Errors as in `inSnapshot`. */
export const askForTexts = (pool: pg.Pool, statement: PreparedQuery, parameters: unknown[]): Promise<Texts> =>
  inTime(pool, texts(pool, statement, parameters));

const NO_TEXTS: Texts = [null, null];

async function texts(pool: pg.Pool, statement: PreparedQuery, values: unknown[]): Promise<Texts> {
  try {
    const { rows } = await pool.query({ ...statement, values, rowMode: 'array' });
    return (rows[0] as unknown as Texts | undefined) ?? NO_TEXTS;
  } catch (error) {
    throw readerError(error);
  }
}

const STREAM_ROWS = 2_000;

/**
 * Tells Postgres that cursors are read to their end. By default it prefers plans that begin early, such as a walk over
 * the key of all orders to find the few that are live.
 */
export const LISTS_ARE_READ_WHOLE = 'set local cursor_tuple_fraction = 1';

/**
 * Yields the rows of a query of any length, in one snapshot, with at most `STREAM_ROWS` rows in memory. The packages
 * pg-cursor and pg-query-stream need the same transaction around them. For a million rows they took the same processor
 * time, and 93 to 96 MB of memory against 120.
 */
export async function* streamRows<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  sql: string,
  parameters: readonly unknown[] = [],
): AsyncGenerator<Row> {
  const client = await takeClient(pool);
  const ask = asking(client);
  let sound = false;
  try {
    await ask(`${SNAPSHOT}; ${LISTS_ARE_READ_WHOLE}`);
    yield* cursorRows<Row>(ask, sql, parameters);
    await ask('commit');
    sound = true;
  } finally {
    client.release(!sound);
  }
}

/** Yields the rows of a query within a transaction. */
export async function* cursorRows<Row extends pg.QueryResultRow>(
  ask: Ask,
  sql: string,
  parameters: readonly unknown[] = [],
): AsyncGenerator<Row> {
  await ask(`declare rows no scroll cursor for ${sql}`, parameters);
  for (;;) {
    const rows = await ask<Row>(`fetch ${STREAM_ROWS} from rows`);
    if (rows.length === 0) break;
    yield* rows;
  }
  await ask('close rows');
}
