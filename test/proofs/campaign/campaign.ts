/** Runs faults, round after round, on clusters under load, and checks at each rest that nothing was lost. */

import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { random } from '../../support/seed.ts';
import type { ClusterPlan } from './cluster.ts';
import { CLUSTER_SECONDS, type Fault, type Machine, type Scene, USUAL_SECONDS } from './faults/fault.ts';
import { type Figures, JOURNAL, openProgress, type Progress, sumOf } from './journal.ts';
import { Stage, type Violation } from './stage.ts';

export interface CampaignOptions {
  readonly faults: readonly Fault[];
  readonly machine: Machine;
  readonly seed: number;
  /** Rounds of each fault; undefined: its own. */
  readonly rounds: number | undefined;
  /** For data, logs and journals. With those of an earlier run, the rounds that held are not run again. */
  readonly folder: string;
  readonly traders: number;
  readonly perSecond: number;
  /** Events of a large lag, and orders of a large rebuild; undefined: 20,000, or 2,000 in a short campaign. */
  readonly bulk: number | undefined;
  /** Folder of the sources that the processes run. */
  readonly release?: string;
  /** Processes of each role, where they are fewer than usual. */
  readonly replicas?: ClusterPlan['replicas'];
  /** Ends with the first violation. */
  readonly isHasty?: boolean;
  readonly say: (line: string) => void;
}

/** One line of the table. */
export interface Result extends Figures {
  readonly fault: string;
  /** Rounds that were run, those of an earlier run in the same folder included. */
  readonly rounds: number;
  readonly violations: readonly Violation[];
  readonly mayBreak: string;
  /** The reason why it was not run. */
  readonly notRun?: string;
}

/** Answers that took longer are named as the campaign goes on. */
const LONG_ANSWER_MS = 2_000;
const UNDER_LOAD_MS = 400;
const AFTERWARDS_MS = 300;

/** With so many rounds or fewer a campaign is a short one: slow faults have fewer rounds, and faults share rests. */
const SHORT_ROUNDS = 2;
const BULK_ORDERS = 20_000;
const SHORT_BULK = 2_000;
/** The longest round of a short campaign. */
const MAX_SHORT_SECONDS = 20;
/** Some 20,000 requests. */
const LONG_JOURNAL_BYTES = 8 * 2 ** 20;
/** Faults of a short campaign that share a rest. */
const MAX_TOGETHER = 4;

const isShort = ({ rounds, isHasty }: CampaignOptions): boolean =>
  rounds !== undefined && rounds <= SHORT_ROUNDS && isHasty !== true;

function roundsOf(options: CampaignOptions, fault: Fault): number {
  const { rounds = fault.rounds } = options;
  return Math.min(rounds, fault.rounds, isShort(options) ? (fault.shortRounds ?? rounds) : rounds);
}

/** Faults that follow each other on one cluster, with one rest after the last. A fault that may lose stands alone. */
function together(options: CampaignOptions): Fault[][] {
  const groups: Fault[][] = [];
  for (const fault of options.faults) {
    const last = groups.at(-1);
    const goesOn =
      last !== undefined &&
      last.length < MAX_TOGETHER &&
      isShort(options) &&
      [...last, fault].every(({ mayLose }) => mayLose !== true) &&
      stageName(last[0]!) === stageName(fault);
    if (goesOn) last.push(fault);
    else groups.push([fault]);
  }
  return groups;
}

/** Seconds that the rounds that are left will take, from the measured seconds of each fault. */
function estimateSeconds(options: CampaignOptions, progress: Progress): number {
  const faults = options.faults.filter(({ lacks }) => lacks?.(options.machine) === undefined);
  const clusters = new Set(faults.map(stageName)).size;
  const max = isShort(options) ? MAX_SHORT_SECONDS : Number.POSITIVE_INFINITY;
  return faults.reduce((sum, fault) => {
    const seconds = Math.min(fault.seconds ?? USUAL_SECONDS, max);
    return sum + roundsLeft(options, fault, progress).length * seconds;
  }, clusters * CLUSTER_SECONDS);
}

