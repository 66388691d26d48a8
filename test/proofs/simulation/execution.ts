/**
 * Carries decisions out: runs commands on the servers, delivers replies, ends processes, moves the clocks. Brings a
 * history to rest at its end.
 */

import { createHash } from 'node:crypto';
import type { Clients } from './clients.ts';
import { Violation } from './journal.ts';
import type { Link, Outcome } from './link.ts';
import type { Operation } from './operations.ts';
import { API_NAMES, type Processes } from './processes.ts';
import type { Decision } from './scheduler.ts';
import type { VirtualTime } from './virtual-time.ts';
import { WALLETS } from './wallets.ts';
import { MARKETS, type World } from './world.ts';

const MAX_ROUNDS = 2_000;
/** Turns of one process without any other. */
const MAX_TURNS = 60;
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
    const { clients, processes, time, world } = this.#parts;
    world.replication?.mend();
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
    if (world.replication !== undefined) {
      ask({ do: 'reconcile' });
      await this.#untilRest();
    }
    if (!hasSwitches) return;
    const rest = { serverMs: time.serverMs, elapsedMs: time.elapsedMs };
    this.#execution.pass(AFTER_SWITCHES_MS);
    await this.#execution.quiet();
    await this.#untilRest();
    this.#checkSwitches(rest);
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
    const { processes, time, world } = this.#parts;
    const execution = this.#execution;
    let isBusy = world.replication?.work() ?? false;
    if (world.replication !== undefined) {
      await execution.unblock();
      // An order of a keeper fails when anything is written meanwhile, so each process goes on alone.
      for (const name of processes.actors.keys()) isBusy = (await execution.work(name)) || isBusy;
    }
    for (const link of [...processes.links.values()]) {
      time.actor = link.actor;
      if (await processes.connect(link)) isBusy = true;
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
    if (world.replication?.areEqual() === false || (await this.#lackCopies())) return false;
    return (
      settled === journal.last?.sequence &&
      [...processes.actors.values()].every(({ isSettling }) => !isSettling)
    );
  }

  async #lackCopies(): Promise<boolean> {
    const { replication } = this.#parts.world;
    if (replication === undefined) return false;
    const { members, joining } = await this.#parts.world.copiesRow();
    return members.length < replication.servers.length || joining.length > 0;
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
    if (world.isPutBack && clients.running('adopt anyway') === 0)
      await this.#execution.decide(['start', 'operator 0', { do: 'adopt anyway' }]);
    for (const { name, kind } of processes.actors.values())
      if (kind === 'settlement') this.#execution.wake(name);
    this.#execution.pass(Math.min(time.untilNext() ?? 100, 300) + 1);
    await this.#execution.quiet();
  }

  /** @param rest the clocks since which nobody places an order */
  #checkSwitches(rest: Pick<VirtualTime, 'serverMs' | 'elapsedMs'>): void {
    const { clients, time, world } = this.#parts;
    const { journal } = world;
    const { switches, unsure } = clients.promises;
    if (journal.losses > 0) return;
    for (const [wallet, due] of switches) {
      const live = journal.liveOf(wallet, null);
      // A step back of the server's clock delays no switch, so its due time alone does not tell when it fired.
      const isLater = due !== null && due.dueMs > rest.serverMs && due.notBeforeMs > rest.elapsedMs;
      const isDue = isLater && due.dueMs <= time.serverMs;
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
      waiting,
      open,
      cursor: await world.cursor(),
      last: `${last?.epoch}-${last?.sequence}`,
      isLost,
      copies: await world.copiesRow(),
      servers: world.replication?.shown(),
      links: [...processes.links.values()].map(({ name, queue, late, blocked }) => [
        name,
        queue.map(({ label }) => label),
        late.map(({ label }) => label),
        blocked?.label,
      ]),
    });
  }
}

/** Turns of the event loop without anything new, after which every process waits. */
const QUIET_TURNS = 3;

const setRealImmediate = globalThis.setImmediate;
const turn = (): Promise<void> => new Promise((resolve) => setRealImmediate(resolve));

