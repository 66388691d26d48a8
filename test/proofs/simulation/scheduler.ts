/**
 * Draws the next decision of a history among those that are possible, by their weights. Plots are situations that need
 * many decisions in a row, which chance alone hardly ever makes: while one goes on, some processes are slow or quick and
 * some decisions more likely. Every decision is still drawn.
 */

import type { Random } from '../../support/seed.ts';
import type { Clients, Request } from './clients.ts';
import type { CopyServer } from './copy-server.ts';
import type { Link } from './link.ts';
import { type Operation, Operations, type PlaceOperation } from './operations.ts';
import { ACTOR_NAMES, API_NAMES, OPERATOR_NAMES, type Processes, SETTLER_NAMES } from './processes.ts';
import type { CopyStep, Replication } from './replication.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { World } from './world.ts';

export interface Plot {
  /** Weights by name, in place of those that the scheduler drew. */
  readonly weights: Weights;
  /** Called before each decision. @returns false when the plot is over */
  goesOn(): boolean;
  /** Adds decisions that the plot needs. */
  urge(add: Add): void;
}

const weighed = (...groups: readonly (readonly [names: readonly string[], weight: number])[]): Weights =>
  new Map(groups.flatMap(([names, weight]) => names.map((name) => [name, weight] as const)));

/** The engine is lost while a settlement process holds a batch, and is rebuilt before that process goes on. */
class HeldBatch implements Plot {
  weights = weighed([OPERATOR_NAMES, QUICK], [[...SETTLER_NAMES, REQUESTS], SLOW]);
  readonly #clients: SchedulerParts['clients'];
  readonly #rebuildsBefore: number;
  #left = 160;
  #isRebuilt = false;

  constructor({ clients }: SchedulerParts) {
    this.#clients = clients;
    this.#rebuildsBefore = this.#rebuilds();
  }

  #rebuilds(): number {
    return this.#clients.requests.filter(
      ({ operation, state }) => operation.do === 'rebuild' && state === 'done',
    ).length;
  }

  goesOn(): boolean {
    this.#left -= 1;
    if (!this.#isRebuilt && this.#rebuilds() > this.#rebuildsBefore) {
      this.#isRebuilt = true;
      this.#left = 30;
      this.weights = weighed([SETTLER_NAMES, QUICK], [[REQUESTS], SLOW]);
    }
    return this.#left > 0;
  }

  urge(): void {}
}

/** A replica that lacks the last epoch becomes the server after orders were placed in that epoch. */
class ForgottenEpoch implements Plot {
  weights = weighed([SETTLER_NAMES, SLOW], [[REQUESTS], 0.1]);
  readonly #parts: SchedulerParts;
  readonly #began: { readonly epoch: number; readonly runId: string; readonly losses: number };
  #left = 120;
  #hasFailedOver = false;

  constructor(parts: SchedulerParts) {
    const { journal, runId } = parts.world;
    this.#parts = parts;
    this.#began = { epoch: journal.last!.epoch, runId, losses: journal.losses };
  }

  goesOn(): boolean {
    this.#left -= 1;
    const { journal, runId } = this.#parts.world;
    if (!this.#hasFailedOver && journal.losses > this.#began.losses) {
      this.#hasFailedOver = true;
      this.#left = 60;
    }
    // Few orders before the new epoch, so that the successor gives the sequences of those within it.
    const isBegun = runId !== this.#began.runId;
    this.weights = weighed([SETTLER_NAMES, SLOW], [[REQUESTS], isBegun ? 8 : 0.1]);
    return this.#left > 0;
  }

