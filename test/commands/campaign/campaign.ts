/** Runs faults, round after round, on clusters under load, and checks at each rest that nothing was lost. */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { random } from '../../support/seed.ts';
import type { ClusterPlan } from './cluster.ts';
import type { Fault, Machine, Scene } from './faults/fault.ts';
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
  /** Folder of the sources that the processes run. */
  readonly release?: string;
  /** Processes of each role, where they are fewer than usual. */
  readonly replicas?: ClusterPlan['replicas'];
  /** Ends with the first violation. */
  readonly isHasty?: boolean;
  readonly say: (line: string) => void;
}

/** One line of the table. */
export interface Result {
  readonly fault: string;
  readonly rounds: number;
  readonly requests: number;
  readonly unknowns: number;
  readonly violations: readonly Violation[];
  /** Milliseconds until all was ready again: of each round. */
  readonly healedMs: readonly number[];
  /** Milliseconds of the longest answer. */
  readonly longestMs: number;
  readonly mayBreak: string;
  readonly notes: readonly string[];
  /** The reason why it was not run. */
  readonly notRun?: string;
}

const UNDER_LOAD_MS = 400;
const AFTERWARDS_MS = 300;

const roundsOf = ({ rounds }: CampaignOptions, fault: Fault): number =>
  rounds === undefined ? fault.rounds : Math.min(rounds, fault.rounds);

export async function runCampaign(options: CampaignOptions): Promise<Result[]> {
  mkdirSync(options.folder, { recursive: true });
  const results: Result[] = [];
  let open: OpenStage | undefined;
  for (const fault of options.faults) {
    const reason = fault.lacks?.(options.machine);
    if (reason !== undefined) {
      results.push(notRun(fault, reason));
      continue;
    }
    const name = stageName(fault);
    if (open?.name !== name) {
      await open?.close(false);
      open = await openStage(options, fault, name);
    }
    const result = await runFault(options, fault, open.stage);
    results.push(result);
    if (result.violations.length === 0) continue;
    keepForReplay(options, result, open.stage);
    // Later faults would find again what is broken now, so they get a new cluster.
    await open.close(true);
    open = undefined;
    if (options.isHasty) break;
  }
  await open?.close(false);
  return results;
}

/** Letters and hyphens, as a name of a folder. */
const stageName = ({ plan, shares, name }: Fault): string =>
  plan === undefined ? 'shared' : (shares ?? name).replaceAll(/\W+/g, '-');

interface OpenStage {
  readonly name: string;
  readonly stage: Stage;
  close(keepsData: boolean): Promise<void>;
}

async function openStage(options: CampaignOptions, fault: Fault, name: string): Promise<OpenStage> {
  const { folder, release, replicas, seed, traders, perSecond, say } = options;
  let place = join(folder, name);
  // A cluster with a violation is left as it is.
  for (let turn = 2; existsSync(join(place, VIOLATIONS)); turn += 1) place = join(folder, `${name}-${turn}`);
  mkdirSync(place, { recursive: true });
  const base: ClusterPlan = {
    folder: place,
    ...(release === undefined ? {} : { release }),
    ...(replicas === undefined ? {} : { replicas }),
  };
  const { plan, close } = (await fault.plan?.(base)) ?? { plan: base };
  say(`Starting a cluster in ${place} …`);
  const stage = await Stage.open({ plan, seed, traders, perSecond, say });
  return {
    name,
    stage,
    async close(keepsData) {
      await stage.close(keepsData);
      if (!keepsData) await close?.();
    },
  };
}

const notRun = (fault: Fault, reason: string): Result => ({
  fault: fault.name,
  rounds: 0,
  requests: 0,
  unknowns: 0,
  violations: [],
  healedMs: [],
  longestMs: 0,
  mayBreak: fault.mayBreak,
  notes: [],
  notRun: reason,
});

async function runFault(options: CampaignOptions, fault: Fault, stage: Stage): Promise<Result> {
  const { say } = options;
  const rounds = roundsOf(options, fault);
  const { requests, unknowns } = stage.model;
  const [violations, healedMs, notes]: [Violation[], number[], string[]] = [[], [], []];
  stage.driver.answers.longestMs = 0;
  let sinceIntent = stage.model.lastIntent;
  let run = 0;
  for (let round = 1; round <= rounds && violations.length === 0; round += 1) {
    if (stage.model.held.has(`${fault.name} ${round}`)) continue;
    say(`${fault.name}, round ${round} of ${rounds} …`);
    stage.journal.write({ entry: 'round', fault: fault.name, round });
    const scene: Scene = {
      cluster: stage.cluster,
      driver: stage.driver,
      sinceIntent,
      dice: random(options.seed * 31 + round + seedOf(fault.name)),
      isShort: rounds < fault.rounds,
      untilHealed: () => stage.untilHealed(),
      quiet: () => stage.quiet(),
      lost: (afterSequence) => stage.lost(afterSequence, sinceIntent),
      violation: stage.found,
      note: (figure) => notes.push(figure),
    };
    const isRest = round === rounds || round % (fault.restEvery ?? 1) === 0;
    try {
      healedMs.push(await runRound(stage, fault, scene, isRest));
    } catch (error) {
      stage.found('campaign', `round ${round}: ${(error as Error).message}`);
    }
    run += 1;
    violations.push(...stage.takeViolations());
    if (!isRest || violations.length > 0) continue;
    const held = { entry: 'held', fault: fault.name, round } as const;
    for (let done = round - (fault.restEvery ?? 1) + 1; done <= round; done += 1)
      if (done > 0) stage.journal.write({ ...held, round: done });
    sinceIntent = stage.model.lastIntent;
  }
  for (const { invariant, detail } of violations) say(`  VIOLATION of ${invariant}: ${detail}`);
  return {
    fault: fault.name,
    rounds: run,
    violations,
    healedMs,
    mayBreak: fault.mayBreak,
    notes,
    requests: stage.model.requests - requests,
    unknowns: stage.model.unknowns - unknowns,
    longestMs: stage.driver.answers.longestMs,
  };
}

const seedOf = (name: string): number =>
  [...name].reduce((sum, letter) => sum * 7 + letter.charCodeAt(0), 0) % 1e6;

/** @returns milliseconds from the end of the fault until everything is ready */
async function runRound(stage: Stage, fault: Fault, scene: Scene, isRest: boolean): Promise<number> {
  if (fault.forgetsLimits) stage.forgetLimits();
  stage.begin();
  let healedMs: number;
  try {
    await sleep(UNDER_LOAD_MS);
    const heal = await fault.inject(scene);
    await heal();
    healedMs = await stage.untilHealed();
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
