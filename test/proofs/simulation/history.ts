/**
 * One history: processes of the product on two real servers, and a scheduler that decides which of their commands runs
 * next, which reply is lost, which process ends and how the clocks go. Nothing else happens at the same time.
 */

import { type Random, random } from '../../support/seed.ts';
import { Clients } from './clients.ts';
import { Activity, Execution, type ExecutionOptions, Rest } from './execution.ts';
import { Violation } from './journal.ts';
import { checkServers } from './oracle.ts';
import { Processes } from './processes.ts';
import { type Decision, type Flavour, flavourOf, Scheduler } from './scheduler.ts';
import type { Sabotage } from './service.ts';
import { VirtualTime } from './virtual-time.ts';
import { PATIENT_WALLET } from './wallets.ts';
import type { World } from './world.ts';

export interface HistoryOptions {
  readonly world: World;
  readonly seed: number;
  /** Decisions of the scheduler before faults end and everything is brought to rest. */
  readonly steps: number;
  readonly sabotage?: Sabotage | undefined;
  /** Replays these decisions instead of drawing them. */
  readonly replay?: readonly Decision[] | undefined;
}

export interface HistoryResult {
  readonly violation: Violation | undefined;
  readonly decisions: readonly Decision[];
  /** Commands and statements that the servers ran. */
  readonly commands: number;
  /** Digest of everything that happened, in its order. */
  readonly trace: string;
}

export class History {
  readonly #options: HistoryOptions;
  readonly #dice: Random;
  readonly #flavour: Flavour;
  readonly #parts: ExecutionOptions;
  readonly #execution: Execution;
  readonly #rest: Rest;
  readonly #decisions: Decision[] = [];

  constructor(options: HistoryOptions) {
    const { world, seed, sabotage } = options;
    this.#options = options;
    this.#dice = random(seed);
    this.#flavour = flavourOf(this.#dice, world.replication !== undefined);
    const activity = new Activity();
    const { note: onActivity } = activity;
    this.#parts = {
      world,
      activity,
      time: new VirtualTime(seed, onActivity),
      clients: new Clients(world, onActivity),
      processes: new Processes({ world, sabotage, hasSwitches: this.#flavour.switches, onActivity }),
    };
    this.#execution = new Execution(this.#parts);
    this.#rest = new Rest(this.#parts, this.#execution);
  }

  async run(): Promise<HistoryResult> {
    const { world, time, clients, processes } = this.#parts;
    await world.reset();
    if (world.replication === undefined) await world.markFilter(this.#flavour.marked);
    world.replication?.draw(this.#dice);
    if (this.#flavour.switches) world.switches.watch(PATIENT_WALLET);
    time.install();
    let violation: Violation | undefined;
    try {
      processes.bootAll(time);
      await this.#rest.open();
      await this.#decideAll();
      await this.#rest.reach(this.#flavour.switches);
      await checkServers(world, clients.promises);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      if (!(await world.isSettledBeyondReplica())) violation = error;
    } finally {
      await processes.endAll();
      VirtualTime.remove();
    }
    const { commands } = this.#execution;
    return { violation, decisions: this.#decisions, commands, trace: this.#execution.trace() };
  }

  async #decideAll(): Promise<void> {
    const { replay, steps } = this.#options;
    if (replay !== undefined) for (const decision of replay) await this.#decide(decision);
    else {
      const scheduler = new Scheduler({ ...this.#parts, dice: this.#dice, flavour: this.#flavour });
      for (let step = 0; step < steps; step += 1) {
        const decision = scheduler.draw();
        if (await this.#decide(decision)) scheduler.decided(decision);
      }
    }
  }

  /** @returns false when the decision was not possible */
  async #decide(decision: Decision): Promise<boolean> {
    this.#decisions.push(decision);
    const isPossible = await this.#execution.decide(decision);
    if (!isPossible) this.#decisions.pop();
    return isPossible;
  }
}
