/** Checks of the ledger against itself: each recomputes rows from other rows, all in one snapshot. */

import { type LedgerCheckpoint, readCheckpoint } from '../checkpoint.ts';
import { cursorNow, readCursor, type SettledCursor } from '../cursor.ts';
import type { Pools } from '../pools.ts';
import { type Ask, askOnce, inSnapshot, inTransaction, isDamage } from '../queries.ts';
import { RECONCILIATION_LINK } from '../reconciliations.ts';
import { type Part, partsOf, type Span, WHOLE_HISTORY } from '../span.ts';
import { storable } from '../text.ts';
import { BOOKKEEPING_CHECKS } from './bookkeeping.ts';
import { CHAIN_CHECK, checkChain, TIMES_CHECK } from './chain.ts';
import { CLOSING_CHECKS } from './closings.ts';
import { FOREIGN_CHECK } from './foreign.ts';
import { KEY_CHECKS } from './keys.ts';
import { checkNoted, NOTED_CHECK } from './noted.ts';
import { ORDER_CHECKS } from './orders.ts';
import { type Check, type LedgerQuery, textsOf, type Violation } from './query.ts';
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
  ...SCHEMA_CHECKS,
  ...BOOKKEEPING_CHECKS,
  ...CLOSING_CHECKS,
  ...TRADE_CHECKS,
  ...ORDER_CHECKS,
  ...STATE_CHECKS,
  ...KEY_CHECKS,
];

/** The event up to which the ledger was checked, and one result for each query. */
interface CheckedLedger {
  readonly sequence: number;
  /** Unix milliseconds of that event; null while there is none. */
  readonly timeMs: number | null;
  readonly checks: readonly Check[];
  /** True if a check ended in an error, because a value or the type of a column is not of the release. */
  readonly isEnded: boolean;
}

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

/** Returns the query with the part of it that only later versions of Postgres can answer, if this is one of them. */
async function ofVersion(ask: Ask, { later, ...query }: LedgerQuery): Promise<LedgerQuery> {
  if (later === undefined) return query;
  const [version] = await ask<{ major: number }>(
    `select current_setting('server_version_num')::integer / 10000 as major`,
  );
  return version!.major < later.sinceMajor ? query : { ...query, sql: `${query.sql} union all ${later.sql}` };
}

/** @param parts of the span; a query of parts is asked of each alone, so that no sort or hash is larger than a segment */
async function queried(
  ask: Ask,
  query: LedgerQuery,
  span = WHOLE_HISTORY,
  parts: readonly Part[] = [],
): Promise<Check> {
  const { name, meaning } = query;
  const violations: Violation[] = [];
  let count = 0;
  for (const text of textsOf(await ofVersion(ask, query), span, parts)) {
    const rows = await ask<Violation & { count: bigint }>(
      `select coalesce(subject, 'unknown') as subject, coalesce(expected, 'none') as expected,
         coalesce(found, 'none') as found, count(*) over () as count
       from (${text}) as violation order by subject limit ${MAX_VIOLATIONS}`,
    );
    count += Number(rows[0]?.count ?? 0n);
    for (const { subject, expected, found } of rows.slice(0, MAX_VIOLATIONS - violations.length))
      violations.push({ subject, expected, found });
  }
  return { name, meaning, count, violations };
}

/** Definitions of all checks of the ledger alone, in their order. */
export const LEDGER_CHECKS = [FOREIGN_CHECK, ...QUERIES, CHAIN_CHECK, TIMES_CHECK, NOTED_CHECK].map(
  ({ name, meaning, proof }) => ({ name, meaning, proof }),
);

/** The result of a check that ended in an error. Those after it still run, and name what was changed. */
const endedCheck = ({ name, meaning }: Pick<Check, 'name' | 'meaning'>, { message }: Error): Check => ({
  name,
  meaning,
  count: 1,
  violations: [{ subject: 'the check', expected: 'a result', found: storable(message) }],
});

async function runAll(
  ask: Ask,
  onCheck: (name: string) => void,
  noted: readonly LedgerCheckpoint[],
  span: Span,
): Promise<CheckedLedger> {
  const { sequence, timeMs } = await readCursor(ask);
  await ask(`select set_config('work_mem', '${WORK_MEM}', true)`);
  const checks: Check[] = [];
  let isEnded = false;
  const attempt = async (
    definition: Pick<Check, 'name' | 'meaning'>,
    check: () => Promise<Check[]>,
  ): Promise<void> => {
    onCheck(definition.name);
    await ask('savepoint before_check');
    try {
      checks.push(...(await check()));
      await ask('release savepoint before_check');
    } catch (error) {
      if (!isDamage(error)) throw error;
      await ask('rollback to savepoint before_check');
      checks.push(endedCheck(definition, error));
      isEnded = true;
    }
  };
  for (const query of QUERIES)
    await attempt(query, async () => {
      const parts = query.ofPart === undefined ? [] : await partsOf(ask, span);
      return [await queried(ask, query, span, parts)];
    });
  await attempt(CHAIN_CHECK, () => checkChain(ask, noted, span));
  if (noted.length > 0) await attempt(NOTED_CHECK, async () => [await checkNoted(ask, noted)]);
  return { sequence, timeMs, checks, isEnded };
}

async function runSchemaChecks(ask: Ask): Promise<Check[]> {
  const checks: Check[] = [];
  for (const query of SCHEMA_CHECKS) checks.push(await queried(ask, query));
  return checks;
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
      return inSnapshot(auditing, (ask) => runAll(ask, onCheck, noted, span));
    },

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
    async noteReconcile(
      { sequence, checks, differences, failedChecks }: ReconcileNote,
      results: readonly NotedCheck[] = [],
    ): Promise<void> {
      await inTransaction(auditing, 'begin', async (ask) => {
        await ask(ONE_AT_A_TIME);
        await ask(ADD_RECONCILE, [
          sequence,
          checks,
          differences,
          failedChecks,
          JSON.stringify(keptOf(results)),
        ]);
      });
    },

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
