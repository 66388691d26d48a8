/**
 * Recomputes every invariant from the contents of Redis and Postgres, while trading continues.
 *
 * The ledger is read as of one event, in one Postgres snapshot. The engine is read page by page, so that every script
 * stays short. Each page is as of its own event; the stream has the events in between, which bring the ledger's side to
 * that event. Invariants of the ledger alone are recomputed by queries at the end, of the segments that have no seal.
 */

import type { Market } from '../../domain/market.ts';
import { readMarketRecord } from '../../domain/market-record.ts';
import type { Engine } from '../../engine/index.ts';
import { type Audit, type AuditSummary, type Check, type Extent, isDamage } from '../../ledger/index.ts';
import type { Checkpoint } from '../checkpoint.ts';
import type { Servers } from '../servers.ts';
import { untilAllSettled } from '../until-settled.ts';
import { checkAssets } from './assets.ts';
import type { Audited } from './audited.ts';
import { checkBooks, checkLiveList } from './books.ts';
import { checkFilter, checkRecentClaims } from './claims.ts';
import { type CheckResult, Comparison, DIFFERENCES_KEPT } from './comparison.ts';
import { ENGINE_CHECKS } from './definitions.ts';
import { scanTexts } from './fields.ts';
import { EventsLost, Follower } from './follower.ts';
import { checkAssetList, checkEngineHash, checkHistory, checkMarkets } from './state.ts';
import { checkUsers } from './strange-users.ts';
import { checkKeys } from './stray-keys.ts';
import { checkDeadManSwitches } from './switches.ts';
import { checkUnsettledIndex } from './unsettled.ts';

export type { CheckResult } from './comparison.ts';

export interface Reconciliation {
  readonly holds: boolean;
  /** Sequence up to which everything was settled when the checks of the ledger began. */
  readonly sequence: number;
  readonly checks: readonly CheckResult[];
}

interface ReconcileOptions {
  /** Longest time in milliseconds that settlement may make no progress before the command gives up. */
  readonly patienceMs: number;
  /** Called with the name of each step as it begins. */
  readonly onStep?: ((step: string) => void) | undefined;
  /** Checkpoints that were kept elsewhere. */
  readonly checkpoints?: readonly Checkpoint[];
  /** Part of the sealed segments that is read; `night` unless given. */
  readonly extent?: Extent;
  /** Days within which each sealed segment is read again; each is read in every run unless given. */
  readonly scrubDays?: number | undefined;
}

type OnStep = (step: string) => void;

/** The second attempt is for a process that was stopped for longer than settled events stay in the stream. */
const ATTEMPTS = 2;

/**
 * Runs all checks and stores the result in the ledger, where settlement processes read it for their metrics.
 * @throws OperatorRefusal SETTLEMENT_STALLED; Refusal SERVICE_UNAVAILABLE when a server is unavailable
 */
export async function reconcile(servers: Servers, options: ReconcileOptions): Promise<Reconciliation> {
  options.onStep?.('objects of the database');
  const foreign = resultOf(await servers.ledger.checks.foreign(), 'the database');
  const isSound = foreign.count === 0;
  const { sequence, timeMs, results, isEnded } = await compare(servers, isSound, options).catch(
    async (error) => {
      if (isSound && !isDamage(error)) throw error;
      const schema = (await servers.ledger.checks.schema()).map((check) => resultOf(check, 'the database'));
      return { sequence: 0, timeMs: null, results: [unreadable(error), ...schema], isEnded: true };
    },
  );
  const checks = [foreign, ...(!isSound || isEnded ? results.map(provingNothing) : results)];
  const failed = checks.filter(({ count }) => count > 0);
  const note = {
    sequence,
    checks: checks.length,
    differences: failed.reduce((sum, { count }) => sum + count, 0),
    failedChecks: [...new Set(failed.map(({ name }) => name))],
  };
  const noted = checks.map(({ name, asset, compared, count }) => ({
    name,
    asset,
    compared,
    differences: count,
  }));
  const holds = failed.length === 0;
  await servers.ledger.checks.noteReconcile(note, noted).catch((error) => {
    // Reports the findings also when the table of results itself was changed.
    if (holds || !isDamage(error)) throw error;
  });
  // Statements start from the nearest kept balances, and these are known to be right now.
  if (holds && timeMs !== null) await servers.ledger.balances.keepDay(timeMs);
  return { holds, sequence, checks };
}

interface Compared {
  readonly sequence: number;
  readonly timeMs: number | null;
  readonly results: readonly CheckResult[];
  /** True if a check ended in an error, so that the others prove nothing. */
  readonly isEnded: boolean;
}