  urge(add: Add): void {
    if (this.#hasFailedOver) return;
    const { world, dice } = this.#parts;
    if (world.journal.last!.epoch > this.#began.epoch) add(2, 'fail over');
    else if (world.runId === this.#began.runId) add(4, 'restart redis', dice.below(2));
  }
}

/**
 * A process has looked for an id in Postgres or in the sealed filters and goes on much later; meanwhile another one has
 * used the id.
 */
class OldLook implements Plot {
  weights: Weights;
  readonly #parts: SchedulerParts;
  readonly #request: Pick<Request, 'actor' | 'state'>;
  readonly #operation: PlaceOperation;
  readonly #other: string;
  #left = 60;
  #isUsed = false;

  constructor(parts: SchedulerParts, request: Pick<Request, 'actor' | 'state'>, operation: PlaceOperation) {
    this.#parts = parts;
    this.#request = request;
    this.#operation = operation;
    this.#other = API_NAMES.find((name) => name !== request.actor)!;
    this.weights = weighed([[request.actor, REQUESTS], SLOW], [[this.#other], 4]);
  }

  goesOn(): boolean {
    this.#left -= 1;
    const { wallet, clientOrderId } = this.#operation;
    if (!this.#isUsed && this.#parts.world.journal.orderIdOf(wallet, clientOrderId!) !== undefined) {
      this.#isUsed = true;
      this.#left = 100;
      const slow = [this.#request.actor, this.#other, REQUESTS];
      this.weights = weighed([slow, SLOW], [SETTLER_NAMES, 4], [[MINUTES], QUICK]);
    }
    return this.#left > 0 && this.#request.state === 'running';
  }

  urge(add: Add): void {
    const isAsked = this.#parts.clients.requests.some(
      ({ operation, state, actor }) =>
        operation === this.#operation && state === 'running' && actor === this.#other,
    );
    if (!this.#isUsed && !isAsked) add(10, 'start', this.#other, this.#operation);
  }
}

/**
 * The primary is lost while copies lack what it has done, and comes back after its successor has begun. In some, the
 * successor is lost as well, disk included, between its promotion and its epoch.
 */
class Succession implements Plot {
  weights = weighed([[REQUESTS], 8], [SETTLER_NAMES, 4]);
  readonly #parts: SchedulerParts;
  readonly #replication: Replication;
  readonly #lost: CopyServer;
  readonly #fault: CopyStep;
  readonly #losesNamed: boolean;
  #promoted: CopyServer | undefined;
  #phase: 'lag' | 'silence' | 'return' = 'lag';
  #left: number;

  constructor(parts: SchedulerParts, replication: Replication) {
    this.#parts = parts;
    this.#replication = replication;
    this.#lost = replication.inForce;
    this.#fault = parts.dice.pick(['kill', 'pause', 'hide', 'leave']);
    this.#losesNamed = parts.dice.chance(0.4);
    this.#left = 10 + parts.dice.below(40);
  }

  goesOn(): boolean {
    this.#left -= 1;
    const hasSuccessor = this.#replication.inForce !== this.#lost;
    if (this.#phase === 'lag' && this.#left <= 0) {
      this.#phase = 'silence';
      this.#left = 80;
      this.weights = weighed([[REQUESTS], 0.1], [SETTLER_NAMES, 4]);
    } else if (this.#phase === 'silence' && hasSuccessor) {
      this.#phase = 'return';
      this.#left = 50;
      this.weights = weighed([[REQUESTS], 4], [SETTLER_NAMES, 2]);
    }
    return this.#left > 0;
  }

  urge(add: Add): void {
    const { name, isHidden, isLeaving } = this.#lost;
    if (this.#phase === 'silence') {
      if (this.#lost.mayRun() && !isHidden && !isLeaving) add(10, 'copy', this.#fault, name);
      else add(12, 'pass', this.#parts.dice.pick([210, 500]));
      if (this.#losesNamed) this.#urgeLoss(add);
    } else if (this.#phase === 'return') {
      if (this.#parts.world.hasSnapshot && !this.#replication.hasLost) add(3, 'put postgres back');
      for (const step of ['start', 'go on', 'show', 'mend', 'stay'] as const)
        if (this.#replication.allows(step, name)) add(3, 'copy', step, name);
    }
  }

  /** A server that is promoted, and whose epoch has not begun, starts again without its disk or on an older one. */
  #urgeLoss(add: Add): void {
    const { servers, inForce, hasLost } = this.#replication;
    if (hasLost) return;
    const named = servers.find((server) => server.isPrimary && server !== inForce && server !== this.#lost);
    if (named !== undefined) this.#promoted = named;
    if (this.#promoted === undefined || this.#promoted === inForce) return;
    const { name } = this.#promoted;
    for (const step of ['kill', 'start empty', 'start old'] as const)
      if (this.#replication.allows(step, name)) add(step === 'kill' ? 15 : 30, 'copy', step, name);
  }
}

type StrangerPhase = 'leave' | 'follow' | 'answer' | 'loss';

/**
 * A copy leaves and follows again, and gets all orders before it joins, while another copy gets none. Then the primary
 * is lost.
 */
class Stranger implements Plot {
  weights = weighed([SETTLER_NAMES, 8]);
  readonly #dice: Random;
  readonly #replication: Replication;
  readonly #primary: CopyServer;
  readonly #stranger: CopyServer;
  readonly #copy: CopyServer;
  #phase: StrangerPhase = 'leave';
  #left = 60;

  constructor({ dice }: SchedulerParts, replication: Replication, stranger: CopyServer) {
    this.#dice = dice;
    this.#replication = replication;
    this.#primary = replication.inForce;
    this.#stranger = stranger;
    this.#copy = replication.servers.find((one) => one !== stranger && one !== this.#primary)!;
  }

  goesOn(): boolean {
    this.#left -= 1;
    const { listed, replicas } = this.#primary;
    const isListed = listed.length === 0 || listed.includes(this.#stranger.name);
    if (this.#phase === 'leave' && !isListed) this.#begin('follow', 30, weighed([SETTLER_NAMES, SLOW]));
    else if (this.#phase === 'follow' && replicas.has(this.#stranger.name))
      this.#begin('answer', 40, weighed([SETTLER_NAMES, SLOW], [[REQUESTS], 4], [API_NAMES, 4]));
    else if (this.#phase === 'answer' && this.#left <= 0)
      this.#begin('loss', 60, weighed([SETTLER_NAMES, 8], [[REQUESTS], 0.1]));
    const hasSuccessor = this.#replication.inForce !== this.#primary;
    return this.#left > 0 && !hasSuccessor;
  }

  #begin(phase: StrangerPhase, left: number, weights: Weights): void {
    this.#phase = phase;
    this.#left = left;
    this.weights = weights;
  }

  urge(add: Add): void {
    const urge = (weight: number, server: CopyServer, steps: readonly CopyStep[]): void => {
      for (const step of steps)
        if (this.#replication.allows(step, server.name)) add(weight, 'copy', step, server.name);
    };
    if (this.#phase === 'leave') add(12, 'pass', this.#dice.pick([210, 500]));
    else if (this.#phase === 'follow') urge(30, this.#stranger, ['mend', 'follow', 'copy whole', 'arrive']);
    else if (this.#phase === 'answer') {
      urge(30, this.#copy, ['cut']);
      urge(30, this.#stranger, ['receive all', 'acknowledge']);
    } else {
      urge(30, this.#primary, ['kill']);
      urge(30, this.#copy, ['mend']);
      add(12, 'pass', this.#dice.pick([210, 500]));
    }
  }
}

/**
 * A server is started again on a snapshot of its disk, before or after another one takes its place. In some, all servers
 * are killed, and it is up first.
 */
class Relapse implements Plot {
  weights = weighed([[REQUESTS], 8], [SETTLER_NAMES, 1]);
  readonly #dice: Random;
  readonly #replication: Replication;
  readonly #server: CopyServer;
  /** The others that are killed with it. */
  readonly #others: readonly CopyServer[];
  #phase: 'trade' | 'start' | 'return' = 'trade';
  #left: number;

  constructor({ dice }: SchedulerParts, replication: Replication, server: CopyServer) {
    this.#dice = dice;
    this.#replication = replication;
    this.#server = server;
    this.#others = dice.chance(0.4) ? replication.servers.filter((one) => one !== server) : [];
    this.#left = 10 + dice.below(30);
  }

  goesOn(): boolean {
    this.#left -= 1;
    if (this.#phase === 'trade' && this.#left <= 0) {
      this.#phase = 'start';
      this.#left = 20;
    } else if (this.#phase === 'start' && this.#replication.hasLost) {
      this.#phase = 'return';
      this.#left = 50;
      this.weights = weighed([[REQUESTS], 4], [SETTLER_NAMES, 4]);
    }
    return this.#left > 0;
  }

  urge(add: Add): void {
    const areDown = this.#others.every(({ isUp }) => !isUp);
    // Keepers find those silent that are down.
    if (this.#phase === 'return' && this.#others.length > 0 && areDown)
      add(40, 'pass', this.#dice.pick([210, 500]));
    if (this.#phase !== 'start') return;
    const urge = (step: CopyStep, { name }: CopyServer): void => {
      if (this.#replication.allows(step, name)) add(40, 'copy', step, name);
    };
    for (const server of [this.#server, ...this.#others]) urge('kill', server);
    if (areDown) urge('start old', this.#server);
  }
}

/** Command that reads an id's block of a sealed filter. */
const SEALED_LOOK = 'getrange';

/** Returns true if the answer to a look for the id of an order is on its way to the process that places the order. */
const hasLooked = ({ name, actor, replies }: Link, placing: string): boolean =>
  name.startsWith(`${placing} placing`)
    ? replies.length > 0
    : actor === placing && replies.some(({ sent }) => sent.label === SEALED_LOOK);

/** Returns the plot of a process that has the answer to a look for an id of which the engine has no order. */
function oldLook(parts: SchedulerParts): Plot | undefined {
  const { clients, processes, world } = parts;
  for (const request of clients.requests) {
    const { operation, state, actor } = request;
    if (state !== 'running' || operation.do !== 'place' || operation.clientOrderId === null) continue;
    if (world.journal.orderIdOf(operation.wallet, operation.clientOrderId) !== undefined) continue;
    for (const link of processes.links.values())
      if (hasLooked(link, actor)) return new OldLook(parts, request, operation);
  }
  return undefined;
}

/** Returns the plot that a step of a copy begins, if any. */
function plotOfCopies(step: CopyStep, name: string, parts: SchedulerParts): Plot | undefined {
  const { dice, world } = parts;
  const replication = world.replication!;
  const server = replication.named(name)!;
  if (step === 'snapshot' && dice.chance(0.8)) return new Relapse(parts, replication, server);
  if (step !== 'cut') return undefined;
  if (server !== replication.inForce && dice.chance(0.3)) return new Stranger(parts, replication, server);
  return dice.chance(0.8) ? new Succession(parts, replication) : undefined;
}

/** Returns the plot that a decision begins, if any. */
function plotAfter(decision: Decision, parts: SchedulerParts): Plot | undefined {
  const { dice, flavour, world } = parts;
  if (decision[0] === 'copy') return plotOfCopies(decision[1], decision[2], parts);
  if (decision[0] === 'snapshot postgres')
    return dice.chance(0.7) ? new Succession(parts, world.replication!) : undefined;
  if (decision[0] === 'lose redis') return dice.chance(0.7) ? new HeldBatch(parts) : undefined;
  if (decision[0] === 'replica lags') return dice.chance(0.5) ? new ForgottenEpoch(parts) : undefined;
  if (decision[0] !== 'run' || !(flavour.clocks || flavour.filters > 0)) return undefined;
  const found = oldLook(parts);
  return found !== undefined && dice.chance(0.5) ? found : undefined;
}

/** Returns true while a settlement process has read events and has not settled them. */
function holdsBatch({ processes }: SchedulerParts): boolean {
  for (const { name, queue } of processes.links.values())
    if (queue[0]?.label === 'round trip' && SETTLER_NAMES.some((settler) => name.startsWith(settler)))
      return true;
  return false;
}

/** Weight of a process that runs while all others hardly do. */
const QUICK = 30;
/** Weight of a process that hardly runs. */
const SLOW = 0.01;

/** Weighed like processes: the beginning of requests, and minutes that pass. */
const REQUESTS = 'requests';
const MINUTES = 'minutes';

type Weights = ReadonlyMap<string, number>;

/** Makes a decision possible. A weight of 0 adds nothing. */
export type Add = (weight: number, ...decision: Decision) => void;

export interface SchedulerParts {
  readonly world: World;
  readonly dice: Random;
  readonly flavour: Flavour;
  readonly time: VirtualTime;
  readonly processes: Processes;
  readonly clients: Clients;
}

/** Numbers are weights of the scheduler. */
export interface Flavour {
  /** Dead-man switches are set, and fire. */
  readonly switches: boolean;
  /** The engine's Redis may be lost, and is rebuilt. */
  readonly losses: boolean;
  /** A replica that lags becomes the engine's server. */
  readonly failovers: boolean;
  /** The server's clock and those of processes step, and minutes pass. */
  readonly clocks: boolean;
  readonly faults: number;
  /** Passes of settlement: few of them leave a backlog. */
  readonly settlement: number;
  /** Tens of seconds that pass, after which settled events are trimmed. */
  readonly waits: number;
  /** A snapshot of Postgres may be put back, where the engine has copies. */
  readonly putsBack: boolean;
  /** Looks whether the claim filter must grow. */
  readonly filters: number;
  /** Number of client order ids. They are few, so that many requests repeat one. */
  readonly ids: number;
  /** Share of the claim filter's blocks whose ids all look used, so that only Postgres can tell. */
  readonly marked: number;
}

/** Copies have their own faults; the others are those of an engine on one server. */
export const flavourOf = (dice: Random, hasCopies: boolean): Flavour => {
  const drawn = drawFlavour(dice);
  if (!hasCopies) return drawn;
  const putsBack = dice.chance(0.25);
  const without = { switches: false, losses: false, failovers: false, clocks: false, filters: 0, marked: 0 };
  return Object.assign(drawn, without, { waits: 0, putsBack });
};

const drawFlavour = (dice: Random): Flavour => ({
  switches: dice.chance(0.3),
  losses: dice.chance(0.4),
  failovers: dice.chance(0.15),
  clocks: dice.chance(0.4),
  faults: dice.pick([0, 1, 1, 3]),
  settlement: dice.pick([0.2, 0.4, 1, 2.5]),
  waits: dice.pick([0, 0.3, 1.5, 4]),
  putsBack: false,
  filters: dice.pick([0, 0, 0.6]),
  ids: dice.pick([2, 12, 12]),
  marked: dice.pick([0, 0, 0.5, 1]),
});

export type Decision =
  /** The server runs the oldest command of a link, and the reply is delivered. */
  | readonly ['serve', link: string]
  /** The server runs it, and the reply waits. */
  | readonly ['run', link: string]
  | readonly ['deliver', link: string]
  /** The server runs the oldest of what was under way when the link broke. */
  | readonly ['late', link: string]
  /** The link breaks; of what was sent, the first `kept` commands still reach the server. */
  | readonly ['cut', link: string, kept: number]
  /** The connection is made again. One that looks for the primary does not reach some copies, one bit each. */
  | readonly ['connect', link: string, unreachable: number]
  /** The client gives up its oldest command, which stays under way. */
  | readonly ['abandon', link: string]
  /** Postgres ends a statement that waits for a lock. */
  | readonly ['lock timeout', link: string]
  | readonly ['timer', number: number]
  /** All clocks go on. */
  | readonly ['pass', ms: number]
  /** The clock of the engine's server alone steps. */
  | readonly ['step clock', ms: number]
  /** The clock of one process steps. */
  | readonly ['step own clock', actor: string, ms: number]
  | readonly ['start', actor: string, operation: Operation]
  | readonly ['repeat', actor: string, request: number]
  | readonly ['wake', actor: string]
  /** The process goes on until it waits. */
  | readonly ['work', actor: string]
  /** The process ends and is started again. */
  | readonly ['crash', actor: string, kept: number]
  /** The engine's server starts again on its data. */
  | readonly ['restart redis', kept: number]
  | readonly ['forget scripts']
  /** The engine's server loses all it holds, with or without breaking connections. */
  | readonly ['lose redis', breaks: boolean]
  /** A replica follows no further than to here. */
  | readonly ['replica lags']
  /** The server ends, and that replica takes its place. */
  | readonly ['fail over']
  | readonly ['copy', step: CopyStep, server: string]
  /** A snapshot of Postgres is taken, and put back, with engine copies beside it. */
  | readonly ['snapshot postgres']
  | readonly ['put postgres back'];

export interface Weighed {
  readonly decision: Decision;
  readonly weight: number;
}

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
    this.#possibleCopies(add);
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
    const { dice, flavour, processes, world } = this.#parts;
    const { name } = link;
    const weight = this.#weightOf(link.actor);
    const redis = processes.ofRedis(link);
    const isRedis = redis !== undefined;
    if (link.canRunLate) add(1, 'late', name);
    if (link.replies.length > 0) add(12 * weight, 'deliver', name);
    if (link.blocked !== undefined && link.isOpen && !isRedis)
      add(0.1 * flavour.faults, 'lock timeout', name);
    if (!link.isOpen) {
      const unreachable = world.replication !== undefined && dice.chance(0.1) ? dice.below(8) : 0;
      if (redis?.mayConnect) add(6, 'connect', name, unreachable);
      return;
    }
    if (link.blocked !== undefined || link.queue.length === 0) return;
    // A client gives a server up that hangs.
    if (!link.canServe) {
      if (dice.chance(0.5)) add(1, 'abandon', name);
      else add(1, 'cut', name, 0);
      return;
    }
    add(link.replies.length > 0 ? 0 : 12 * weight, 'serve', name);
    add(2 * weight, 'run', name);
    add(0.05 * flavour.faults, 'cut', name, dice.below(link.queue.length + 1));
    if (isRedis) add(0.08 * flavour.faults, 'abandon', name);
  }

  /** Steps of the copies. Processes that keep them and ask them take few decisions for many commands. */
  #possibleCopies(add: Add): void {
    const { dice, processes, time, world } = this.#parts;
    if (world.replication === undefined) return;
    add(2, 'pass', dice.pick([210, 500, 900]));
    world.replication.possible((weight, step, server) => add(weight, 'copy', step, server));
    const busy = new Set<string>();
    for (const link of processes.links.values())
      if (link.canServe || link.replies.length > 0) busy.add(link.actor);
    for (const { name, kind } of processes.actors.values())
      if (busy.has(name) || time.due(name).length > 0)
        add((kind === 'settlement' ? 12 : 8) * this.#weightOf(name), 'work', name);
  }

  #possibleRequests(add: Add): void {
    const { clients, dice, flavour, processes, world } = this.#parts;
    const api = dice.pick(API_NAMES);
    // An answer that waits for copies takes more decisions.
    const [max, frequency] = world.replication === undefined ? [MAX_RUNNING, 6] : [2 * MAX_RUNNING, 20];
    if (clients.requests.length < MAX_REQUESTS && clients.running() < max)
      add(frequency * this.#weightOf(REQUESTS), 'start', api, this.#operations.next());
    const mayWait = world.replication !== undefined && !processes.get(api).service.isOpen();
    const eagerness = mayWait ? 0.2 : 2;
    for (const { number } of clients.unknown()) add(eagerness, 'repeat', api, number);
    for (const { name, kind, isSettling } of processes.actors.values())
      if (kind === 'settlement' && !isSettling) add(flavour.settlement * this.#weightOf(name), 'wake', name);
    if (clients.running('filter') < 2)
      add(flavour.filters, 'start', dice.pick(OPERATOR_NAMES), { do: 'filter' });
    const { isLost, isBehind } = world.journal;
    if (isLost && !isBehind && clients.running('rebuild') < 2)
      add(2, 'start', dice.pick(OPERATOR_NAMES), { do: 'rebuild' });
  }

  /** Postgres goes back to a snapshot, and operators take the primary from the servers. */
  #possibleSnapshots(add: Add): void {
    const { clients, dice, flavour, world } = this.#parts;
    if (!flavour.putsBack) return;
    if (!world.replication!.hasLost) {
      add(0.3, 'snapshot postgres');
      if (world.hasSnapshot) add(0.1, 'put postgres back');
    } else if (world.isPutBack && clients.running('adopt') === 0)
      add(0.5, 'start', dice.pick(OPERATOR_NAMES), { do: 'adopt' });
  }

  #possibleFaults(add: Add): void {
    const { dice, flavour, world } = this.#parts;
    const { faults, losses, failovers, clocks } = flavour;
    if (world.replication !== undefined) {
      add(0.08 * faults, 'crash', dice.pick(ACTOR_NAMES), dice.below(3));
      this.#possibleSnapshots(add);
      return;
    }
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