export async function runCampaign(options: CampaignOptions): Promise<Result[]> {
  mkdirSync(options.folder, { recursive: true });
  const results: Result[] = [];
  const progress = openProgress(options.folder);
  const minutes = Math.ceil(estimateSeconds(options, progress) / 60);
  options.say(`${options.faults.length} faults take about ${minutes} minutes`);
  let open: OpenStage | undefined;
  const whatIsLeft = (fault: Fault): number[] => roundsLeft(options, fault, progress);
  for (const group of together(options)) {
    const reasons = group.map((fault) => reasonNotToRun(options, fault));
    const runnable = group.filter((fault, at) => reasons[at] === undefined && whatIsLeft(fault).length > 0);
    for (const [at, fault] of group.entries()) {
      if (!runnable.includes(fault)) {
        const reason = reasons[at];
        results.push(reason === undefined ? resultOf(fault, progress) : notRun(fault, reason));
        continue;
      }
      const name = stageName(fault);
      if (open?.name !== name || hasLongJournal(open.stage.cluster.plan.folder)) {
        await open?.close(false);
        open = undefined;
        try {
          open = await openStage(options, fault, name, progress);
        } catch (error) {
          results.push(notStarted(options, fault, error as Error));
          continue;
        }
      }
      const result = await runFault(options, fault, open.stage, progress, fault === runnable.at(-1));
      results.push(result);
      if (result.violations.length === 0) continue;
      keepForReplay(options, result, open.stage);
      // Later faults would find again what is broken now, so they get a new cluster.
      await open.close(true);
      open = undefined;
    }
    if (options.isHasty && results.some(({ violations }) => violations.length > 0)) break;
  }
  await open?.close(false);
  progress.close();
  return results;
}

function reasonNotToRun(options: CampaignOptions, fault: Fault): string | undefined {
  const reason = fault.lacks?.(options.machine);
  if (reason !== undefined) return reason;
  return roundsOf(options, fault) === 0 ? 'left out: too slow for a short campaign' : undefined;
}

/** Rounds of the fault that no run in the same folder has held, from 1. */
function roundsLeft(options: CampaignOptions, fault: Fault, progress: Progress): number[] {
  const held = new Set(progress.held(fault.name).flatMap(({ rounds }) => rounds));
  return Array.from({ length: roundsOf(options, fault) }, (_none, index) => index + 1).filter(
    (round) => !held.has(round),
  );
}

/** The line of a fault: rounds of earlier runs in the same folder, and those of this one. */
function resultOf(
  fault: Fault,
  progress: Progress,
  now: { readonly run: number; readonly figures: readonly Figures[]; readonly violations: Violation[] } = {
    run: 0,
    figures: [],
    violations: [],
  },
): Result {
  const held = progress.held(fault.name);
  return {
    fault: fault.name,
    rounds: held.flatMap(({ rounds }) => rounds).length + now.run,
    violations: now.violations,
    mayBreak: fault.mayBreak ?? 'nothing',
    ...sumOf([...held, ...now.figures]),
  };
}

/** Letters and hyphens, as a name of a folder. */
const stageName = ({ plan, shares, name }: Fault): string =>
  plan === undefined ? 'shared' : (shares ?? name).replaceAll(/\W+/g, '-');

interface OpenStage {
  readonly name: string;
  readonly stage: Stage;
  close(keepsData: boolean): Promise<void>;
}

/** Folders in which this process has had a cluster. */
const used = new Set<string>();