/** Counts what processes do, so that a history knows when all of them wait. */
export class Activity {
  count = 0;
  readonly note = (): void => {
    this.count += 1;
  };
}

export interface ExecutionOptions {
  readonly world: World;
  readonly time: VirtualTime;
  readonly processes: Processes;
  readonly clients: Clients;
  readonly activity: Activity;
}

export class Execution {
  /** Commands and statements that the servers ran. */
  commands = 0;
  readonly #parts: ExecutionOptions;
  readonly #trace = createHash('sha256');

  constructor(parts: ExecutionOptions) {
    this.#parts = parts;
  }

  /** Returns the digest of everything that happened, in its order. */
  trace(): string {
    return this.#trace.digest('hex');
  }

  /**
   * Carries a decision out, and waits until every process waits again.
   * @returns false when the decision is not possible now
   */
  async decide(decision: Decision): Promise<boolean> {
    if (!(await this.#apply(decision))) return false;
    this.#trace.update(`${decision.join(' ')}\n`);
    await this.quiet();
    return true;
  }

  /** Waits until every process waits for the scheduler. */
  async quiet(): Promise<void> {
    const { activity, clients, processes } = this.#parts;
    for (let quiet = 0; quiet < QUIET_TURNS; ) {
      const before = activity.count;
      await turn();
      quiet = activity.count === before ? quiet + 1 : 0;
    }
    if (clients.violation !== undefined) throw clients.violation;
    for (const { name, service } of processes.actors.values())
      if (service.hasDiverged()) throw new Violation('engine and ledger never contradict each other', name);
  }

  async #apply(decision: Decision): Promise<boolean> {
    const { clients, processes, time } = this.#parts;
    switch (decision[0]) {
      case 'serve':
      case 'run':
      case 'deliver':
      case 'late':
      case 'cut':
      case 'connect':
      case 'abandon':
      case 'lock timeout':
        return this.#applyToLink(decision);
      case 'start':
        time.actor = decision[1];
        if (decision[2].do.startsWith('adopt')) await processes.look(decision[1]);
        clients.start(decision[2], decision[1], processes.get(decision[1]).service);
        return true;
      case 'repeat': {
        const request = clients.requests[decision[2]];
        if (request?.state !== 'unknown') return false;
        time.actor = decision[1];
        clients.repeat(request, decision[1], processes.get(decision[1]).service);
        return true;
      }
      case 'wake':
        return this.wake(decision[1]);
      case 'work':
        return this.work(decision[1]);
      case 'crash':
        time.actor = decision[1];
        clients.loseActor(decision[1]);
        processes.crash(processes.get(decision[1]), decision[2]);
        return true;
      default:
        return this.#applyToAll(decision);
    }
  }

  async #applyToLink(decision: readonly [string, string, number?]): Promise<boolean> {
    const { processes, time } = this.#parts;
    const [what, name] = decision;
    const link = processes.links.get(name);
    if (link === undefined) return false;
    time.actor = link.actor;
    switch (what) {
      case 'serve':
      case 'run':
        return this.serve(link, what === 'serve');
      case 'deliver':
        return this.deliver(link);
      case 'late':
        return this.late(link);
      case 'cut':
        if (!link.isOpen) return false;
        processes.cut(link, decision[2]!);
        return true;
      case 'connect':
        return processes.connect(link, decision[2]);
      case 'abandon':
        if (!link.isOpen || processes.ofRedis(link) === undefined) return false;
        link.abandon(new Error('Command timed out'));
        return true;
      default:
        // Postgres ends a statement that waits for a lock.
        if (link.blocked === undefined || !link.isOpen || processes.ofRedis(link)) return false;
        processes.cut(link, 0);
        return true;
    }
  }

