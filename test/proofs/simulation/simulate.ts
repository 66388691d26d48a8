/** Runs histories one after the other until one breaks an invariant, and leaves out what does not matter to it. */

import { loadPlanted, type Planted, rewriteOf } from '../../planted/planted.ts';
import { History, type HistoryResult } from './history.ts';
import { SABOTAGE } from './sabotage.ts';
import type { Decision } from './scheduler.ts';
import { onSimulatedClock } from './simulated-redis.ts';
import { World, type WorldOptions } from './world.ts';

/**
 * @param replay runs a history of the given decisions
 * @param most replays at most
 * @returns the shortest history that was found, which breaks the same invariant
 */
async function shrink(
  failing: HistoryResult,
  replay: (decisions: readonly Decision[]) => Promise<HistoryResult>,
  max: number,
): Promise<HistoryResult> {
  const invariant = failing.violation?.invariant;
  let shortest = failing;
  let replays = 0;
  for (let length = Math.ceil(failing.decisions.length / 2); length >= 1; ) {
    let isShorter = false;
    for (let at = 0; at < shortest.decisions.length && replays < max; ) {
      const rest = shortest.decisions.filter((_one, index) => index < at || index >= at + length);
      replays += 1;
      const found = await replay(rest);
      // Decisions that had become impossible are left out of the result as well.
      const isSame = found.violation?.invariant === invariant;
      if (isSame && found.decisions.length < shortest.decisions.length) {
        shortest = found;
        isShorter = true;
      } else at += length;
    }
    if (replays >= max) break;
    if (length > 1) length = Math.ceil(length / 2);
    else if (!isShorter) break;
  }
  return shortest;
}

export interface SimulationOptions {
  readonly world: World;
  readonly histories: number;
  /** Seed of the first history; the others have those that follow. */
  readonly seed: number;
  /** Decisions of a history before everything is brought to rest. */
  readonly steps: number;
  readonly fault?: Planted | undefined;
  /** Replays of a failing history in order to shorten it. */
  readonly maxReplays: number;
}

export interface Failure {
  readonly seed: number;
  /** Number of the engine's copies; 1: it is on one server. */
  readonly copies: number;
  readonly steps: number;
  readonly message: string;
  /** Decisions of the shortest history that was found. */
  readonly decisions: readonly Decision[];
}

export interface Simulated {
  readonly histories: number;
  /** Decisions of the scheduler, and commands and statements that the servers ran. */
  readonly decisions: number;
  readonly commands: number;
  readonly failure: Failure | undefined;
  /** Patterns of the planted fault that no statement had: it was not planted. */
  readonly unmet: readonly string[];
}

export function openWorld(options: WorldOptions, fault?: Planted): Promise<World> {
  if (fault === undefined) return World.open(options);
  if (fault.changes.length === 0 && SABOTAGE[fault.name] === undefined)
    throw new Error(`nothing is planted: ${fault.name}`);
  const load = loadPlanted(fault);
  return World.open({ ...options, load: (name) => onSimulatedClock(load(name)), rewrite: rewriteOf(fault) });
}

export async function simulate(options: SimulationOptions): Promise<Simulated> {
  const { world, histories, seed: first, steps, fault, maxReplays } = options;
  const run = (seed: number, replay?: readonly Decision[]): Promise<HistoryResult> =>
    new History({ world, seed, steps, sabotage: fault && SABOTAGE[fault.name], replay }).run();
  let decisions = 0;
  let commands = 0;
  for (let done = 0; done < histories; done += 1) {
    const seed = first + done;
    const result = await run(seed);
    decisions += result.decisions.length;
    commands += result.commands;
    if (result.violation === undefined) continue;
    const shortest = await shrink(result, (replay) => run(seed, replay), maxReplays);
    const { message } = shortest.violation!;
    const copies = world.replication?.servers.length ?? 1;
    const failure = { seed, copies, steps, message, decisions: shortest.decisions };
    return { histories: done + 1, decisions, commands, failure, unmet: world.unmet };
  }
  return { histories, decisions, commands, failure: undefined, unmet: world.unmet };
}

/** Replays decisions that a failure has printed. */
export const replay = (world: World, { seed, steps, decisions }: Failure): Promise<HistoryResult> =>
  new History({ world, seed, steps, replay: decisions }).run();
