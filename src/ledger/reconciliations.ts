/** Keeps the results of reconciles. */

import type pg from 'pg';
import { askOnce } from './pool.ts';

export interface ReconciliationNote {
  /** Event up to which everything was settled at its end. */
  readonly sequence: number;
  readonly checks: number;
  /** 0: the books held. */
  readonly differences: number;
  /** Names of the checks that found some. */
  readonly failedChecks: readonly string[];
}

export interface LastReconciliation extends ReconciliationNote {
  /** Unix milliseconds by the clock of Postgres. */
  readonly finishedAtMs: number;
}

export const noteReconciliation = async (pool: pg.Pool, note: ReconciliationNote): Promise<void> => {
  const { sequence, checks, differences, failedChecks } = note;
  await askOnce(
    pool,
    'insert into reconciliations (sequence, checks, differences, failed_checks) values ($1, $2, $3, $4)',
    [sequence, checks, differences, failedChecks],
  );
};

interface Row {
  finished_at: Date;
  sequence: bigint;
  checks: number;
  differences: bigint;
  failed_checks: string[];
}

/** Null: there never was one. */
export const lastReconciliation = async (pool: pg.Pool): Promise<LastReconciliation | null> => {
  const [row] = await askOnce<Row>(
    pool,
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
};
