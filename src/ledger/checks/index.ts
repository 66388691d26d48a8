/** Checks of the ledger against itself: each recomputes rows from other rows, all in one snapshot. */

import { type LedgerCheckpoint, readCheckpoint } from '../checkpoint.ts';
import { cursorNow, readCursor, type SettledCursor } from '../cursor.ts';
import type { Pools } from '../pools.ts';
import { askOnce, inSnapshot } from '../queries.ts';
import { BOOKKEEPING_CHECKS } from './bookkeeping.ts';
import { checkChain } from './chain.ts';
import { CLOSING_CHECKS } from './closings.ts';
import { KEY_CHECKS } from './keys.ts';
import { checkNoted } from './noted.ts';
import { ORDER_CHECKS } from './orders.ts';
import type { Check, LedgerQuery, Violation } from './query.ts';
import { SCHEMA_CHECKS } from './schema.ts';
import { STATE_CHECKS } from './state.ts';
import { TRADE_CHECKS } from './trades.ts';

const MAX_VIOLATIONS = 100;
/**
 * Memory of a sort; a hash may take twice as much, and the largest check has one of each. Rows beyond it go to the disk
 * once. With the default of 4 MB, a sort of ten million orders would go there several times.
 */
const WORK_MEM = '32MB';

const QUERIES: readonly LedgerQuery[] = [
  ...BOOKKEEPING_CHECKS,
  ...CLOSING_CHECKS,
  ...TRADE_CHECKS,
  ...ORDER_CHECKS,
  ...STATE_CHECKS,
  ...KEY_CHECKS,
  ...SCHEMA_CHECKS,
];

/** The event up to which the ledger was checked, and one result for each query. */
interface CheckedLedger {
  readonly sequence: number;
  /** Unix milliseconds of that event; null while there is none. */
  readonly timeMs: number | null;
  readonly checks: readonly Check[];
}

/** The result of a reconcile. */
interface ReconcileNote {
  /** Sequence up to which everything was settled when the reconcile ended. */
  readonly sequence: number;
  readonly checks: number;
  /** 0 when the books agreed. */
  readonly differences: number;
  /** Names of the checks that found differences. */
  readonly failedChecks: readonly string[];
}

export interface LastReconcile extends ReconcileNote {
  /** Unix milliseconds by the clock of Postgres. */
  readonly finishedAtMs: number;
}

interface ReconcileRow {
  finished_at: Date;
  sequence: bigint;
  checks: number;
  differences: bigint;
  failed_checks: string[];
}

export type Checks = ReturnType<typeof checks>;

/** Checks of the ledger alone, and the stored results of reconciles. */
export function checks({ public: reading, auditing }: Pick<Pools, 'public' | 'auditing'>) {
  return {
    /**
     * Runs all checks.
     * @param onCheck called with the name of each check as it begins
     * @param noted checkpoints that were kept elsewhere
     */
    run(
      onCheck: (name: string) => void = () => undefined,
      noted: readonly LedgerCheckpoint[] = [],
    ): Promise<CheckedLedger> {
      return inSnapshot(auditing, async (ask) => {
        const { sequence, timeMs } = await readCursor(ask);
        // JIT compilation of a query takes longer than it saves while the planner has no statistics yet.
        await ask(`select set_config('jit', 'off', true), set_config('work_mem', '${WORK_MEM}', true)`);
        const checks: Check[] = [];
        for (const { name, meaning, sql } of QUERIES) {
          onCheck(name);
          const rows = await ask<Violation & { count: bigint }>(
            `select subject, expected, found, count(*) over () as count from (${sql}) as violation
             order by subject limit ${MAX_VIOLATIONS}`,
          );
          const count = Number(rows[0]?.count ?? 0n);
          const violations = rows.map(({ subject, expected, found }) => ({ subject, expected, found }));
          checks.push({ name, meaning, count, violations });
        }
        onCheck('chain of events');
        checks.push(...(await checkChain(ask, noted)));
        if (noted.length > 0) checks.push(await checkNoted(ask, noted));
        return { sequence, timeMs, checks };
      });
    },

    /** Returns what a checkpoint says of the ledger now. */
    checkpoint(): Promise<LedgerCheckpoint> {
      return inSnapshot(auditing, readCheckpoint);
    },

    /** Returns the last settled event, like `settlement.cursor`, with the patience of a long command. */
    cursor(): Promise<SettledCursor> {
      return cursorNow(auditing);
    },

    /** Stores the result of a reconcile. */
    async noteReconcile({ sequence, checks, differences, failedChecks }: ReconcileNote): Promise<void> {
      await askOnce(
        auditing,
        'insert into reconciliations (sequence, checks, differences, failed_checks) values ($1, $2, $3, $4)',
        [sequence, checks, differences, failedChecks],
      );
    },

    /** Returns the result of the last reconcile, or null when there never was one. */
    async lastReconcile(): Promise<LastReconcile | null> {
      const [row] = await askOnce<ReconcileRow>(
        reading,
        `select finished_at, sequence, checks, differences, failed_checks
         from reconciliations order by id desc limit 1`,
      );
      if (row === undefined) return null;
      return {
        finishedAtMs: row.finished_at.getTime(),
        sequence: Number(row.sequence),
        checks: row.checks,
        differences: Number(row.differences),
        failedChecks: row.failed_checks,
      };
    },
  };
}
