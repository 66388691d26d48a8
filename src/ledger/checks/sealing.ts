/**
 * Checks the ledger as far as it has no seal, seals what can no longer change, and reads sealed segments again.
 *
 * Each segment has a transaction of its own, so vacuum waits for one segment at most, and a run that was killed goes on
 * with the next one.
 */

import type pg from 'pg';
import type { LedgerCheckpoint } from '../checkpoint.ts';
import { TURN_OF_CLOSINGS } from '../closing-acts.ts';
import { type Ask, inSnapshot, inTransaction } from '../queries.ts';
import { addSeal, closedSegments, lastSealed, noteReading, sealedSegments, takesSealing } from '../seals.ts';
import { type Part, WHOLE_HISTORY } from '../span.ts';
import { CHAIN_CHECK, checkChain } from './chain.ts';
import type { Check } from './query.ts';
import { addedUp, type CheckedLedger, CheckRun, limitSorts, type RunOptions, runChecks } from './run.ts';
import { compareWithSeal, drawReadings, type Extent, type Reading, SCRUB_CHECK } from './scrub.ts';

export interface Reconciling {
  /** Called with the name of each check as it begins. */
  readonly onCheck: (name: string) => void;
  /** Checkpoints that were kept elsewhere. */
  readonly noted: readonly LedgerCheckpoint[];
  readonly extent: Extent;
  /** Days within which each sealed segment is read again. */
  readonly scrubDays: number;
  /** False if a difference was found before, so that nothing is sealed. */
  readonly isSound: boolean;
}

/** Maximum segments with a difference whose rows are checked to name them. */
const MAX_EXAMINED = 3;
const SEALING = 'begin isolation level repeatable read';
/** A closing that began before a segment was over keeps a head of the chain, maybe in that segment. */
const AFTER_CLOSINGS = 'select pg_advisory_xact_lock(hashtext($1))';

/** Results of checks that ran in several transactions. */
class Results {
  /** One result for each check. */
  checks: readonly Check[] = [];
  isEnded = false;

  get areHeld(): boolean {
    return !this.isEnded && this.checks.every(({ count }) => count === 0);
  }

  add({ checks, isEnded }: Pick<CheckedLedger, 'isEnded' | 'checks'>): void {
    this.checks = addedUp([...this.checks, ...checks]);
    this.isEnded ||= isEnded;
  }
}

const inSegment = ({ onCheck, noted }: Reconciling, part: Part): RunOptions => ({
  scope: 'span',
  span: part,
  noted,
  onCheck: (name) => onCheck(`${name}, in segment ${part.segment}`),
});

/** The last events that have a seal before a run, and that it checked segment by segment. */
interface Closed {
  readonly sealedTo: number;
  readonly closedTo: number;
}

/** Checks each segment that can no longer change, and seals it while no difference was found. */
async function sealClosed(pool: pg.Pool, options: Reconciling, results: Results): Promise<Closed> {
  const [sealedTo, closed] = await inSnapshot(
    pool,
    async (ask) => [await lastSealed(ask), await closedSegments(ask)] as const,
  );
  if (closed.length === 0) return { sealedTo, closedTo: sealedTo };
  await inTransaction(pool, 'begin', (ask) => ask(AFTER_CLOSINGS, [TURN_OF_CLOSINGS]));
  await inTransaction(pool, 'begin', async (lock) => {
    // A second reconcile at the same time checks the segments, and seals none.
    const maySeal = (await takesSealing(lock)) && options.isSound;
    for (const part of closed)
      await inTransaction(pool, SEALING, async (ask) => {
        results.add(await runChecks(ask, inSegment(options, part)));
        if (maySeal && results.areHeld) await addSeal(ask, part);
      });
  });
  return { sealedTo, closedTo: closed.at(-1)!.to };
}

/** Compares the chain of sealed segments with the heads of checkpoints that lie in them. */
async function compareNoted(
  pool: pg.Pool,
  options: Reconciling,
  upTo: number,
  results: Results,
): Promise<void> {
  const { noted } = options;
  if (!noted.some(({ sequence }) => sequence <= upTo)) return;
  for (const part of await inSnapshot(pool, sealedSegments)) {
    // The first segment tells after which event the chain begins.
    const isNoted =
      part.segment === 0 || noted.some(({ sequence }) => sequence > part.from && sequence <= part.to);
    if (!isNoted || part.to > upTo) continue;
    await inSnapshot(pool, async (ask) => {
      const run = new CheckRun(ask, inSegment(options, part).onCheck);
      await limitSorts(ask);
      await run.attempt(CHAIN_CHECK, () => checkChain(ask, noted, part));
      results.add(run);
    });
  }
}

/** Reads a segment in one snapshot, and checks its rows too if that is asked, or if one differs. */
async function readSegment(
  ask: Ask,
  { part, isFull }: Reading,
  options: Reconciling,
  mayExamine: boolean,
): Promise<Results> {
  const found = new Results();
  const full = inSegment(options, part);
  await limitSorts(ask);
  const run = new CheckRun(ask, full.onCheck);
  await run.attempt(SCRUB_CHECK, async () => [await compareWithSeal(ask, part)]);
  found.add(run);
  if (isFull || (mayExamine && !found.areHeld)) found.add(await runChecks(ask, full));
  return found;
}

/** Reads sealed segments again. Each reading is noted once it is done. */
async function scrub(pool: pg.Pool, options: Reconciling, results: Results): Promise<void> {
  const { extent, scrubDays } = options;
  const { readings, sealed } = await inSnapshot(pool, (ask) => drawReadings(ask, extent, scrubDays));
  const compared = `${readings.length} of ${sealed} sealed segments`;
  results.add({ checks: [{ ...SCRUB_CHECK, compared, count: 0, violations: [] }], isEnded: false });
  let examined = 0;
  for (const reading of readings) {
    // All rows were checked already where all are read.
    const mayExamine = extent !== 'all' && examined < MAX_EXAMINED;
    const found = await inSnapshot(pool, (ask) => readSegment(ask, reading, options, mayExamine));
    if (!found.areHeld) examined += 1;
    results.add(found);
    await noteReading(pool, reading.part, found.areHeld);
  }
}

/** Runs all checks; of sealed segments, unless all is asked, those of their digests. */
export async function checkAndSeal(pool: pg.Pool, options: Reconciling): Promise<CheckedLedger> {
  const { extent, isSound } = options;
  const results = new Results();
  const whole = { ...options, span: WHOLE_HISTORY };
  results.add(await inSnapshot(pool, (ask) => runChecks(ask, { ...whole, scope: 'tables' })));
  const closed = new Results();
  const asked = { ...options, isSound: isSound && results.areHeld };
  const { sealedTo, closedTo } = await sealClosed(pool, asked, closed);
  const span = extent === 'all' ? WHOLE_HISTORY : { ...WHOLE_HISTORY, from: closedTo };
  const last = await inSnapshot(pool, (ask) => runChecks(ask, { ...options, span, scope: 'span' }));
  if (extent === 'all') results.add(last);
  else {
    const compared = sealedTo > 0 ? `events ${sealedTo + 1} to ${last.sequence}` : undefined;
    results.add({ ...last, checks: last.checks.map((check) => ({ ...check, compared })) });
    results.add(closed);
    await compareNoted(pool, options, closedTo, results);
  }
  await scrub(pool, options, results);
  return { ...last, checks: results.checks, isEnded: results.isEnded };
}
