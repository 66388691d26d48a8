/** The engine's copies together: replication between them, and the faults of their machines. */

import type { StreamEntry } from '../../../src/engine/event-codec.ts';
import { readState } from '../../../src/engine/state.ts';
import type { Random } from '../../support/seed.ts';
import { type CopiesHost, CopyServer } from './copy-server.ts';
import type { Journal } from './journal.ts';
import { between, type Entry, NOTHING, type ReplicatedData } from './replicated-data.ts';
import type { Session } from './simulated-redis.ts';

const VERSIONS = ['7.0.15', '7.4.1'] as const;
/** Faults of machines. Each is rare or frequent in a history. */
const FAULTS = [
  ...(['kill', 'start empty', 'snapshot', 'start old', 'pause', 'cut', 'hide', 'leave'] as const),
] satisfies CopyStep[];
const FAULT_WEIGHTS = [0, 0.1, 0.1, 0.5];

/** Steps of one server. */
export type CopyStep =
  /** The process ends without notice; a machine of which everything is lost comes back empty. */
  | 'kill'
  | 'start'
  | 'start empty'
  /** A snapshot of the disk is taken, and put back before the process starts. */
  | 'snapshot'
  | 'start old'
  /** The process stops, and goes on. */
  | 'pause'
  | 'go on'
  /** Nothing is replicated to it and from it. */
  | 'cut'
  | 'mend'
  /** Keepers do not reach it. */
  | 'hide'
  | 'show'
  /** It was asked to stop, and gives its place away. */
  | 'leave'
  | 'stay'
  /** A replica begins to follow its primary: where its log fits, or by a whole copy. */
  | 'follow'
  | 'copy whole'
  /** The whole copy has arrived. */
  | 'arrive'
  /** A replica receives one more command, or all that there are. */
  | 'receive'
  | 'receive all'
  /** A replica writes what it has to its disk, and tells its primary. */
  | 'acknowledge'
  /** The file of a replica that was copied whole is written anew. */
  | 'rewrite';

interface ReplicationHost {
  readonly nowMs: number;
  readonly journal: Journal;
}

/** Weight of each step that is possible now. */
export type AddStep = (weight: number, step: CopyStep, server: string) => void;

export class Replication implements CopiesHost {
  readonly servers: readonly CopyServer[];
  /** Breaks connections of clients; set by the processes. */
  onBreak: CopiesHost['breakClients'] = () => undefined;
  readonly #host: ReplicationHost;
  /** The server of the epoch in force, which alone may answer. */
  inForce: CopyServer;
  #epoch = 0;
  /** Something that a disk had is lost: one disk of a copy or that of Postgres. A history has one such loss. */
  hasLost = false;
  #weights: ReadonlyMap<CopyStep, number> = new Map();

  constructor(host: ReplicationHost, stores: readonly ReplicatedData[]) {
    this.#host = host;
    this.servers = stores.map((store, number) => new CopyServer(number, store, this));
    this.inForce = this.servers[0]!;
  }

  get nowMs(): number {
    return this.#host.nowMs;
  }

  named(name: string): CopyServer | undefined {
    return this.servers.find((server) => server.name === name);
  }

  /** The first server is the primary of all others, and everything is on all disks. */
  reset(beginning: Entry, epoch: number): void {
    this.#epoch = epoch;
    this.hasLost = false;
    this.inForce = this.servers[0]!;
    for (const server of this.servers)
      server.reset(beginning, server === this.servers[0] ? undefined : this.servers[0]!.name);
    const acknowledged = { offset: beginning.offset, onDisk: beginning.offset };
    for (const { name } of this.servers.slice(1)) this.servers[0]!.replicas.set(name, acknowledged);
  }

  /** Draws the version of the servers, and how frequent each fault is. */
  draw(dice: Random): void {
    this.#weights = new Map(FAULTS.map((step) => [step, dice.pick(FAULT_WEIGHTS)]));
    const version = dice.pick(VERSIONS);
    for (const server of this.servers) server.version = version;
  }