async function openStage(
  options: CampaignOptions,
  fault: Fault,
  name: string,
  progress: Progress,
): Promise<OpenStage> {
  const { folder, release, replicas, seed, traders, perSecond, say } = options;
  let place = join(folder, name);
  // A cluster with a violation is left as it is, and so is one that may have lost work when a run was killed. Copies of
  // the engine go by their ports, so a cluster that was closed in this run would find itself under other names.
  const isLeft = (): boolean =>
    existsSync(join(place, VIOLATIONS)) ||
    progress.isAbandoned(place) ||
    used.has(place) ||
    hasLongJournal(place);
  for (let turn = 2; isLeft(); turn += 1) place = join(folder, `${name}-${turn}`);
  used.add(place);
  mkdirSync(place, { recursive: true });
  const base: ClusterPlan = {
    folder: place,
    ...(release === undefined ? {} : { release }),
    ...(replicas === undefined ? {} : { replicas }),
  };
  const { plan, close } = (await fault.plan?.(base)) ?? { plan: base };
  say(`Starting a cluster in ${place} …`);
  const open = (): Promise<Stage> => Stage.open({ plan, seed, traders, perSecond, say });
  // Another program may have taken a port meanwhile: the next try has other ones.
  const opened = open().catch((error: Error) => {
    if (!error.message.includes('in use')) throw error;
    return open();
  });
  const stage = await opened.catch(async (error) => {
    await close?.();
    throw error;
  });
  return {
    name,
    stage,
    async close(keepsData) {
      await stage.close(keepsData);
      if (!keepsData) await close?.();
    },
  };
}

/** The next fault gets a new cluster then, because each rest reads every request of its cluster. */
function hasLongJournal(place: string): boolean {
  const journal = statSync(join(place, JOURNAL), { throwIfNoEntry: false });
  return journal !== undefined && journal.size > LONG_JOURNAL_BYTES;
}

const notRun = (fault: Fault, reason: string): Result => ({
  fault: fault.name,
  rounds: 0,
  violations: [],
  mayBreak: fault.mayBreak ?? 'nothing',
  notRun: reason,
  ...sumOf([]),
});

/** Invariants of the campaign itself: they tell nothing about the release. */
export const OF_CAMPAIGN: ReadonlySet<string> = new Set(['campaign', 'start']);

/** A cluster that does not start has held nothing, and later faults are run all the same. */
function notStarted({ say }: CampaignOptions, fault: Fault, { message }: Error): Result {
  say(`  VIOLATION of start: ${message}`);
  const violations = [{ invariant: 'start', detail: message.slice(0, 600) }];
  return { ...notRun(fault, 'its cluster does not start'), violations };
}

/** Returns a function that counts requests and unknown outcomes from now on. */
function openFigures({ model, driver }: Stage): (healedMs: number[], notes: string[]) => Figures {
  const { requests, unknowns } = model;
  const begunMs = performance.now();
  driver.answers.longestMs = 0;
  return (healedMs, notes) => ({
    healedMs,
    notes,
    longestMs: driver.answers.longestMs,
    tookMs: performance.now() - begunMs,
    requests: model.requests - requests,
    unknowns: model.unknowns - unknowns,
  });
}

/**
 * Runs the rounds that are left. Each rest at which everything holds is noted.
 * @param isRestLast whether the last round ends with a rest; otherwise a later fault's rest counts for this one too
 */
