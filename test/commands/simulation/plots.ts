/**
 * Plots: situations that need many decisions in a row, which chance alone hardly ever makes. While a plot goes on, it
 * makes processes slow or quick and some decisions more likely. Every decision is still drawn.
 */

import type { Request } from './clients.ts';
import type { Decision } from './decisions.ts';
import type { PlaceOperation } from './operations.ts';
import { API_NAMES, OPERATOR_NAMES, SETTLER_NAMES } from './processes.ts';
import { type Add, MINUTES, QUICK, REQUESTS, type SchedulerParts, SLOW, type Weights } from './weights.ts';

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

/** A process has looked for an id in Postgres and goes on much later; meanwhile another one has used the id. */
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

/** Returns the plot of a process that has the answer of Postgres about an id of which the engine has no order. */
function oldLook(parts: SchedulerParts): Plot | undefined {
  const { clients, processes, world } = parts;
  for (const request of clients.requests) {
    const { operation, state, actor } = request;
    if (state !== 'running' || operation.do !== 'place' || operation.clientOrderId === null) continue;
    if (world.journal.orderIdOf(operation.wallet, operation.clientOrderId) !== undefined) continue;
    for (const link of processes.links.values())
      if (link.replies.length > 0 && link.name.startsWith(`${actor} placing`))
        return new OldLook(parts, request, operation);
  }
  return undefined;
}

/** Returns the plot that a decision begins, if any. */
export function plotAfter(decision: Decision, parts: SchedulerParts): Plot | undefined {
  const { dice, flavour } = parts;
  if (decision[0] === 'lose redis') return dice.chance(0.7) ? new HeldBatch(parts) : undefined;
  if (decision[0] === 'replica lags') return dice.chance(0.5) ? new ForgottenEpoch(parts) : undefined;
  if (!flavour.clocks || decision[0] !== 'run') return undefined;
  const found = oldLook(parts);
  return found !== undefined && dice.chance(0.5) ? found : undefined;
}

/** Returns true while a settlement process has read events and has not settled them. */
export function holdsBatch({ processes }: SchedulerParts): boolean {
  for (const { name, queue } of processes.links.values())
    if (queue[0]?.label === 'round trip' && SETTLER_NAMES.some((settler) => name.startsWith(settler)))
      return true;
  return false;
}
