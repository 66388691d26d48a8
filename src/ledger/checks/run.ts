/** Runs the checks of the ledger over a span of events, all in one snapshot. */

import type { LedgerCheckpoint } from '../checkpoint.ts';
import { readCursor } from '../cursor.ts';
import { type Ask, isDamage } from '../queries.ts';
import { type Part, partsOf, type Span, WHOLE_HISTORY } from '../span.ts';
import { storable } from '../text.ts';
import { BOOKKEEPING_CHECKS } from './bookkeeping.ts';
import { CHAIN_CHECK, checkChain, TIMES_CHECK } from './chain.ts';
import { CLOSING_CHECKS } from './closings.ts';
import { FOREIGN_CHECK } from './foreign.ts';
import { KEY_CHECKS } from './keys.ts';
import { checkNoted, NOTED_CHECK } from './noted.ts';
import { ORDER_CHECKS } from './orders.ts';
import { type Check, isOfSpan, type LedgerQuery, textsOf, type Violation } from './query.ts';
import { SCHEMA_CHECKS } from './schema.ts';
import { SCRUB_CHECK } from './scrub.ts';
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
export interface CheckedLedger {
  readonly sequence: number;
  /** Unix milliseconds of that event; null while there is none. */
  readonly timeMs: number | null;
  readonly checks: readonly Check[];
  /** True if a check ended in an error, because a value or the type of a column is not of the release. */
  readonly isEnded: boolean;
}

/** Definitions of all checks of the ledger alone, in their order. */
export const LEDGER_CHECKS = [
  FOREIGN_CHECK,
  ...QUERIES,
  CHAIN_CHECK,
  TIMES_CHECK,
  NOTED_CHECK,
  SCRUB_CHECK,
].map(({ name, meaning, proof }) => ({ name, meaning, proof }));

/** Returns the query with the part of it that only later versions of Postgres can answer, if this is one of them. */
async function ofVersion(ask: Ask, { later, ...query }: LedgerQuery): Promise<LedgerQuery> {
  if (later === undefined) return query;
  const [version] = await ask<{ major: number }>(
    `select current_setting('server_version_num')::integer / 10000 as major`,
  );
  return version!.major < later.sinceMajor ? query : { ...query, sql: `${query.sql} union all ${later.sql}` };
}

/** @param parts of the span; a query of parts is asked of each alone, so that no sort or hash is larger than a segment */
export async function queried(
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

type Definition = Pick<Check, 'name' | 'meaning'>;

/** The result of a check that ended in an error. Those after it still run, and name what was changed. */
const endedCheck = ({ name, meaning }: Definition, { message }: Error): Check => ({
  name,
  meaning,
  count: 1,
  violations: [{ subject: 'the check', expected: 'a result', found: storable(message) }],
});

/** Runs checks in one snapshot, each of which may end in an error. */
export class CheckRun {
  readonly #ask: Ask;
  readonly #onCheck: (name: string) => void;
  readonly checks: Check[] = [];
  isEnded = false;

  constructor(ask: Ask, onCheck: (name: string) => void) {
    this.#ask = ask;
    this.#onCheck = onCheck;
  }

  async attempt(definition: Definition, check: () => Promise<readonly Check[]>): Promise<void> {
    this.#onCheck(definition.name);
    await this.#ask('savepoint before_check');
    try {
      this.checks.push(...(await check()));
      await this.#ask('release savepoint before_check');
    } catch (error) {
      if (!isDamage(error)) throw error;
      await this.#ask('rollback to savepoint before_check');
      this.checks.push(endedCheck(definition, error));
      this.isEnded = true;
    }
  }
}

/** Tables that have no events, and sums of all rows; or rows of a span of events; or both. */
type Scope = 'tables' | 'span' | 'both';

export interface RunOptions {
  /** Called with the name of each check as it begins. */
  readonly onCheck: (name: string) => void;
  /** Checkpoints that were kept elsewhere. */
  readonly noted: readonly LedgerCheckpoint[];
  readonly span: Span;
  readonly scope: Scope;
}

/** Limits the memory of each sort. @param ask in a transaction */
export const limitSorts = (ask: Ask): Promise<unknown> =>
  ask(`select set_config('work_mem', '${WORK_MEM}', true)`);

/** @param ask in a snapshot */
export async function runChecks(
  ask: Ask,
  { onCheck, noted, span, scope }: RunOptions,
): Promise<CheckedLedger> {
  const { sequence, timeMs } = await readCursor(ask);
  await limitSorts(ask);
  const run = new CheckRun(ask, onCheck);
  for (const query of QUERIES) {
    if (scope !== 'both' && isOfSpan(query) !== (scope === 'span')) continue;
    await run.attempt(query, async () => {
      const parts = query.ofPart === undefined ? [] : await partsOf(ask, span);
      return [await queried(ask, query, span, parts)];
    });
  }
  if (scope !== 'tables') await run.attempt(CHAIN_CHECK, () => checkChain(ask, noted, span));
  if (scope !== 'span' && noted.length > 0)
    await run.attempt(NOTED_CHECK, async () => [await checkNoted(ask, noted)]);
  return { sequence, timeMs, checks: run.checks, isEnded: run.isEnded };
}

export async function runSchemaChecks(ask: Ask): Promise<Check[]> {
  const checks: Check[] = [];
  for (const query of SCHEMA_CHECKS) checks.push(await queried(ask, query));
  return checks;
}

/** Adds up results of the same checks, in the order of their definitions. */
export const addedUp = (results: readonly Check[]): Check[] =>
  LEDGER_CHECKS.flatMap(({ name }) => {
    const own = results.filter((check) => check.name === name);
    if (own.length === 0) return [];
    return {
      ...own[0]!,
      count: own.reduce((sum, { count }) => sum + count, 0),
      violations: own.flatMap(({ violations }) => violations).slice(0, MAX_VIOLATIONS),
    };
  });
