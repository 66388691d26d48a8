/** Brings a history to rest: faults are over, whatever was begun ends, and everything is settled. */

import type { Execution, ExecutionOptions } from './execution.ts';
import type { Operation } from './operations.ts';
import { API_NAMES } from './processes.ts';
import { Violation } from './violation.ts';
import { WALLETS } from './wallets.ts';
import { MARKETS } from './world.ts';

const MAX_ROUNDS = 2_000;
/** Rounds between looks for settled events that the engine lacks, after which only an operator can go on. */
const LOOK_EVERY_ROUNDS = 50;
/** Longer than every switch of a history. */
const AFTER_SWITCHES_MS = 20_000;

export class Rest {
  readonly #parts: ExecutionOptions;
  readonly #execution: Execution;

  constructor(parts: ExecutionOptions, execution: Execution) {
    this.#parts = parts;
    this.#execution = execution;
  }

  /** Runs what the processes ask at their start, until their engines are open. */
  async open(): Promise<void> {
    do await this.#execution.quiet();
    while (await this.#drain());
  }

  /**
   * Unknown requests are repeated until each has an answer, and settlement reaches the last event.
   * @param hasSwitches every dead-man switch becomes due
   * @throws Violation
   */
  async reach(hasSwitches: boolean): Promise<void> {
    const { clients, processes, time } = this.#parts;
    const ask = (operation: Operation): void => {
      const { name, service } = processes.get(API_NAMES[0]!);
      clients.start(operation, name, service);
    };
    // Lists of whatever is not settled yet.
    for (const wallet of WALLETS) ask({ do: 'list', wallet });
    await this.#untilRest();
    for (const market of MARKETS) ask({ do: 'candles', market, timeframe: '1h' });
    ask({ do: 'figures' });
    await this.#untilRest();
    if (!hasSwitches) return;
    const restMs = time.serverMs;
    this.#execution.pass(AFTER_SWITCHES_MS);
    await this.#execution.quiet();
    await this.#untilRest();
    this.#checkSwitches(restMs);
  }

  async #untilRest(): Promise<void> {
    const { world } = this.#parts;
    let idle = 0;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      await this.#execution.quiet();
      if (await this.#drain()) continue;
      if (await this.#isAtRest()) return;
      idle += 1;
      if (idle % LOOK_EVERY_ROUNDS === 0 && (await world.isSettledBeyondReplica())) break;
      await this.#goOn(round);
    }
    throw new Violation('everything comes to rest', await this.#unrest());
  }

  /** Runs whatever waits. @returns whether anything did */
  async #drain(): Promise<boolean> {
    const { processes, time } = this.#parts;
    const execution = this.#execution;
    let isBusy = false;
    for (const link of [...processes.links.values()]) {
      time.actor = link.actor;
      if (processes.connect(link)) isBusy = true;
      for (let left = link.late.length; await execution.late(link); left = link.late.length) {
        // A statement that waits for a lock is asked again after those of other links, one of which has the lock.
        if (link.late.length === left) break;
        isBusy = true;
        if (link.blocked !== undefined) break;
      }
      if (execution.deliver(link) || (await execution.serve(link, true))) isBusy = true;
      if (isBusy) await execution.quiet();
    }
    for (const number of time.due()) isBusy = time.fire(number) || isBusy;
    return isBusy;
  }

  async #isAtRest(): Promise<boolean> {
    const { clients, processes, world } = this.#parts;
    const { journal } = world;
    if (clients.running() + clients.unknown().length > 0) return false;
    if (journal.isBehind || (journal.isLost && !(await this.#isRebuilt()))) return false;
    const settled = (await world.cursor()).sequence;
    if (journal.isLost) journal.forgetAfter(settled);
    return (
      settled === journal.last?.sequence &&
      [...processes.actors.values()].every(({ isSettling }) => !isSettling)
    );
  }

  async #isRebuilt(): Promise<boolean> {
    return (await this.#parts.world.redis.exists('{redbook}:engine')) === 1;
  }

  async #goOn(round: number): Promise<void> {
    const { clients, processes, time, world } = this.#parts;
    const api = processes.get(API_NAMES[round % API_NAMES.length]!);
    const [request] = clients.unknown();
    if (request !== undefined && api.service.isOpen()) {
      time.actor = api.name;
      clients.repeat(request, api.name, api.service);
    }
    if (world.journal.isBehind) await world.loseRedis();
    if (world.journal.isLost && !(await this.#isRebuilt()) && clients.running('rebuild') === 0) {
      const operator = processes.get('operator 0');
      clients.start({ do: 'rebuild' }, operator.name, operator.service);
    }
    for (const { name, kind } of processes.actors.values())
      if (kind === 'settlement') this.#execution.wake(name);
    this.#execution.pass(Math.min(time.untilNext() ?? 100, 300) + 1);
    await this.#execution.quiet();
  }

  /** @param restMs time since which nobody places an order */
  #checkSwitches(restMs: number): void {
    const { clients, time, world } = this.#parts;
    const { journal } = world;
    const { switches, unsure } = clients.promises;
    if (journal.losses > 0) return;
    for (const [wallet, due] of switches) {
      const live = journal.liveOf(wallet, null);
      const isDue = due !== null && due > restMs && due <= time.serverMs;
      if (isDue && !unsure.has(wallet) && live.length > 0)
        throw new Violation('a due switch cancels the orders of its wallet', `${wallet}: ${live.join(' ')}`);
    }
  }

  async #unrest(): Promise<string> {
    const { clients, processes, world } = this.#parts;
    const waiting = clients.requests.filter(({ state }) => state === 'running' || state === 'unknown');
    const open = [...processes.actors.values()]
      .filter(({ service }) => service.isOpen())
      .map(({ name }) => name);
    const { last, isLost } = world.journal;
    return JSON.stringify({
      ...{ waiting, open, cursor: await world.cursor(), last: `${last?.epoch}-${last?.sequence}`, isLost },
      links: [...processes.links.values()].map(({ name, queue, late, blocked }) => [
        ...[name, queue.map(({ label }) => label), late.map(({ label }) => label), blocked?.label],
      ]),
    });
  }
}
