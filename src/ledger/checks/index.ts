/** Checks of the ledger against itself, and the stored results of reconciles. */

import { type LedgerCheckpoint, readCheckpoint } from '../checkpoint.ts';
import { cursorNow, type SettledCursor } from '../cursor.ts';
import type { Pools } from '../pools.ts';
import { type Ask, askOnce, inSnapshot, inTransaction } from '../queries.ts';
import { RECONCILIATION_LINK } from '../reconciliations.ts';
import { type Span, WHOLE_HISTORY } from '../span.ts';
import { storable } from '../text.ts';
import { FOREIGN_CHECK } from './foreign.ts';
import type { Check } from './query.ts';
import { type CheckedLedger, queried, runChecks, runSchemaChecks } from './run.ts';
import { checkAndSeal, type Reconciling } from './sealing.ts';

/** The result of one check. */
export interface NotedCheck {
  readonly name: string;
  /** Asset that was checked, or null. */
  readonly asset: string | null;
  /** Number and kind of the compared things. */
  readonly compared: string;
  /** 0 when the check held. */
  readonly differences: number;
}

/** Maximum results that a reconcile stores: there are some 60 checks, two of them for each asset. */
const RESULTS_KEPT = 1_000;

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

/** The last reconcile with the results that were kept, or null if an older release wrote it. */
interface ReconcileResults extends LastReconcile {
  readonly results: readonly NotedCheck[] | null;
}

interface ReconcileRow {
  finished_at: Date;
  sequence: bigint;
  checks: number;
  differences: bigint;
  failed_checks: string[];
}

/** A second reconcile that ends at the same moment waits here. */
const ONE_AT_A_TIME = `select pg_advisory_xact_lock(hashtext('redbook reconciliations'))`;

/** A sequence of Postgres would leave gaps after a crash, a failover, or an insert that was rolled back. */
const ADD_RECONCILE = `
  with last as (select id, link from public.reconciliations order by id desc limit 1),
    added as (
      select coalesce((select id from last), 0) + 1 as id, clock_timestamp() as finished_at, $1::bigint as sequence,
        $2::integer as checks, $3::bigint as differences, $4::text[] as failed_checks, $5::jsonb as results,
        (select link from last) as link_before)
  insert into public.reconciliations (id, finished_at, sequence, checks, differences, failed_checks, results, link)
  select id, finished_at, sequence, checks, differences, failed_checks, results, ${RECONCILIATION_LINK} from added`;

const COLUMNS = 'finished_at, sequence, checks, differences, failed_checks';
const LAST = 'from public.reconciliations order by id desc limit 1';

const lastOf = ({
  finished_at,
  sequence,
  differences,
  checks,
  failed_checks,
}: ReconcileRow): LastReconcile => ({
  finishedAtMs: finished_at.getTime(),
  sequence: Number(sequence),
  checks,
  differences: Number(differences),
  failedChecks: failed_checks,
});

/** Returns the results to keep: those with the most differences, if there are too many. */
function keptOf(results: readonly NotedCheck[]): NotedCheck[] {
  const failedFirst = results.toSorted((one, other) => other.differences - one.differences);
  const kept = results.length > RESULTS_KEPT ? failedFirst.slice(0, RESULTS_KEPT) : results;
  // Redis names assets too, and what it has may be damaged.
  return kept.map(({ asset, ...one }) => ({ ...one, asset: asset && storable(asset) }));
}

async function addReconcile(
  ask: Ask,
  { sequence, checks, differences, failedChecks }: ReconcileNote,
  results: readonly NotedCheck[],
): Promise<void> {
  await ask(ONE_AT_A_TIME);
  await ask(ADD_RECONCILE, [sequence, checks, differences, failedChecks, JSON.stringify(keptOf(results))]);
}

export type Checks = ReturnType<typeof checks>;

/** Checks of the ledger alone, and the stored results of reconciles. */
export function checks({ public: reading, auditing }: Pick<Pools, 'public' | 'auditing'>) {
  return {
    /**
     * Runs all checks.
     * @param onCheck called with the name of each check as it begins
     * @param noted checkpoints that were kept elsewhere
     * @param span of events whose rows are checked, with those tables that have no segments
     */
    run(
      onCheck: (name: string) => void = () => undefined,
      noted: readonly LedgerCheckpoint[] = [],
      span: Span = WHOLE_HISTORY,
    ): Promise<CheckedLedger> {
      return inSnapshot(auditing, (ask) => runChecks(ask, { onCheck, noted, span, scope: 'both' }));
    },

    /** Runs all checks over what no seal has, seals what can no longer change, and reads sealed segments again. */
    reconcile: (options: Reconciling): Promise<CheckedLedger> => checkAndSeal(auditing, options),

    /** Finds what could change the meaning of all other checks. */
    foreign(): Promise<Check> {
      return inSnapshot(auditing, (ask) => queried(ask, FOREIGN_CHECK));
    },

    /** Runs the checks of tables and rights alone, for a ledger of which nothing else can be read. */
    schema: (): Promise<Check[]> => inSnapshot(auditing, runSchemaChecks),

    /** Returns what a checkpoint says of the ledger now. */
    checkpoint(): Promise<LedgerCheckpoint> {
      return inSnapshot(auditing, readCheckpoint);
    },

    /** Returns the last settled event, like `settlement.cursor`, with the patience of a long command. */
    cursor(): Promise<SettledCursor> {
      return cursorNow(auditing);
    },

    /**
     * Stores the result of a reconcile.
     * @param results of its checks; of too many, those that found differences are kept first
     */
    noteReconcile: (note: ReconcileNote, results: readonly NotedCheck[] = []): Promise<void> =>
      inTransaction(auditing, 'begin', (ask) => addReconcile(ask, note, results)),

    /** Returns the result of the last reconcile, or null when there never was one. */
    async lastReconcile(): Promise<LastReconcile | null> {
      const [row] = await askOnce<ReconcileRow>(reading, `select ${COLUMNS} ${LAST}`);
      return row === undefined ? null : lastOf(row);
    },

    /** Returns the last reconcile with the result of each check. */
    async lastResults(): Promise<ReconcileResults | null> {
      const [row] = await askOnce<ReconcileRow & Pick<ReconcileResults, 'results'>>(
        reading,
        `select ${COLUMNS}, results ${LAST}`,
      );
      return row === undefined ? null : { ...lastOf(row), results: row.results };
    },
  };
}