  breakClients(server: CopyServer, but?: Session): void {
    this.onBreak(server, but);
  }

  /** Events of an epoch that is over are in force nowhere. */
  appended(found: readonly StreamEntry[], after: string): void {
    const isInForce = ([id]: StreamEntry): boolean => id.toString().startsWith(`${this.#epoch}-`);
    const { journal } = this.#host;
    journal.append(found.filter(isInForce));
    journal.appendInVain(
      found.filter((entry) => !isInForce(entry)),
      after,
    );
  }

  opened(server: CopyServer, [state, runId]: readonly (Buffer | null)[]): void {
    const { epoch } = readState(state!);
    if (String(runId) !== server.runId || epoch <= this.#epoch) return;
    this.#epoch = epoch;
    this.inForce = server;
    this.#host.journal.takeOver(server.data.lastEventId);
  }

  /** @returns false when the step is not possible now */
  step(step: CopyStep, name: string): boolean {
    const isPossible = this.allows(step, name);
    if (isPossible) this.#carryOut(step, this.named(name)!);
    return isPossible;
  }

  allows(step: CopyStep, name: string): boolean {
    const steps = new Set<CopyStep>();
    const server = this.named(name);
    if (server !== undefined) this.#possible((_weight, possible) => steps.add(possible), [server]);
    return steps.has(step);
  }

  possible(add: AddStep): void {
    this.#possible(
      (weight, step, name) => add(weight * (this.#weights.get(step) ?? 1), step, name),
      this.servers,
    );
  }

  #possible(add: AddStep, servers: readonly CopyServer[]): void {
    for (const server of servers) {
      const { name, isUp, isPaused } = server;
      if (isUp) add(1, 'kill', name);
      else {
        add(1, 'start', name);
        if (!this.hasLost) {
          add(1, 'start empty', name);
          if (server.snapshot !== undefined && server.snapshot !== server.disk) add(2, 'start old', name);
        }
      }
      if (isUp && !this.hasLost && server.snapshot !== server.disk) add(0.3, 'snapshot', name);
      if (isUp) add(1, isPaused ? 'go on' : 'pause', name);
      add(1, server.isCut ? 'mend' : 'cut', name);
      add(1, server.isHidden ? 'show' : 'hide', name);
      if (isUp) add(1, server.isLeaving ? 'stay' : 'leave', name);
      if (server.isFileBehind && isUp) add(1, 'rewrite', name);
      this.#possibleReplication(add, server);
    }
  }

  #possibleReplication(add: AddStep, server: CopyServer): void {
    const { name } = server;
    const primary = this.#primaryOf(server);
    if (primary === undefined) return;
    if (server.isConnected) this.#possibleStream(add, server, primary);
    else if (server.arriving !== undefined) add(2, 'arrive', name);
    else {
      const fits = server.knowsHistory && between(server.data, primary.data) !== undefined;
      if (fits) add(3, 'follow', name);
      add(fits ? 0.1 : 3, 'copy whole', name);
    }
  }

