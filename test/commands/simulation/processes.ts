/** The processes of the product that a history runs, and their connections to both servers. */

import type pg from 'pg';
import { Link } from './link.ts';
import { type Sabotage, Service } from './service.ts';
import { breakOff, type PoolHost, SimulatedPool } from './simulated-postgres.ts';
import { SimulatedRedis } from './simulated-redis.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { World } from './world.ts';

export interface Actor {
  readonly name: string;
  readonly kind: 'api' | 'settlement' | 'operator';
  readonly redis: SimulatedRedis;
  readonly service: Service;
  isSettling: boolean;
}

const KINDS = [
  ['api', 'api'],
  ['settler', 'settlement'],
  ['operator', 'operator'],
] as const;

/** Two processes of each kind. */
const ACTORS = KINDS.flatMap(([name, kind]) => [0, 1].map((number) => ({ name: `${name} ${number}`, kind })));
export const ACTOR_NAMES: readonly string[] = ACTORS.map(({ name }) => name);
const namesOf = (kind: Actor['kind']): readonly string[] =>
  ACTORS.filter((one) => one.kind === kind).map(({ name }) => name);
export const API_NAMES = namesOf('api');
export const SETTLER_NAMES = namesOf('settlement');
export const OPERATOR_NAMES = namesOf('operator');

/** Bytes of the claim filters that processes are configured with, in turn. */
const FILTER_SIZES = [128, 256, 512] as const;

export interface ProcessesOptions {
  readonly world: World;
  readonly sabotage: Sabotage | undefined;
  /** Dead-man switches are set, and api processes fire them. */
  readonly hasSwitches: boolean;
  readonly onActivity: () => void;
}

export class Processes {
  readonly actors = new Map<string, Actor>();
  readonly links = new Map<string, Link>();
  readonly #options: ProcessesOptions;
  readonly #byLink = new Map<Link, Actor>();
  #incarnations = 0;
  #runIds = 0;

  constructor(options: ProcessesOptions) {
    this.#options = options;
  }

  bootAll(time: VirtualTime): void {
    for (const { name, kind } of ACTORS) {
      time.actor = name;
      this.#boot(name, kind);
    }
  }

  get(name: string): Actor {
    return this.actors.get(name)!;
  }

  /** Returns the process whose connection to the engine's Redis this is; undefined for one to Postgres. */
  ofRedis(link: Link): Actor | undefined {
    return this.#byLink.get(link);
  }

  #boot(name: string, kind: Actor['kind']): void {
    const { world, sabotage, hasSwitches, onActivity } = this.#options;
    this.#incarnations += 1;
    const redis = new SimulatedRedis(
      { name: `${name} redis ${this.#incarnations}`, actor: name, onActivity },
      world,
    );
    this.links.set(redis.link.name, redis.link);
    const host: PoolHost = {
      ...{ sessions: world.sessions, actor: name, onActivity },
      register: (begin, lost) => this.#register(begin, name, lost),
      unregister: (link) => this.links.delete(link.name),
    };
    const service = new Service({
      ...{ world, redis, sabotage },
      makePool: (config) => new SimulatedPool(host, config) as unknown as pg.Pool,
      filterBytes: FILTER_SIZES[this.#incarnations % FILTER_SIZES.length]!,
    });
    const actor: Actor = { name, kind, redis, service, isSettling: false };
    this.actors.set(name, actor);
    this.#byLink.set(redis.link, actor);
    if (kind === 'api' && hasSwitches) service.startDueCancels();
  }

  /** Each connection to Postgres has the lowest number that is free. */
  #register(begin: string, actor: string, lost: () => Error): Link {
    let number = 0;
    while (this.links.has(`${begin} ${number}`)) number += 1;
    const link = new Link({ name: `${begin} ${number}`, actor, lost, onActivity: this.#options.onActivity });
    this.links.set(link.name, link);
    return link;
  }

  /** The process ends and is started again. */
  crash({ name, kind }: Actor, kept: number): void {
    this.#end(name, kept);
    this.#boot(name, kind);
  }

  #end(name: string, kept: number): void {
    for (const link of [...this.links.values()])
      if (link.actor === name && !link.isDead) this.cut(link, kept, true);
  }

  cut(link: Link, kept: number, isCrash = false): void {
    const owner = this.ofRedis(link);
    if (owner === undefined) breakOff(link, kept, isCrash);
    else owner.redis.breakOff(kept, isCrash);
  }

  /** @returns false when there is no such connection to the engine's Redis, or it is open */
  connect(link: Link | undefined): boolean {
    const actor = link && this.ofRedis(link);
    if (actor === undefined || link!.isOpen || link!.isDead) return false;
    actor.redis.comeBack();
    return true;
  }

  /** The engine's server is another one from now on: all connections to it break. */
  changeServer(kept: number): void {
    for (const { redis } of this.actors.values()) if (redis.link.isOpen) redis.breakOff(kept, false);
    // The server that ran is gone: what was under way to it is lost with it, or runs before.
    if (kept === 0) for (const { redis } of this.actors.values()) redis.link.late.length = 0;
    this.#runIds += 1;
    this.#options.world.runId = this.#runIds.toString(16).padStart(40, 'b');
  }

  /** Ends all processes and gives their connections back. */
  async endAll(): Promise<void> {
    for (const name of this.actors.keys()) this.#end(name, 0);
    for (const link of [...this.links.values()])
      while (link.late.length > 0) {
        const [sent] = link.late.splice(0, 1);
        if (sent!.label === 'closed') await sent!.run();
      }
  }
}
