/** The processes of the product that a history runs, and their connections to both servers. */

import type pg from 'pg';
import { lookAt, rankOfPrimary, type SeenServer } from '../../../src/engine/index.ts';
import { type HostPort, serverName } from '../../../src/redis/address.ts';
import { findPrimary } from '../../../src/redis/copies-primary.ts';
import { endpointOf } from '../../../src/redis/found-server.ts';
import type { CopyServer } from './copy-server.ts';
import { Link } from './link.ts';
import { LoneServer } from './lone-server.ts';
import type { Replication } from './replication.ts';
import { type CopyConnections, type Sabotage, Service } from './service.ts';
import { breakOff, type PoolHost, SimulatedPool } from './simulated-postgres.ts';
import { DirectRedis, type Found, type ServerFinder, SimulatedRedis } from './simulated-redis.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { World } from './world.ts';

export interface Actor {
  readonly name: string;
  readonly kind: 'api' | 'settlement' | 'operator';
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
  readonly #byLink = new Map<Link, SimulatedRedis>();
  readonly #lone: LoneServer;
  #incarnations = 0;
  #runIds = 0;

  constructor(options: ProcessesOptions) {
    const { replication } = options.world;
    this.#options = options;
    this.#lone = new LoneServer(options.world);
    if (replication === undefined) return;
    replication.onBreak = (server, but) => {
      for (const redis of this.#byLink.values()) if (redis.leadsTo(server, but)) redis.breakOff(0, false);
    };
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

  /** Returns the connection to a Redis whose link this is; undefined for one to Postgres. */
  ofRedis(link: Link): SimulatedRedis | undefined {
    return this.#byLink.get(link);
  }

  #boot(name: string, kind: Actor['kind']): void {
    const { world, sabotage, hasSwitches, onActivity } = this.#options;
    this.#incarnations += 1;
    const { replication } = world;
    const lone: ServerFinder = { isThere: () => true, find: async () => ({ server: this.#lone }) };
    const redis = this.#connect(name, 'redis', replication ? primaryAmong(replication) : lone);
    const host: PoolHost = {
      sessions: world.sessions,
      actor: name,
      onActivity,
      register: (begin, lost) => this.#register(begin, name, lost),
      unregister: (link) => this.links.delete(link.name),
    };
    const service = new Service({
      world,
      redis,
      sabotage,
      copies: replication && this.#copyConnections(name, kind, { replication, redis }),
      makePool: (config) => new SimulatedPool(host, config) as unknown as pg.Pool,
      filterBytes: FILTER_SIZES[this.#incarnations % FILTER_SIZES.length]!,
    });
    this.actors.set(name, { name, kind, service, isSettling: false });
    if (kind === 'api' && hasSwitches) service.startDueCancels();
  }

  #copyConnections(
    actor: string,
    kind: Actor['kind'],
    { replication, redis }: { readonly replication: Replication; readonly redis: SimulatedRedis },
  ): CopyConnections {
    const beside = (): CopyServer | undefined => {
      const endpoint = endpointOf(redis);
      return endpoint && replication.named(serverName(endpoint));
    };
    const toServer = (endpoint: HostPort): SimulatedRedis => {
      const server = replication.named(serverName(endpoint))!;
      const reaches = (): boolean => !server.isHidden;
      return this.#connect(actor, `keeper ${server.name}`, {
        isThere: () => server.mayRun() && reaches(),
        find: async () => ({ server, endpoint, reaches }),
      });
    };
    return {
      roundsRedis: this.#connect(actor, 'rounds', {
        isThere: () => isPrimary(beside()),
        find: async () => foundAt(beside()),
      }),
      servers: replication.servers.map(({ endpoint }) => endpoint),
      keeps: kind === 'settlement' ? toServer : undefined,
    };
  }

  #connect(actor: string, purpose: string, finder: ServerFinder): SimulatedRedis {
    const { onActivity } = this.#options;
    const redis = new SimulatedRedis(
      { name: `${actor} ${purpose} ${this.#incarnations}`, actor, onActivity },
      finder,
    );
    this.links.set(redis.link.name, redis.link);
    this.#byLink.set(redis.link, redis);
    return redis;
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
    else owner.breakOff(kept, isCrash);
  }

  /**
   * @param unreachable copies of the engine that do not answer, one bit each
   * @returns false when there is no such connection to a Redis, or it is open, or finds no server
   */
  async connect(link: Link | undefined, unreachable = 0): Promise<boolean> {
    const redis = link && this.ofRedis(link);
    return redis?.mayConnect === true && redis.comeBack(unreachable);
  }

  /** The engine's server is another one from now on: all connections to it break. */
  changeServer(kept: number): void {
    const redises = [...this.#byLink.values()].filter(({ link }) => !link.isDead);
    for (const redis of redises) if (redis.link.isOpen) redis.breakOff(kept, false);
    // The server that ran is gone: what was under way to it is lost with it, or runs before.
    if (kept === 0) for (const { link } of redises) link.late.length = 0;
    this.#runIds += 1;
    this.#options.world.runId = this.#runIds.toString(16).padStart(40, 'b');
  }

  /** Postgres ends: its connections break, and whatever was under way to it is lost. */
  async endPostgres(): Promise<void> {
    const closings = [...this.links.values()].map(async (link) => {
      if (this.ofRedis(link) !== undefined) return;
      if (link.isOpen) this.cut(link, 0);
      const [closing] = link.late.splice(0).slice(-1);
      if (closing?.label === 'closed') await closing.run();
    });
    // One may wait for a lock that the end of another one frees.
    await Promise.all(closings);
  }

  /** Looks at the copies as an operator does. */
  async look(name: string): Promise<void> {
    const { replication } = this.#options.world;
    const looked = new Map<string, SeenServer | undefined>();
    for (const server of replication!.servers) {
      const answers = server.mayRun() && !server.isHidden;
      looked.set(server.name, answers ? await lookAt(new DirectRedis(server)) : undefined);
    }
    this.get(name).service.looked = looked;
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

const isPrimary = (server: CopyServer | undefined): boolean => server?.mayRun() === true && server.isPrimary;

const foundAt = (server: CopyServer | undefined): Found | undefined =>
  server && { server, endpoint: server.endpoint };

/** Looks for the primary as the service does. */
const primaryAmong = ({ servers }: Replication): ServerFinder => ({
  isThere: () => servers.some(isPrimary),
  async find(unreachable) {
    const answers = servers.filter(
      (server, number) => server.mayRun() && (unreachable & (1 << number)) === 0,
    );
    const of = (endpoint: HostPort): CopyServer | undefined =>
      answers.find(({ name }) => name === serverName(endpoint));
    const find = findPrimary({
      servers: servers.map(({ endpoint }) => endpoint),
      async rankOf(endpoint) {
        const server = of(endpoint);
        if (server === undefined) throw new Error(`${serverName(endpoint)} does not answer`);
        return rankOfPrimary(new DirectRedis(server));
      },
    });
    const isWanted = (): boolean => true;
    const endpoint = await find(isWanted, () => undefined);
    return foundAt(endpoint && of(endpoint));
  },
});
