/** Connection pools of one process to Postgres, one for each kind of work. They survive restarts of Postgres. */

import pg from 'pg';
import { sessionSettings } from './session-settings.ts';

const INT8 = 20;

/** Every bigint column arrives as a `bigint`: the driver's default is a string. */
const integersAsBigints: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format)) as never,
};

/**
 * Settings for short reads, which walk indexes from their ends. Without them, Postgres reads and sorts all rows where
 * its statistics say that there are few. A plan is made once a connection, for all values, because planning a list
 * costs as much as reading it.
 */
const BY_INDEX_ALONE = [
  'set enable_seqscan = off',
  'set enable_bitmapscan = off',
  'set enable_sort = off',
  'set enable_incremental_sort = off',
  'set plan_cache_mode = force_generic_plan',
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
  /**
   * Longest pause between two statements of a transaction; `patienceMs` unless given. A process that stops in
   * mid-transaction must not hold its locks forever.
   */
  pauseMs?: number;
  /** For short reads alone: plans are made once, and use index scans. */
  byIndexAlone?: boolean;
  /** Makes the pool. Tests pass a pool whose statements wait for their turn. */
  makePool?: MakePool | undefined;
}

export type MakePool = (config: pg.PoolConfig) => pg.Pool;

/**
 * Longest life of a connection that keeps its statements prepared, in seconds. Each segment has statements of its own, so
 * a connection without an end would keep the plans of every segment that was ever the newest.
 */
const LIFETIME_SECONDS = 3_600;

/** Milliseconds to wait for a reply after the statement should have ended. */
const UNANSWERED_MS = 300;

function openPool({
  databaseUrl,
  work,
  size,
  connectMs,
  patienceMs,
  pauseMs = patienceMs,
  byIndexAlone = false,
  makePool,
}: PoolOptions): pg.Pool {
  // In a test's pool statements wait for their turn, however long that takes.
  const limits = makePool === undefined ? { patienceMs, pauseMs } : { patienceMs: 0, pauseMs: 0 };
  // A pooler refuses parameters of the start that it does not know, so these are set after it.
  const settings = `${sessionSettings(limits)}; ${byIndexAlone ? BY_INDEX_ALONE : ''}`;
  const make: MakePool = makePool ?? ((config) => new pg.Pool(config));
  const pool = make({
    connectionString: databaseUrl,
    application_name: `redbook ${work}`,
    max: size,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    // A statement of an audit takes minutes without a byte, and balancers forget such connections.
    keepAliveInitialDelayMillis: 10_000,
    types: integersAsBigints,
    onConnect: async (client) => void (await client.query(settings)),
    ...(patienceMs > 0 && { query_timeout: patienceMs + UNANSWERED_MS }),
    ...(byIndexAlone && { maxLifetimeSeconds: LIFETIME_SECONDS }),
  });
  // The loss of an idle connection, or of a borrowed one between two queries, emits an event that ends the process if
  // nobody listens. The next query fails and tells its caller.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/**
 * Longest run of one statement in milliseconds, 0 for no limit. A reader waits three seconds at most, settlement may
 * take a minute, and the time of a reconcile grows with the ledger.
 */
const PATIENCE_MS = { reading: 2_100, settling: 60_000, auditing: 0 };

/**
 * Longest pause in a settling transaction: a process that hangs there keeps the cursor locked, and the others out. A
 * batch is folded well within it.
 */
const SETTLING_PAUSE_MS = 5_000;

/**
 * Longest wait for a connection in milliseconds. Whoever audits waits longer for a busy server than a client does: a
 * reconcile of an hour must not end because Postgres was slow for three seconds.
 */
const CONNECT_MS = { serving: 2_100, auditing: 30_000 };

/**
 * Maximum connections of each kind of work. Every kind has a pool of its own, so that none can block another: `lists`
 * and `orders` serve wallets that read, `placing` looks up client order ids, `public` serves market data and other
 * short reads. `deciding` keeps a movement locked while the engine notes who decided it, or a bound while it notes what
 * there was room for.
 */
const POOL_SIZES = { lists: 3, orders: 2, placing: 2, public: 3, deciding: 2, settling: 1, auditing: 4 };

type Work = keyof typeof POOL_SIZES;

export type Pools = Readonly<Record<Work, pg.Pool>>;

/** Maximum concurrent reads of wallet lists in one process; more would wait for a connection. */
export const LISTS_AT_ONCE = POOL_SIZES.lists;
/** Maximum concurrent reads of single orders in one process. */
export const ORDERS_AT_ONCE = POOL_SIZES.orders;

export interface LedgerOptions {
  readonly databaseUrl: string;
  /** Maximum connections of each kind of reading; for tests. */
  readonly poolSize?: number;
  /** Makes the pools; for tests. */
  readonly makePool?: MakePool;
}

/** Opens the pools, which connect on first use. */
export function openPools({ databaseUrl, poolSize, makePool }: LedgerOptions): Pools {
  const open = (work: Work, connectMs: number, patienceMs: number, pauseMs = patienceMs): pg.Pool =>
    openPool({ databaseUrl, work, size: POOL_SIZES[work], connectMs, patienceMs, pauseMs, makePool });
  const openForReads = (work: Work): pg.Pool =>
    openPool({
      databaseUrl,
      work,
      size: poolSize ?? POOL_SIZES[work],
      connectMs: CONNECT_MS.serving,
      patienceMs: PATIENCE_MS.reading,
      byIndexAlone: true,
      makePool,
    });
  return {
    lists: openForReads('lists'),
    orders: openForReads('orders'),
    placing: openForReads('placing'),
    public: openForReads('public'),
    deciding: open('deciding', CONNECT_MS.serving, PATIENCE_MS.reading, SETTLING_PAUSE_MS),
    settling: open('settling', CONNECT_MS.serving, PATIENCE_MS.settling, SETTLING_PAUSE_MS),
    auditing: open('auditing', CONNECT_MS.auditing, PATIENCE_MS.auditing),
  };
}
