/** The pools of connections that one process keeps to Postgres, one for each kind of work. */

import type pg from 'pg';
import { type MakePool, openPool } from './pool.ts';

/**
 * Longest run of one statement in milliseconds, 0 for no limit. A reader waits three seconds at most, settlement may
 * take a minute, and a reconcile takes as long as the ledger is large.
 */
const PATIENCE_MS = { reading: 2_100, settling: 60_000, auditing: 0 };

/**
 * Most connections of each kind of work. Every kind has a pool of its own, so that none can keep another from a
 * connection: `lists` and `orders` are for wallets that read, `placing` looks up client order ids, `public` is market
 * data and whatever else is short.
 */
const POOL_SIZES = { lists: 3, orders: 2, placing: 2, public: 3, settling: 1, auditing: 4 };

type Work = keyof typeof POOL_SIZES;

export type Pools = Readonly<Record<Work, pg.Pool>>;

/** Reads of wallet lists that one process makes at a time: more would wait for a connection. */
export const LISTS_AT_ONCE = POOL_SIZES.lists;
/** Reads of single orders that one process makes at a time. */
export const ORDERS_AT_ONCE = POOL_SIZES.orders;

export interface LedgerOptions {
  readonly databaseUrl: string;
  /** Most connections of each kind of reading; for tests. */
  readonly poolSize?: number;
  /** Makes the pools; for tests. */
  readonly makePool?: MakePool;
}

/** Connects when a pool is first asked. */
export function openPools({ databaseUrl, poolSize, makePool }: LedgerOptions): Pools {
  const open = (work: Work, patienceMs: number): pg.Pool =>
    openPool({ databaseUrl, work, size: POOL_SIZES[work], patienceMs, makePool });
  const openForReads = (work: Work): pg.Pool =>
    openPool({
      databaseUrl,
      work,
      size: poolSize ?? POOL_SIZES[work],
      patienceMs: PATIENCE_MS.reading,
      byIndexAlone: true,
      makePool,
    });
  return {
    lists: openForReads('lists'),
    orders: openForReads('orders'),
    placing: openForReads('placing'),
    public: openForReads('public'),
    settling: open('settling', PATIENCE_MS.settling),
    auditing: open('auditing', PATIENCE_MS.auditing),
  };
}