async function runFault(
  options: CampaignOptions,
  fault: Fault,
  stage: Stage,
  progress: Progress,
  isRestLast: boolean,
): Promise<Result> {
  const left = roundsLeft(options, fault, progress);
  const rounds = roundsOf(options, fault);
  const violations: Violation[] = [];
  const figures: Figures[] = [];
  let sinceRest: number[] = [];
  let healedMs: number[] = [];
  let notes: string[] = [];
  let figuresNow = openFigures(stage);
  let sinceIntent = stage.model.lastIntent;
  let run = 0;
  for (const round of left) {
    options.say(`${fault.name}, round ${round} of ${rounds} …`);
    stage.journal.write({ entry: 'round', fault: fault.name, round });
    const place = stage.cluster.plan.folder;
    if (fault.mayLose) progress.begin({ fault: fault.name, round, place });
    const scene = sceneOf(options, fault, stage, { round, sinceIntent, notes });
    const isLast = round === left.at(-1);
    const isRest = isShort(options) && !fault.mayLose ? isLast && isRestLast : isLast || isDue(fault, round);
    try {
      healedMs.push(await runRound(stage, fault, scene, isRest));
    } catch (error) {
      stage.found('campaign', `round ${round}: ${(error as Error).message}`);
    }
    run += 1;
    sinceRest.push(round);
    violations.push(...stage.takeViolations());
    if (!isRest && !isLast && violations.length === 0) continue;
    figures.push(figuresNow(healedMs, notes));
    const { longestMs } = figures.at(-1)!;
    const longest = `one answer took ${Math.round(longestMs)} ms: ${stage.driver.answers.longest}`;
    if (longestMs > LONG_ANSWER_MS) options.say(`  ${longest}`);
    if (longestMs > (fault.answersWithinMs ?? Number.POSITIVE_INFINITY))
      violations.push({ invariant: 'answers', detail: longest });
    if (violations.length > 0) break;
    stage.unrested.push({ fault: fault.name, rounds: sinceRest, ...figures.at(-1)! });
    if (!isRest) continue;
    for (const held of stage.unrested.splice(0)) progress.note(held);
    [sinceRest, healedMs, notes, figuresNow] = [[], [], [], openFigures(stage)];
    sinceIntent = stage.model.lastIntent;
  }
  for (const { invariant, detail } of violations) options.say(`  VIOLATION of ${invariant}: ${detail}`);
  return resultOf(fault, progress, { run, figures, violations });
}

function sceneOf(
  options: CampaignOptions,
  fault: Fault,
  stage: Stage,
  { round, sinceIntent, notes }: { round: number; sinceIntent: number; notes: string[] },
): Scene {
  return {
    cluster: stage.cluster,
    driver: stage.driver,
    sinceIntent,
    round,
    bulk: options.bulk ?? (isShort(options) ? SHORT_BULK : BULK_ORDERS),
    dice: random(options.seed * 31 + round + seedOf(fault.name)),
    isShort: roundsOf(options, fault) < fault.rounds,
    untilHealed: () => stage.untilHealed(),
    async untilEventsAreRead() {
      // A read that is under way may have begun earlier.
      for (let reads = 0; reads < 2; reads += 1) await stage.outbox.read();
    },
    quiet: () => stage.quiet(),
    lost: (afterSequence) => stage.lost(afterSequence, sinceIntent),
    violation: stage.found,
    note(figure) {
      notes.push(figure);
      options.say(`  ${figure}`);
    },
  };
}

const isDue = ({ restEvery = 1 }: Fault, round: number): boolean => round % restEvery === 0;

const seedOf = (name: string): number =>
  [...name].reduce((sum, letter) => sum * 7 + letter.charCodeAt(0), 0) % 1e6;

/** @returns milliseconds from the end of the fault until everything is ready */
async function runRound(stage: Stage, fault: Fault, scene: Scene, isRest: boolean): Promise<number> {
  if (fault.forgetsLimits) stage.forgetLimits();
  stage.driver.signsInAgain = fault.endsSessions === true;
  stage.driver.setsDeadlines = fault.stepsEngineClock !== true;
  await stage.begin();
  let healedMs: number;
  try {
    await sleep(UNDER_LOAD_MS);
    const heal = await fault.inject(scene);
    const begunMs = performance.now();
    await heal?.();
    await stage.untilHealed();
    healedMs = performance.now() - begunMs;
    await sleep(AFTERWARDS_MS);
  } finally {
    await stage.quiet();
  }
  if (fault.forgetsLimits) stage.forgetLimits();
  if (isRest) {
    stage.say('  at rest: checking …');
    await stage.rest();
  }
  return healedMs;
}

const VIOLATIONS = 'violations.json';

/** The journal, the data and the logs of the servers stay in the folder of the cluster; this says what to look for. */
function keepForReplay({ seed, rounds }: CampaignOptions, { fault, violations }: Result, stage: Stage): void {
  const { folder } = stage.cluster.plan;
  const text = JSON.stringify({ seed, rounds, fault, violations }, null, 2);
  writeFileSync(join(folder, VIOLATIONS), `${text}\n`);
  writeFileSync(join(folder, 'processes.log'), stage.cluster.processes.output());
}
