/**
 * One history: processes of the product on two real servers, and a scheduler that decides which of their commands runs
 * next, which reply is lost, which process ends and how the clocks go. Nothing else happens at the same time.
 */

import { createHash } from 'node:crypto';
import type pg from 'pg';
import { type Random, random } from '../../support/seed.ts';
import { Clients } from './clients.ts';
import type { Decision, Weighed } from './decisions.ts';
import { Link } from './link.ts';
import { type Operation, Operations } from './operations.ts';
import { checkServers } from './oracle.ts';
import { type Sabotage, Service } from './service.ts';
import { breakOff, type PoolHost, SimulatedPool } from './simulated-postgres.ts';
import { SimulatedRedis } from './simulated-redis.ts';
import { Violation } from './violation.ts';
import { VirtualTime } from './virtual-time.ts';
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

interface Actor {
  readonly name: string;
  readonly kind: 'api' | 'settlement' | 'operator';
  readonly redis: SimulatedRedis;
  readonly service: Service;
  isSettling: boolean;
}

const ACTORS = [
  ...[
    { name: 'api 0', kind: 'api' },
    { name: 'api 1', kind: 'api' },
  ],
  ...[
    { name: 'settler 0', kind: 'settlement' },
    { name: 'settler 1', kind: 'settlement' },
  ],
  ...[
    { name: 'operator 0', kind: 'operator' },
    { name: 'operator 1', kind: 'operator' },
  ],
] as const;

const MOST_REQUESTS = 40;
const MOST_RUNNING = 5;
const FILTER_SIZES = [128, 256, 512] as const;
/** Turns of the event loop without anything new, after which every process waits. */
const QUIET_TURNS = 3;
const MOST_HEALING = 2_000;
/** Longer than every switch of a history. */
const AFTER_SWITCHES_MS = 20_000;

/** Emphasis of a history, so that rare events meet each other. Numbers are weights of the scheduler. */
interface Flavour {
  /** Dead-man switches are set, and fire. */
  readonly switches: boolean;
  /** The engine's Redis may be lost, and is rebuilt. */
  readonly losses: boolean;
  /** The server's clock steps, and minutes pass. */
  readonly clocks: boolean;
  readonly faults: number;
  /** Passes of settlement: few of them leave a backlog. */
  readonly settlement: number;
  /** Tens of seconds that pass, after which settled events are trimmed. */
  readonly waits: number;
  /** Rebuilds of the claim filter. */
  readonly filters: number;
}

const flavourOf = (dice: Random): Flavour => ({
  switches: dice.chance(0.3),
  losses: dice.chance(0.4),
  clocks: dice.chance(0.4),
  faults: dice.pick([0, 1, 1, 3]),
  settlement: dice.pick([0.4, 1, 2.5]),
  waits: dice.pick([0, 0.3, 1.5]),
  filters: dice.pick([0, 0, 0.6]),
});

const setRealImmediate = globalThis.setImmediate;
const turn = (): Promise<void> => new Promise((resolve) => setRealImmediate(resolve));