/** Compares the engine and the ledger, once everything is settled. */
async function compare(servers: Servers, isSound: boolean, options: ReconcileOptions): Promise<Compared> {
  const { patienceMs, onStep = () => undefined } = options;
  onStep('settlement of the last events');
  await untilAllSettled(servers, patienceMs);
  const { results, lost } = await checkEngine(servers, onStep, options.extent === 'all');
  const history = await checkHistory(servers, lost);
  const holds = isSound && [history, ...results].every(({ count }) => count === 0);
  const ledger = await checkLedger(servers, holds, options);
  const isEnded = ledger.isEnded || results.some(({ name }) => name === ENGINE_CHECKS.readable.name);
  return { ...ledger, results: [history, ...results, ...ledger.results], isEnded };
}

/** @returns `lost`: an event that neither the ledger nor the stream has, which makes every comparison impossible */
async function checkEngine(
  servers: Servers,
  onStep: OnStep,
  isWhole: boolean,
): Promise<{ results: CheckResult[]; lost: number | null }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const work = (audit: Audit) => compareEngine(servers, audit, onStep);
      const results = await servers.ledger.audit(work, isWhole);
      return { results, lost: null };
    } catch (error) {
      if (isDamage(error)) return { results: [unreadable(error)], lost: null };
      if (!(error instanceof EventsLost)) throw error;
      if (attempt === ATTEMPTS) return { results: [], lost: error.sequence };
    }
  }
}

/** Returns the result that replaces the engine's checks, so that the ledger's own checks still run and name the row. */
function unreadable(error: Error): CheckResult {
  const comparison = new Comparison();
  comparison.equal('a record of the ledger or of the engine', 'can be read', error.message);
  return comparison.result(ENGINE_CHECKS.readable, null, 'nothing');
}

async function compareEngine(servers: Servers, audit: Audit, onStep: OnStep): Promise<CheckResult[]> {
  const { engine } = servers;
  const follower = new Follower(engine, audit);
  onStep('assets and last trades of the ledger');
  const summary = await follower.during(audit.summary());
  const known = await everything(engine, audit, summary);
  const audited: Audited = { engine, audit, summary, follower, ...known };
  const results: CheckResult[] = [];
  const step = async (name: string, check: () => Promise<CheckResult | CheckResult[]>): Promise<void> => {
    onStep(name);
    results.push(...[await check()].flat());
  };
  await step('assets', () => checkAssetList(audited));
  await step('markets', () => checkMarkets(audited));
  await step('balances', () => checkAssets(audited));
  await step('books', () => checkBooks(audited));
  await step('live orders', () => checkLiveList(audited));
  await step('switches', () => checkEngineHash(audited, servers));
  await step('dead-man switches', () => checkDeadManSwitches(audited));
  await step('unsettled index', () => checkUnsettledIndex(servers, summary));
  await step('keys', () => checkKeys(audited));
  await step('users of Redis', () => checkUsers(engine));
  await step('recent claims', () => checkRecentClaims(audited));
  await step('used ids', () => checkFilter(audited));
  return results;
}

/** Collects the assets and markets of both sides, so that a record that one side lacks is checked too. */
async function everything(
  engine: Engine,
  audit: Audit,
  summary: AuditSummary,
): Promise<Pick<Audited, 'markets' | 'assets'>> {
  const markets = new Map<string, Market>();
  const assets = new Map<string, number>();
  await scanTexts(engine, 'markets', (_symbol, record) => {
    try {
      const market = readMarketRecord(record);
      markets.set(market.symbol, market);
    } catch {
      // The check of the markets reports it.
    }
  });
  for (const market of audit.switches.markets) markets.set(market.symbol, market);
  await scanTexts(engine, 'assets', (name, scale) => {
    if (!name.includes(' ')) assets.set(name, Number(scale) || 0);
  });
  for (const { base, quote } of markets.values())
    for (const { symbol, scale } of [base, quote]) if (!assets.has(symbol)) assets.set(symbol, scale);
  for (const symbol of summary.bookedAssets) if (!assets.has(symbol)) assets.set(symbol, 0);
  for (const { symbol, scale } of audit.assets) assets.set(symbol, scale);
  return { markets, assets };
}

/** @param isSound false if a difference was found before */
async function checkLedger(
  { ledger }: Servers,
  isSound: boolean,
  { onStep = () => undefined, checkpoints = [], extent = 'night', scrubDays = 1 }: ReconcileOptions,
): Promise<Compared> {
  const asked = { onCheck: onStep, noted: checkpoints, extent, scrubDays, isSound };
  const { sequence, timeMs, checks, isEnded } = await ledger.checks.reconcile(asked);
  const results = checks.map((check) => resultOf(check, check.compared ?? `up to event ${sequence}`));
  return { sequence, timeMs, results, isEnded };
}

/** @param check a check of the ledger alone */
const resultOf = ({ name, meaning, count, violations }: Check, compared: string): CheckResult => ({
  name,
  asset: null,
  meaning,
  compared,
  count,
  differences: violations.slice(0, DIFFERENCES_KEPT),
});

const provingNothing = (result: CheckResult): CheckResult => ({
  ...result,
  compared: `proves nothing: ${result.compared}`,
});
