/** Draws the next decision of a history among those that are possible, by their weights. */

import type { Decision, Weighed } from './decisions.ts';
import type { Link } from './link.ts';
import { Operations } from './operations.ts';
import { holdsBatch, type Plot, plotAfter } from './plots.ts';
import { ACTOR_NAMES, API_NAMES, OPERATOR_NAMES } from './processes.ts';
import { type Add, MINUTES, QUICK, REQUESTS, type SchedulerParts, SLOW } from './weights.ts';

const MAX_REQUESTS = 40;
const MAX_RUNNING = 5;
const CLOCK_STEPS_MS = [-3_600_000, -301_000, -2_000, 301_000, 1_300_000];
/** Chance of a decision to make a process slow or quick for a while. */
const WEIGHED_ANEW = 0.07;

const WEIGHED = [...ACTOR_NAMES, REQUESTS, MINUTES];

export class Scheduler {
  readonly #parts: SchedulerParts;
  readonly #operations: Operations;
  /** Weights by name; 1 unless given. */
  readonly #weights = new Map<string, number>();
  #plot: Plot | undefined;

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
    this.#operations = new Operations(parts.dice, parts.flavour);
  }

  draw(): Decision {
    if (this.#plot?.goesOn() === false) this.#plot = undefined;
    return this.#draw();
  }

  /** Called when a decision that was drawn has been carried out. */
  decided(decision: Decision): void {
    this.#plot ??= plotAfter(decision, this.#parts);
  }

  #draw(): Decision {
    const { dice } = this.#parts;
    if (dice.chance(WEIGHED_ANEW)) this.#weigh();
    const all = this.#possible();
    const sum = all.reduce((total, { weight }) => total + weight, 0);
    let at = (dice.below(2 ** 30) / 2 ** 30) * sum;
    for (const { decision, weight } of all) {
      at -= weight;
      if (at < 0) return decision;
    }
    return ['pass', 1];
  }

  /** Makes one process, new requests or long waits rare or frequent for a while. */
  #weigh(): void {
    const { dice } = this.#parts;
    const name = dice.pick(WEIGHED);
    this.#weights.set(name, dice.pick([SLOW, 0.1, 1, 1, 4, QUICK]));
  }

  #weightOf(actor: string): number {
    return this.#plot?.weights.get(actor) ?? this.#weights.get(actor) ?? 1;
  }

  #possible(): Weighed[] {
    const { dice, flavour, processes, time } = this.#parts;
    const found: Weighed[] = [];
    const add: Add = (weight, ...decision) => {
      if (weight > 0) found.push({ decision, weight });
    };
    for (const link of processes.links.values()) this.#possibleOf(link, add);
    for (const number of time.due()) add(time.isInterval(number) ? 0.1 : 4, 'timer', number);
    this.#possibleRequests(add);
    this.#possibleFaults(add);
    this.#plot?.urge(add);
    add(1, 'pass', 1 + dice.below(40));
    add(0.5, 'pass', dice.pick([100, 300, 1_100]));
    add(flavour.waits, 'pass', dice.pick([5_100, 10_100]));
    const next = time.untilNext();
    if (next !== undefined && next > 0) add(0.5, 'pass', next);
    return found;
  }

  #possibleOf(link: Link, add: Add): void {
    const { dice, flavour, processes } = this.#parts;
    const { name } = link;
    const weight = this.#weightOf(link.actor);
    const isRedis = processes.ofRedis(link) !== undefined;
    if (link.late.length > 0) add(1, 'late', name);
    if (link.replies.length > 0) add(12 * weight, 'deliver', name);
    if (link.blocked !== undefined && link.isOpen) add(0.1 * flavour.faults, 'lock timeout', name);
    if (!link.isOpen) {
      if (!link.isDead && isRedis) add(6, 'connect', name);
      return;
    }
    if (link.queue.length === 0 || link.blocked !== undefined) return;
    add(link.replies.length > 0 ? 0 : 12 * weight, 'serve', name);
    add(2 * weight, 'run', name);
    add(0.05 * flavour.faults, 'cut', name, dice.below(link.queue.length + 1));
    if (isRedis) add(0.08 * flavour.faults, 'abandon', name);
  }

  #possibleRequests(add: Add): void {
    const { clients, dice, flavour, processes, world } = this.#parts;
    const api = dice.pick(API_NAMES);
    if (clients.requests.length < MAX_REQUESTS && clients.running() < MAX_RUNNING)
      add(6 * this.#weightOf(REQUESTS), 'start', api, this.#operations.next());
    for (const { number } of clients.unknown()) add(2, 'repeat', api, number);
    for (const { name, kind, isSettling } of processes.actors.values())
      if (kind === 'settlement' && !isSettling) add(flavour.settlement * this.#weightOf(name), 'wake', name);
    if (clients.running('filter') < 2)
      add(flavour.filters, 'start', dice.pick(OPERATOR_NAMES), { do: 'filter' });
    const { isLost, isBehind } = world.journal;
    if (isLost && !isBehind && clients.running('rebuild') < 2)
      add(2, 'start', dice.pick(OPERATOR_NAMES), { do: 'rebuild' });
  }

  #possibleFaults(add: Add): void {
    const { dice, flavour, world } = this.#parts;
    const { faults, losses, failovers, clocks } = flavour;
    if (clocks) {
      add(0.2, 'step clock', dice.pick(CLOCK_STEPS_MS));
      add(0.2, 'step own clock', dice.pick(ACTOR_NAMES), dice.pick(CLOCK_STEPS_MS));
      add(0.3 * this.#weightOf(MINUTES), 'pass', dice.pick([299_000, 301_000, 601_000]));
    }
    const { isLost, isBehind, losses: lost } = world.journal;
    if (losses && !isLost && lost < 2)
      add(holdsBatch(this.#parts) ? 1.5 : 0.1, 'lose redis', dice.chance(0.6));
    // An operator empties a server that is behind Postgres.
    if (isBehind) add(1, 'lose redis', false);
    if (failovers && !isLost && lost < 2) {
      add(0.2, 'replica lags');
      if (world.hasReplica) add(0.3, 'fail over');
    }
    if (faults === 0) return;
    add(0.08 * faults, 'crash', dice.pick(ACTOR_NAMES), dice.below(3));
    add(0.03 * faults, 'restart redis', dice.below(2));
    add(0.02 * faults, 'forget scripts');
  }
}