export class History {
  readonly #world: World;
  readonly #options: HistoryOptions;
  readonly #dice: Random;
  readonly #time: VirtualTime;
  readonly #clients: Clients;
  readonly #operations: Operations;
  readonly #actors = new Map<string, Actor>();
  readonly #links = new Map<string, Link>();
  readonly #weights = new Map<string, number>();
  readonly #decisions: Decision[] = [];
  readonly #trace = createHash('sha256');
  readonly #flavour: Flavour;
  #activity = 0;
  #commands = 0;
  #incarnations = 0;
  #runIds = 0;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#dice = random(options.seed);
    this.#flavour = flavourOf(this.#dice);
    this.#time = new VirtualTime(options.seed, this.#noteActivity);
    this.#clients = new Clients(options.world, this.#noteActivity);
    this.#operations = new Operations(this.#dice, this.#flavour.switches);
  }

  #noteActivity = (): void => {
    this.#activity += 1;
  };

  async run(): Promise<HistoryResult> {
    await this.#world.reset();
    this.#time.install();
    let violation: Violation | undefined;
    try {
      for (const { name, kind } of ACTORS) this.#boot(name, kind);
      await this.#open();
      await this.#decideAll();
      await this.#heal();
      await checkServers(this.#world, this.#clients.promises);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      violation = error;
    } finally {
      await this.#end();
    }
    const trace = this.#trace.digest('hex');
    return { violation, decisions: this.#decisions, commands: this.#commands, trace };
  }

  // --- processes -----------------------------------------------------------------------------------------

  #boot(name: string, kind: Actor['kind']): void {
    this.#incarnations += 1;
    const redis = new SimulatedRedis(`${name} redis ${this.#incarnations}`, this.#world, this.#noteActivity);
    this.#links.set(redis.link.name, redis.link);
    const host: PoolHost = {
      sessions: this.#world.sessions,
      actor: `${name}`,
      register: (begin, lost) => this.#register(begin, lost),
      unregister: (link) => this.#links.delete(link.name),
      onActivity: this.#noteActivity,
    };
    const service = new Service({
      ...{ world: this.#world, redis, sabotage: this.#options.sabotage },
      makePool: (config) => new SimulatedPool(host, config) as unknown as pg.Pool,
      filterBytes: FILTER_SIZES[this.#incarnations % FILTER_SIZES.length]!,
    });
    this.#actors.set(name, { name, kind, redis, service, isSettling: false });
    if (kind === 'api' && this.#flavour.switches) service.startDueCancels();
  }

  /** Each connection to Postgres has the lowest number that is free. */
  #register(begin: string, lost: () => Error): Link {
    let number = 0;
    while (this.#links.has(`${begin} ${number}`)) number += 1;
    const link = new Link(`${begin} ${number}`, lost, this.#noteActivity);
    this.#links.set(link.name, link);
    return link;
  }

  #ofActor(name: string): Link[] {
    return [...this.#links.values()].filter((link) => link.name.startsWith(name) && !link.isDead);
  }

  #crash({ name, kind, redis }: Actor, kept: number): void {
    for (const link of this.#ofActor(name)) {
      if (link === redis.link) redis.breakOff(kept, true);
      else breakOff(link, kept, true);
    }
    this.#clients.loseActor(name);
    this.#boot(name, kind);
  }

  /** Runs what the processes ask at their start, until their engines are open. */
  async #open(): Promise<void> {
    do await this.#quiet();
    while (await this.#drain());
  }

  // --- the scheduler -------------------------------------------------------------------------------------

  async #decideAll(): Promise<void> {
    const { replay, steps } = this.#options;
    if (replay !== undefined) for (const decision of replay) await this.#decide(decision);
    else for (let step = 0; step < steps; step += 1) await this.#decide(this.#draw());
  }

  async #decide(decision: Decision): Promise<void> {
    const isApplied = await this.#apply(decision);
    if (!isApplied) return;
    this.#decisions.push(decision);
    this.#trace.update(`${decision.join(' ')}\n`);
    await this.#quiet();
  }

  /** Waits until every process waits for the scheduler. */
  async #quiet(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; ) {
      const before = this.#activity;
      await turn();
      quiet = this.#activity === before ? quiet + 1 : 0;
    }
    if (this.#clients.violation !== undefined) throw this.#clients.violation;
    for (const { name, service } of this.#actors.values())
      if (service.hasDiverged()) throw new Violation('engine and ledger never contradict each other', name);
  }

  #draw(): Decision {
    if (this.#dice.chance(0.07)) this.#weigh();
    const all = this.#possible();
    const sum = all.reduce((total, { weight }) => total + weight, 0);
    let at = (this.#dice.below(2 ** 30) / 2 ** 30) * sum;
    for (const { decision, weight } of all) {
      at -= weight;
      if (at < 0) return decision;
    }
    return ['pass', 1];
  }

  /** Makes one process slow or quick for a while. */
  #weigh(): void {
    const { name } = this.#dice.pick(ACTORS);
    this.#weights.set(name, this.#dice.pick([0.01, 0.1, 1, 1, 4]));
  }

  #weightOf(linkName: string): number {
    for (const { name } of ACTORS) if (linkName.startsWith(name)) return this.#weights.get(name) ?? 1;
    return 1;
  }

  #possible(): Weighed[] {
    const found: Weighed[] = [];
    const add = (weight: number, ...decision: Decision): void => void found.push({ decision, weight });
    for (const link of this.#links.values()) this.#possibleOf(link, add);
    for (const number of this.#time.due()) add(this.#time.isInterval(number) ? 0.1 : 4, 'timer', number);
    this.#possibleRequests(add);
    this.#possibleFaults(add);
    add(1, 'pass', 1 + this.#dice.below(40));
    add(0.5, 'pass', this.#dice.pick([100, 300, 1_100]));
    add(this.#flavour.waits, 'pass', this.#dice.pick([5_100, 10_100]));
    const next = this.#time.untilNext();
    if (next !== undefined && next > 0) add(0.5, 'pass', next);
    return found;
  }

  #possibleOf(link: Link, add: (weight: number, ...decision: Decision) => void): void {
    const { name } = link;
    const weight = this.#weightOf(name);
    if (link.late.length > 0) add(1, 'late', name);
    if (link.replies.length > 0) add(12 * weight, 'deliver', name);
    if (link.blocked !== undefined && link.isOpen) add(0.1 * this.#flavour.faults, 'lock timeout', name);
    if (!link.isOpen) {
      if (!link.isDead && this.#redisOf(link) !== undefined) add(6, 'connect', name);
      return;
    }
    if (link.queue.length === 0 || link.blocked !== undefined) return;
    const isAfterReply = link.replies.length > 0;
    add(isAfterReply ? 0 : 12 * weight, 'serve', name);
    add(2 * weight, 'run', name);
    const { faults } = this.#flavour;
    add(0.05 * faults, 'cut', name, this.#dice.below(link.queue.length + 1));
    if (this.#redisOf(link) !== undefined) add(0.08 * faults, 'abandon', name);
  }

  #redisOf(link: Link): Actor | undefined {
    return [...this.#actors.values()].find(({ redis }) => redis.link === link);
  }

  #possibleRequests(add: (weight: number, ...decision: Decision) => void): void {
    const clients = this.#clients;
    const api = this.#dice.pick(['api 0', 'api 1']);
    if (clients.requests.length < MOST_REQUESTS && clients.running() < MOST_RUNNING) {
      const operation = this.#operations.next();
      add(6, 'start', operation.do === 'filter' ? 'operator 0' : api, operation);
    }
    for (const { number } of clients.unknown()) add(2, 'repeat', api, number);
    for (const { name, kind, isSettling } of this.#actors.values())
      if (kind === 'settlement' && !isSettling)
        add(this.#flavour.settlement * this.#weightOf(name), 'wake', name);
    if (this.#under('filter') < 2)
      add(this.#flavour.filters, 'start', `operator ${this.#dice.below(2)}`, { do: 'filter' });
    if (this.#world.journal.isLost && this.#under('rebuild') < 2)
      add(2, 'start', this.#dice.pick(['operator 0', 'operator 1']), { do: 'rebuild' });
  }

  /** Requests of a kind that run now. */
  #under(kind: Operation['do']): number {
    return this.#clients.requests.filter(
      ({ operation, state }) => operation.do === kind && state === 'running',
    ).length;
  }

  #possibleFaults(add: (weight: number, ...decision: Decision) => void): void {
    const { faults, losses, clocks } = this.#flavour;
    const dice = this.#dice;
    if (clocks) {
      add(0.2, 'step clock', dice.pick([-3_600_000, -301_000, -2_000, 301_000, 1_300_000]));
      add(0.3, 'pass', dice.pick([299_000, 301_000, 601_000]));
    }
    const { isLost, losses: lost } = this.#world.journal;
    if (losses && !isLost && lost < 2) add(0.15, 'lose redis', dice.chance(0.6));
    if (faults === 0) return;
    add(0.08 * faults, 'crash', dice.pick(ACTORS).name, dice.below(3));
    add(0.03 * faults, 'restart redis', dice.below(2));
    add(0.02 * faults, 'forget scripts');
  }

  // --- decisions -----------------------------------------------------------------------------------------

  /** @returns false when the decision is not possible now */
  async #apply(decision: Decision): Promise<boolean> {
    switch (decision[0]) {
      case 'serve':
      case 'run':
        return this.#serve(decision[1], decision[0] === 'serve');
      case 'deliver':
        return this.#onLink(decision[1], (link) => {
          if (link.replies.length === 0) return false;
          link.deliver();
          return true;
        });
      case 'late':
        return this.#late(decision[1]);
      case 'cut':
        return this.#cut(decision[1], decision[2]);
      case 'connect':
        return this.#connect(decision[1]);
      case 'abandon':
        return this.#onLink(decision[1], (link) => {
          if (!link.isOpen || link.queue.length === 0) return false;
          link.abandon(new Error('Command timed out'));
          return true;
        });
      case 'lock timeout':
        return this.#endLockWait(decision[1]);
      case 'timer':
        return this.#time.fire(decision[1]);
      default:
        return this.#applyToAll(decision);
    }
  }

  async #applyToAll(decision: Decision): Promise<boolean> {
    switch (decision[0]) {
      case 'pass':
        this.#time.pass(decision[1]);
        this.#world.nowMs = this.#time.serverMs;
        return true;
      case 'step clock':
        this.#time.serverMs += decision[1];
        this.#world.nowMs = this.#time.serverMs;
        return true;
      case 'start':
        this.#clients.start(decision[2], decision[1], this.#actors.get(decision[1])!.service);
        return true;
      case 'repeat': {
        const request = this.#clients.requests[decision[2]];
        if (request?.state !== 'unknown') return false;
        this.#clients.repeat(request, decision[1], this.#actors.get(decision[1])!.service);
        return true;
      }
      case 'wake':
        return this.#wake(decision[1]);
      case 'crash':
        this.#crash(this.#actors.get(decision[1])!, decision[2]);
        return true;
      case 'restart redis':
        this.#breakAll(decision[1]);
        this.#newRunId();
        return true;
      case 'forget scripts':
        await this.#world.forgetScripts();
        return true;
      case 'lose redis':
        await this.#world.loseRedis();
        if (decision[1]) {
          this.#breakAll(0);
          this.#newRunId();
        }
        return true;
      default:
        return false;
    }
  }

  #onLink(name: string, change: (link: Link) => boolean): boolean {
    const link = this.#links.get(name);
    return link !== undefined && change(link);
  }

  async #serve(name: string, delivers: boolean): Promise<boolean> {
    const link = this.#links.get(name);
    if (!link?.isOpen || link.queue.length === 0 || link.blocked !== undefined) return false;
    const { label } = link.queue[0]!;
    await link.serve();
    this.#commands += 1;
    const outcome = link.replies.at(-1)?.outcome;
    this.#trace.update(`${label}: ${outcome === undefined ? 'waits' : wordOf(outcome)}\n`);
    if (delivers && outcome !== undefined) link.deliver();
    await this.#unblock(link);
    return true;
  }

  /** Statements whose lock is free by now have run. */
  async #unblock(served?: Link): Promise<void> {
    for (const link of this.#links.values())
      if (link !== served && link.blocked !== undefined && link.isOpen && (await link.unblock()))
        this.#trace.update(`${link.name} goes on\n`);
  }

  async #late(name: string): Promise<boolean> {
    const link = this.#links.get(name);
    if (link === undefined || link.late.length === 0) return false;
    const served = await link.runLate();
    this.#commands += 1;
    this.#trace.update(`late ${served?.sent.label}: ${served && wordOf(served.outcome)}\n`);
    if (link.late.length === 0 && link.isDead) this.#links.delete(name);
    await this.#unblock(link);
    return true;
  }

  #cut(name: string, kept: number): boolean {
    const link = this.#links.get(name);
    if (link === undefined || !link.isOpen) return false;
    const actor = this.#redisOf(link);
    if (actor === undefined) breakOff(link, kept, false);
    else actor.redis.breakOff(kept, false);
    return true;
  }

  #connect(name: string): boolean {
    const link = this.#links.get(name);
    const actor = link && this.#redisOf(link);
    if (actor === undefined || link!.isOpen) return false;
    actor.redis.comeBack();
    return true;
  }

  async #endLockWait(name: string): Promise<boolean> {
    const link = this.#links.get(name);
    if (link?.blocked === undefined || !link.isOpen) return false;
    breakOff(link, 0, false);
    return true;
  }

  #wake(name: string): boolean {
    const actor = this.#actors.get(name);
    if (actor === undefined || actor.isSettling) return false;
    actor.isSettling = true;
    const ended = (): void => {
      this.#noteActivity();
      actor.isSettling = false;
    };
    actor.service.settle().then(ended, (error: unknown) => {
      ended();
      this.#clients.violation ??= new Violation('settlement never rejects', String(error));
    });
    return true;
  }

  #breakAll(kept: number): void {
    for (const { redis } of this.#actors.values()) if (redis.link.isOpen) redis.breakOff(kept, false);
    // The server that ran is gone: what was under way to it is lost with it, or runs before.
    if (kept === 0) for (const { redis } of this.#actors.values()) redis.link.late.length = 0;
  }

  #newRunId(): void {
    this.#runIds += 1;
    this.#world.runId = this.#runIds.toString(16).padStart(40, 'b');
  }

  // --- the end -------------------------------------------------------------------------------------------

  /** Faults are over: whatever was begun ends, unknown requests are repeated, and everything is settled. */
  async #heal(): Promise<void> {
    this.#weights.clear();
    await this.#untilRest();
    if (!this.#flavour.switches) return;
    const restMs = this.#time.serverMs;
    await this.#passAll(AFTER_SWITCHES_MS);
    await this.#untilRest();
    this.#checkSwitches(restMs);
  }

  async #untilRest(): Promise<void> {
    for (let round = 0; round < MOST_HEALING; round += 1) {
      await this.#quiet();
      if (await this.#drain()) continue;
      if (await this.#isAtRest()) return;
      await this.#goOn(round);
    }
    throw new Violation('everything comes to rest', await this.#unrest());
  }

  /** Runs whatever waits. @returns whether anything did */
  async #drain(): Promise<boolean> {
    let isBusy = false;
    for (const link of [...this.#links.values()]) {
      if (this.#connect(link.name)) isBusy = true;
      while (link.late.length > 0 && (await this.#late(link.name))) {
        isBusy = true;
        if (link.blocked !== undefined) break;
      }
      if (link.replies.length > 0) {
        link.deliver();
        isBusy = true;
      } else if (await this.#serve(link.name, true)) isBusy = true;
      if (isBusy) await this.#quiet();
    }
    for (const number of this.#time.due()) isBusy = this.#time.fire(number) || isBusy;
    return isBusy;
  }

  async #isAtRest(): Promise<boolean> {
    const { clients, journal } = { clients: this.#clients, journal: this.#world.journal };
    if (clients.running() + clients.unknown().length > 0) return false;
    if (journal.isLost && !(await this.#isRebuilt())) return false;
    const { rows } = await (await this.#world.sessions.monitor()).query<{ epoch: string; sequence: string }>(
      'select epoch, sequence from engine_cursor',
    );
    const settled = Number(rows[0]!.sequence);
    if (journal.isLost) journal.forgetAfter(settled);
    return (
      settled === journal.last?.sequence && [...this.#actors.values()].every(({ isSettling }) => !isSettling)
    );
  }

  async #isRebuilt(): Promise<boolean> {
    return (await this.#world.redis.exists('{redbook}:engine')) === 1;
  }

  async #goOn(round: number): Promise<void> {
    const api = this.#actors.get(round % 2 === 0 ? 'api 0' : 'api 1')!;
    const [request] = this.#clients.unknown();
    if (request !== undefined && api.service.isOpen()) this.#clients.repeat(request, api.name, api.service);
    if (this.#world.journal.isLost && !(await this.#isRebuilt()) && this.#under('rebuild') === 0) {
      const operator = this.#actors.get('operator 0')!;
      this.#clients.start({ do: 'rebuild' }, operator.name, operator.service);
    }
    for (const { name, kind } of this.#actors.values()) if (kind === 'settlement') this.#wake(name);
    await this.#passAll(Math.min(this.#time.untilNext() ?? 100, 300) + 1);
  }

  async #passAll(ms: number): Promise<void> {
    this.#time.pass(ms);
    this.#world.nowMs = this.#time.serverMs;
    await this.#quiet();
  }

  /** @param restMs time since which nobody places an order */
  #checkSwitches(restMs: number): void {
    const { journal } = this.#world;
    const { switches, unsure } = this.#clients.promises;
    if (journal.losses > 0) return;
    for (const [wallet, due] of switches) {
      const live = journal.liveOf(wallet, null);
      const isDue = due !== null && due > restMs && due <= this.#time.serverMs;
      if (isDue && !unsure.has(wallet) && live.length > 0)
        throw new Violation('a due switch cancels the orders of its wallet', `${wallet}: ${live.join(' ')}`);
    }
  }

  async #unrest(): Promise<string> {
    const waiting = this.#clients.requests.filter(({ state }) => state === 'running' || state === 'unknown');
    const open = [...this.#actors.values()].filter(({ service }) => service.isOpen()).map(({ name }) => name);
    const { rows } = await (await this.#world.sessions.monitor()).query(
      'select epoch, sequence from engine_cursor',
    );
    const { last, isLost } = this.#world.journal;
    return JSON.stringify({
      ...{ waiting, open, cursor: rows[0], last: `${last?.epoch}-${last?.sequence}`, isLost },
      links: [...this.#links.values()].map(({ name, queue, late, blocked }) => [
        ...[name, queue.map(({ label }) => label), late.map(({ label }) => label), blocked?.label],
      ]),
    });
  }

  /** Ends all processes and gives their connections back. */
  async #end(): Promise<void> {
    for (const { name, redis } of this.#actors.values())
      for (const link of this.#ofActor(name)) {
        if (link === redis.link) redis.breakOff(0, true);
        else breakOff(link, 0, true);
      }
    for (const link of [...this.#links.values()])
      while (link.late.length > 0) {
        const [sent] = link.late.splice(0, 1);
        if (sent!.label === 'closed') await sent!.run();
      }
    VirtualTime.remove();
  }
}

const wordOf = (outcome: object): string =>
  'error' in outcome ? String((outcome as { error: unknown }).error) : 'answered';
