/** Checks of the ledger against itself: each recomputes rows from other rows, all in one snapshot. */

import type pg from 'pg';
import { readCursor } from '../cursor.ts';
import { inSnapshot } from '../pool.ts';
import { BOOKKEEPING_CHECKS } from './bookkeeping.ts';
import { ORDER_CHECKS } from './orders.ts';
import { SCHEMA_CHECKS } from './schema.ts';
import { STATE_CHECKS } from './state.ts';
import { TRADE_CHECKS } from './trades.ts';

/** A query that gives a row (subject, expected, found) for every violation. */
export interface LedgerQuery {
  readonly name: string;
  /** The rule, in a sentence. */
  readonly meaning: string;
  readonly sql: string;
}

export interface Violation {
  /** The row it is about: an order, a trade, an entry, an account. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

export interface Check {
  readonly name: string;
  readonly meaning: string;
  /** Number of violations. */
  readonly count: number;
  /** The first hundred. */
  readonly violations: readonly Violation[];
}

const MOST_VIOLATIONS = 100;

const QUERIES: readonly LedgerQuery[] = [
  ...BOOKKEEPING_CHECKS,
  ...TRADE_CHECKS,
  ...ORDER_CHECKS,
  ...STATE_CHECKS,
  ...SCHEMA_CHECKS,
];

/** @returns the event up to which the ledger was checked, and one result for each query */
export const checkLedger = (pool: pg.Pool): Promise<{ sequence: number; checks: Check[] }> =>
  inSnapshot(pool, async (ask) => {
    const { sequence } = await readCursor(ask);
    // Compiling a query takes longer than it saves where the planner has no statistics yet.
    await ask(`select set_config('jit', 'off', true)`);
    const checks: Check[] = [];
    for (const { name, meaning, sql } of QUERIES) {
      const rows = await ask<Violation & { count: bigint }>(
        `select subject, expected, found, count(*) over () as count from (${sql}) as violation
         order by subject limit ${MOST_VIOLATIONS}`,
      );
      checks.push({
        name,
        meaning,
        count: Number(rows[0]?.count ?? 0n),
        violations: rows.map(({ subject, expected, found }) => ({ subject, expected, found })),
      });
    }
    return { sequence, checks };
  });
