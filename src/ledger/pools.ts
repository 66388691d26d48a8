/** Connection pools of one process to Postgres, one for each kind of work. */

import type pg from 'pg';
import { type MakePool, openPool } from './pool.ts';

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
 * Most connections of each kind of work. Every kind has a pool of its own, so that none can block another: `lists` and
 * `orders` serve wallets that read, `placing` looks up client order ids, `public` serves market data and other short
 * reads.
 */
const POOL_SIZES = { lists: 3, orders: 2, placing: 2, public: 3, settling: 1, auditing: 4 };

type Work = keyof typeof POOL_SIZES;

export type Pools = Readonly<Record<Work, pg.Pool>>;

/** Most concurrent reads of wallet lists in one process; more would wait for a connection. */
export const LISTS_AT_ONCE = POOL_SIZES.lists;
/** Most concurrent reads of single orders in one process. */
export const ORDERS_AT_ONCE = POOL_SIZES.orders;

export interface LedgerOptions {
  readonly databaseUrl: string;
  /** Most connections of each kind of reading; for tests. */
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
    settling: open('settling', CONNECT_MS.serving, PATIENCE_MS.settling, SETTLING_PAUSE_MS),
    auditing: open('auditing', CONNECT_MS.auditing, PATIENCE_MS.auditing),
  };
}
