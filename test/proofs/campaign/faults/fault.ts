/** A fault: what is done to the service while clients trade, and what it may honestly break. */

import type { Random } from '../../../support/seed.ts';
import type { Cluster, ClusterPlan } from '../cluster.ts';
import type { Driver } from '../driver.ts';

/** Abilities of this machine that some faults need beyond those of an ordinary process. */
export interface Machine {
  readonly isRoot: boolean;
  /** The kernel can drop packets of chosen ports at random: `nft`. */
  readonly hasNftables: boolean;
  readonly hasTmpfs: boolean;
  readonly hasFakedClock: boolean;
}

export interface Scene {
  readonly cluster: Cluster;
  readonly driver: Driver;
  readonly dice: Random;
  /** From 1. */
  readonly round: number;
  /** Number of the last intent of the last rest: what was told before is settled. */
  readonly sinceIntent: number;
  /** Rounds of the fault that were asked for are fewer than its own: long waits are made short. */
  readonly isShort: boolean;
  /** Events of a large lag, and orders of a large rebuild. */
  readonly bulk: number;
  /** Waits until every process is ready again and answers. */
  untilHealed(): Promise<unknown>;
  /** Waits until the campaign's own reader has every event that the engine has at this moment. */
  untilEventsAreRead(): Promise<void>;
  /** Ends the load, so that nothing new is placed on an engine before its loss is noted. */
  quiet(): Promise<void>;
  /** Notes that the engine lost the events after one, so replies since the last rest may not hold. */
  lost(afterSequence: number): void;
  /** A violation that the fault itself sees. */
  violation(invariant: string, detail: string): void;
  /** A figure for the table. */
  note(figure: string): void;
}

export interface Fault {
  readonly name: string;
  /** Rounds of a whole campaign. */
  readonly rounds: number;
  /** Rounds when `--rounds` is 1 or 2; 0 leaves the fault out. The same as `rounds` asks for unless given. */
  readonly shortRounds?: number;
  /** Rounds between two rests at which everything is checked. 1 where a round may lose something. */
  readonly restEvery?: number;
  /** Measured seconds of a round with its share of a rest, on two cores; the default is `USUAL_SECONDS`. */
  readonly seconds?: number;
  /** Longest that a client may wait for an answer. */
  readonly answersWithinMs?: number;
  /** The invariants that the fault excuses, in words for the table; everything else must hold. None unless given. */
  readonly mayBreak?: string;
  /** A round may lose acknowledged work, or has older files in place: a run that was killed in one leaves its cluster. */
  readonly mayLose?: boolean;
  /** The queue's Redis may lose its counts. */
  readonly forgetsLimits?: boolean;
  /** Replicas may refuse sessions of each other: clients sign in again. */
  readonly endsSessions?: boolean;
  /** The clock of the engine's Redis leaves that of the campaign, so orders have no deadlines. */
  readonly stepsEngineClock?: boolean;
  /** @returns the reason why this machine cannot run it */
  readonly lacks?: (machine: Machine) => string | undefined;
  /** A cluster that differs from the one that most faults share. */
  readonly plan?: (base: ClusterPlan) => Promise<OwnPlan>;
  /** Name of that cluster, where several faults in a row share it. */
  readonly shares?: string;
  /** Does the harm, under load. @returns what undoes it, if it does not end by itself */
  inject(scene: Scene): Injected;
}

export type Injected = Promise<() => Promise<void>> | Promise<void>;

export interface OwnPlan {
  readonly plan: ClusterPlan;
  /** Called when the cluster has stopped. */
  readonly close?: () => Promise<void>;
}

/** Several faults in turn, each healed before the next one, as one fault with one rest. None of them may lose anything. */
export const inTurn = (name: string, faults: readonly Fault[]): Fault => ({
  name,
  rounds: 1,
  forgetsLimits: faults.some(({ forgetsLimits }) => forgetsLimits === true),
  async inject(scene) {
    for (const fault of faults) {
      const heal = await fault.inject(scene);
      await heal?.();
      await scene.untilHealed();
    }
  },
});

export const LIMITS = 'request limits of whoever cannot reach the queue Redis';
export const QUEUE_FORGETS = 'request limits forget their counts, sign-ins under way';

/** Measured seconds of a usual round, and of the start of a cluster. */
export const USUAL_SECONDS = 8;
export const CLUSTER_SECONDS = 15;