  async #applyToAll(decision: Decision): Promise<boolean> {
    const { processes, time, world } = this.#parts;
    switch (decision[0]) {
      case 'timer':
        return time.fire(decision[1]);
      case 'pass':
        this.pass(decision[1]);
        if (world.replication !== undefined) await this.unblock();
        return true;
      case 'step clock':
        time.serverMs += decision[1];
        world.nowMs = time.serverMs;
        world.hasSteppedClock = true;
        return true;
      case 'step own clock':
        time.step(decision[1], decision[2]);
        return true;
      case 'restart redis':
        processes.changeServer(decision[1]);
        return true;
      case 'forget scripts':
        await world.forgetScripts();
        return true;
      case 'lose redis':
        await world.loseRedis();
        if (decision[1]) processes.changeServer(0);
        return true;
      case 'replica lags':
        if (world.journal.isLost) return false;
        await world.copyReplica();
        return true;
      case 'fail over':
        if (!world.hasReplica) return false;
        await world.failOver();
        processes.changeServer(0);
        return true;
      case 'snapshot postgres':
        await world.takeSnapshot();
        return true;
      case 'put postgres back':
        if (!world.hasSnapshot || world.replication?.hasLost !== false) return false;
        await processes.endPostgres();
        await world.putBack();
        return true;
      case 'copy':
        if (world.replication?.step(decision[1], decision[2]) !== true) return false;
        await this.unblock();
        return true;
      default:
        return false;
    }
  }

  /** One process goes on until it waits for another, or for time to pass. */
  async work(actor: string): Promise<boolean> {
    const { processes, time } = this.#parts;
    for (let turn = 0; turn < MAX_TURNS; turn += 1) {
      let isBusy = false;
      for (const link of [...processes.links.values()].filter((one) => one.actor === actor)) {
        isBusy = this.deliver(link) || (await this.serve(link, true)) || isBusy;
        await this.quiet();
      }
      for (const number of time.due(actor)) isBusy = time.fire(number) || isBusy;
      if (!isBusy) return turn > 0;
      await this.quiet();
    }
    return true;
  }

  /** All clocks go on. */
  pass(ms: number): void {
    const { time, world } = this.#parts;
    time.pass(ms);
    world.nowMs = time.serverMs;
  }

  /** @returns false when the connection has nothing to run */
  async serve(link: Link, delivers: boolean): Promise<boolean> {
    if (!link.canServe) return false;
    const { label } = link.queue[0]!;
    await link.serve();
    this.commands += 1;
    const outcome = link.replies.at(-1)?.outcome;
    this.#trace.update(`${label}: ${outcome === undefined ? 'waits' : wordOf(outcome)}\n`);
    if (delivers) this.deliver(link);
    await this.unblock(link);
    return true;
  }

  /** @returns false when there is no reply to deliver */
  deliver(link: Link): boolean {
    if (link.replies.length === 0) return false;
    this.#parts.time.actor = link.actor;
    link.deliver();
    return true;
  }

  /** Whatever waits no longer has run: a statement whose lock is free, or a command that waits for copies. */
  async unblock(served?: Link): Promise<void> {
    for (const link of this.#parts.processes.links.values())
      if (link !== served && link.blocked !== undefined && link.isOpen && (await link.unblock()))
        this.#trace.update(`${link.name} goes on\n`);
  }

  /** Runs the oldest of what was under way when the connection broke. */
  async late(link: Link): Promise<boolean> {
    if (!link.canRunLate) return false;
    const served = await link.runLate();
    this.commands += 1;
    this.#trace.update(`late ${served?.sent.label}: ${served && wordOf(served.outcome)}\n`);
    if (link.late.length === 0 && link.isDead) this.#parts.processes.links.delete(link.name);
    await this.unblock(link);
    return true;
  }

  /** @returns false when the process is settling already */
  wake(name: string): boolean {
    const { activity, clients, processes, time } = this.#parts;
    const actor = processes.get(name);
    if (actor.isSettling) return false;
    time.actor = name;
    actor.isSettling = true;
    const ended = (): void => {
      activity.note();
      actor.isSettling = false;
    };
    actor.service.settle().then(ended, (error: unknown) => {
      ended();
      clients.violation ??= new Violation('settlement never rejects', String(error));
    });
    return true;
  }
}

const wordOf = (outcome: Outcome): string => ('error' in outcome ? String(outcome.error) : 'answered');