  #possibleStream(add: AddStep, server: CopyServer, primary: CopyServer): void {
    const { name } = server;
    if (server.data !== primary.data) {
      add(1, 'receive', name);
      add(4, 'receive all', name);
    }
    const told = primary.replicas.get(name);
    const onDisk = server.isFileBehind || !server.asksDisks ? 0 : server.data.offset;
    if (told !== undefined && (told.offset < server.data.offset || told.onDisk < onDisk))
      add(6, 'acknowledge', name);
  }

  /** Returns the server that a replica follows, while both run and reach each other. */
  #primaryOf(server: CopyServer): CopyServer | undefined {
    if (server.isPrimary) return undefined;
    const primary = this.named(server.follows);
    if (primary === undefined || [server, primary].some((one) => !one.mayRun() || one.isCut))
      return undefined;
    return primary.isPrimary ? primary : undefined;
  }

  #carryOut(step: CopyStep, server: CopyServer): void {
    switch (step) {
      case 'kill':
        server.end();
        break;
      case 'start':
        server.start();
        break;
      case 'start empty':
        this.#startOn(server, NOTHING);
        break;
      case 'snapshot':
        server.snapshot = server.disk;
        break;
      case 'start old':
        this.#startOn(server, server.snapshot!);
        break;
      case 'pause':
      case 'go on':
        server.isPaused = step === 'pause';
        break;
      case 'cut':
        this.endStreams(server);
        server.isCut = true;
        break;
      case 'mend':
        server.isCut = false;
        break;
      case 'hide':
      case 'show':
        server.isHidden = step === 'hide';
        break;
      case 'leave':
      case 'stay':
        server.isLeaving = step === 'leave';
        break;
      case 'rewrite':
        server.isFileBehind = false;
        server.flush();
        break;
      default:
        this.#replicate(step, server, this.#primaryOf(server)!);
    }
  }

  /** Starts a server on another disk than the one that it wrote last. */
  #startOn(server: CopyServer, disk: Entry): void {
    this.hasLost = true;
    server.disk = disk;
    server.data = disk;
    server.start();
  }

  #replicate(step: CopyStep, server: CopyServer, primary: CopyServer): void {
    switch (step) {
      case 'copy whole':
        primary.flush();
        primary.fullCopies += 1;
        server.arriving = primary.data;
        break;
      case 'arrive':
        server.data = server.arriving!;
        server.arriving = undefined;
        server.isFileBehind = true;
        this.#connect(server, primary);
        break;
      case 'follow':
        this.#connect(server, primary);
        break;
      case 'receive':
      case 'receive all': {
        primary.flush();
        const missing = between(server.data, primary.data)!;
        server.data = step === 'receive' ? missing[0]! : primary.data;
        break;
      }
      default: {
        // A server of 7.2 or later tells of its disk as it was before.
        const onDisk = server.asksDisks && !server.isFileBehind ? server.disk.offset : 0;
        server.flush();
        primary.replicas.set(server.name, { offset: server.data.offset, onDisk });
      }
    }
  }

  #connect(server: CopyServer, primary: CopyServer): void {
    server.isConnected = true;
    server.knowsHistory = true;
    primary.replicas.set(server.name, { offset: 0, onDisk: 0 });
  }

  endStreams({ name, replicas }: CopyServer): void {
    replicas.clear();
    for (const other of this.servers) {
      other.replicas.delete(name);
      if (other.follows !== name && other.name !== name) continue;
      other.isConnected = false;
      other.arriving = undefined;
    }
  }

  /** All machines run and reach each other again. */
  mend(): void {
    for (const { name } of this.servers)
      for (const step of ['start', 'go on', 'mend', 'show', 'stay'] as const) this.step(step, name);
  }

  /** Replicates as far as it goes. @returns whether anything happened */
  work(): boolean {
    let hasWorked = false;
    for (const { name } of this.servers)
      for (const step of WORK) hasWorked = this.step(step, name) || hasWorked;
    return hasWorked;
  }

  /** Returns the state of each server, for messages. */
  shown(): string[] {
    return this.servers.map((server) => {
      const { name, isPrimary, follows, isConnected, isFileBehind, data, disk } = server;
      const role = isPrimary ? 'primary' : `${isConnected ? 'follows' : 'looks for'} ${follows}`;
      const told = [...server.replicas].map(([replica, { offset }]) => `${replica}=${offset}`);
      return `${name} ${role} at ${data.offset}, ${disk.offset}${isFileBehind ? '?' : ''} on disk, ${told.join()}`;
    });
  }

  /** True when all servers have the same data on their disks. */
  areEqual(): boolean {
    const [{ data }] = this.servers as [CopyServer];
    return this.servers.every((server) => server.data === data && server.disk === data);
  }
}

/** In the order of a replica that begins to follow. */
const WORK = ['follow', 'copy whole', 'arrive', 'rewrite', 'receive all', 'acknowledge'] as const;
