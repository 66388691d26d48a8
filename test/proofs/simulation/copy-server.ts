/**
 * One of the engine's copies: a simulated server with its role, its disk and what its replicas acknowledge. Its data are
 * those of a real database. Whatever a server answers is on its disk, but what a replica received need not be.
 */

import type { Command } from 'ioredis';
import type { StreamEntry } from '../../../src/engine/event-codec.ts';
import { KEYS } from '../../../src/engine/keys.ts';
import { type HostPort, serverName } from '../../../src/redis/address.ts';
import type { Outcome } from './link.ts';
import { timeReply } from './lone-server.ts';
import { between, type Entry, entryAfter, NOTHING, type ReplicatedData } from './replicated-data.ts';
import { labelOf, mayAppend, type Session, type SimulatedServer } from './simulated-redis.ts';

const WRITES = new Set(['eval', 'evalsha', 'hset', 'hincrby', 'set', 'setrange', 'del']);
const SCRIPT_THAT_OPENS = 'open_epoch';
const SCRIPT_THAT_LISTS = 'set_copies';

/** Acknowledgement of a replica, as its primary knows it. */
interface Acknowledged {
  readonly offset: number;
  /** Offset that is on its disk; servers before 7.2 do not tell it. */
  readonly onDisk: number;
}

/** The world as the copies have it. */
export interface CopiesHost {
  /** Unix milliseconds. All servers have one clock. */
  readonly nowMs: number;
  /** A primary has appended events. @param after id of the event before them */
  appended(found: readonly StreamEntry[], after: string): void;
  /** A primary has run the script that opens an epoch. @param state fields `state` and `server` of the engine */
  opened(server: CopyServer, fields: readonly (Buffer | null)[]): void;
  /** Breaks all connections of clients to a server. @param but one that stays */
  breakClients(server: CopyServer, but?: Session): void;
  /** Ends the streams to and from a server. */
  endStreams(server: CopyServer): void;
}

interface CopySession extends Session {
  /** Offset of the last write of the connection. */
  written?: number;
  /** The log when keys were watched. */
  watched?: Entry | undefined;
  queued?: Command[] | undefined;
}

export class CopyServer implements SimulatedServer {
  readonly endpoint: HostPort;
  readonly name: string;
  readonly store: ReplicatedData;
  /** The version in its reply to INFO. */
  version = '7.0.15';
  isUp = true;
  isPaused = false;
  /** Keepers do not reach it, while all others do. */
  isHidden = false;
  /** It waits for its place to be given away. */
  isLeaving = false;
  /** It neither sends nor receives replication. */
  isCut = false;
  isPrimary = false;
  /** Name of the server that a replica follows. */
  follows = 'nobody:1';
  /** True for a replica that has the stream of its primary. */
  isConnected = false;
  /** False after a start, when it can only be copied whole. */
  knowsHistory = true;
  /** The data that are under way to it as a whole. */
  arriving: Entry | undefined;
  data: Entry = NOTHING;
  /** Data that a start would bring back. */
  disk: Entry = NOTHING;
  /** A snapshot of its disk; absent until one is taken. */
  snapshot: Entry | undefined;
  /** True after it was copied whole, until its file is written anew. */
  isFileBehind = false;
  /** Names of the list that it was given last as a primary. */
  listed: readonly string[] = [];
  /** Times that it sent all its data. */
  fullCopies = 0;
  /** Replicas that have its stream. */
  readonly replicas = new Map<string, Acknowledged>();
  readonly #host: CopiesHost;
  readonly #number: number;
  #starts = 0;

  constructor(number: number, store: ReplicatedData, host: CopiesHost) {
    this.#number = number;
    this.endpoint = { host: `copy-${number}`, port: 6_379 };
    this.name = serverName(this.endpoint);
    this.store = store;
    this.#host = host;
  }

  /** A part of it is the same for all servers of a simulation, so that it is recognised. */
  get runId(): string {
    return `${this.#number}`.padEnd(8, 'c').padEnd(40, this.#starts.toString(16).padStart(8, '0'));
  }

  get asksDisks(): boolean {
    return !this.version.startsWith('7.0');
  }

  mayRun = (): boolean => this.isUp && !this.isPaused;

  /** The process is gone, with all that is not on its disk. */
  end(): void {
    this.isUp = false;
    this.isPaused = false;
    this.isLeaving = false;
    this.data = this.disk;
    this.#host.breakClients(this);
    this.#host.endStreams(this);
    this.isPrimary = false;
    this.follows = 'nobody:1';
  }

  /** Begins a history: with data that are on its disk, in its role. */
  reset(data: Entry, follows: string | undefined): void {
    this.start();
    this.#starts = 0;
    this.isPaused = false;
    this.isHidden = false;
    this.isLeaving = false;
    this.isCut = false;
    this.knowsHistory = true;
    this.replicas.clear();
    this.arriving = undefined;
    this.data = data;
    this.disk = data;
    this.snapshot = undefined;
    this.listed = [];
    this.isPrimary = follows === undefined;
    this.follows = follows ?? '';
    this.isConnected = !this.isPrimary;
    this.store.forget();
  }

  /** Starts on its disk as a replica of nobody. */
  start(): void {
    this.isUp = true;
    this.#starts += 1;
    this.knowsHistory = false;
    this.isFileBehind = false;
    this.fullCopies = 0;
  }

  /** Changes its role, which ends the streams to its replicas. */
  #become(isPrimary: boolean, follows: string): Outcome {
    if (this.isPrimary !== isPrimary || this.follows !== follows) this.#host.endStreams(this);
    this.isPrimary = isPrimary;
    this.follows = follows;
    return { value: 'OK' };
  }

  /** Writes all that it has received to its disk, unless its file is behind as a whole. */
  flush(): void {
    if (!this.isFileBehind) this.disk = this.data;
  }

  async run(command: Command, session: CopySession): Promise<Outcome | 'blocked'> {
    this.flush();
    if (session.queued !== undefined && command.name !== 'exec') {
      session.queued.push(command);
      return { value: 'QUEUED' };
    }
    return this.#runNow(command, session);
  }

  async #runNow(command: Command, session: CopySession): Promise<Outcome | 'blocked'> {
    switch (command.name.toLowerCase()) {
      case 'info':
        return { value: this.#info() };
      case 'role':
        return { value: this.#role() };
      case 'time':
        return { value: timeReply(this.#host.nowMs) };
      case 'bgrewriteaof':
        return { value: 'Background append only file rewriting started' };
      case 'wait':
        return this.#wait(Number(command.args[0]), Number(command.args[1]), session, (count) => count);
      case 'waitaof':
        return this.#wait(Number(command.args[1]), Number(command.args[2]), session, (_all, onDisk) => [
          this.isFileBehind ? 0 : 1,
          onDisk,
        ]);
      case 'watch':
        session.watched = this.data;
        return { value: 'OK' };
      case 'unwatch':
        session.watched = undefined;
        return { value: 'OK' };
      case 'multi':
        session.queued = [];
        return { value: 'OK' };
      case 'exec':
        return this.#exec(session);
      case 'replicaof':
        return command.args[0] === 'NO'
          ? this.#become(true, '')
          : this.#become(false, command.args.map(String).join(':'));
      case 'pubsub':
        return { value: [command.args[1], this.isLeaving ? 1 : 0] };
      case 'publish':
        return { value: this.isLeaving ? 1 : 0 };
      case 'client':
        this.#host.breakClients(this, session);
        return { value: 1 };
      default:
        return this.#runOnData(command, session);
    }
  }

  async #exec(session: CopySession): Promise<Outcome> {
    const { queued = [], watched } = session;
    session.queued = undefined;
    session.watched = undefined;
    if (watched !== undefined && hasWritten(watched, this.data)) return { value: null };
    const values: unknown[] = [];
    for (const command of queued) {
      const outcome = await this.#runNow(command, session);
      if (outcome === 'blocked') throw new Error(`${command.name} waits within a transaction`);
      values.push('error' in outcome ? outcome.error : outcome.value);
    }
    return { value: values };
  }

  async #runOnData(command: Command, session: CopySession): Promise<Outcome> {
    const { nowMs } = this.#host;
    const before = this.data;
    if (!WRITES.has(command.name)) return this.store.run(command, { before, nowMs });
    if (!this.isPrimary)
      return { error: replyError("READONLY You can't write against a read only replica.") };
    const entry = entryAfter(before, nowMs, { name: command.name, args: [...command.args] });
    const outcome = await this.store.run(command, { before, entry, nowMs }, () =>
      this.#observe(command, entry),
    );
    if ('error' in outcome && String(outcome.error).includes('NOSCRIPT')) return outcome;
    this.data = entry;
    this.flush();
    session.written = entry.offset;
    return outcome;
  }

  /** Reads what a command has changed. */
  async #observe(command: Command, entry: Entry): Promise<void> {
    const { redis } = this.store;
    if (mayAppend(command)) {
      const after = entry.lastEventId;
      const found = await redis.xrangeBuffer(KEYS.events, `(${after}`, '+');
      entry.lastEventId = found.at(-1)?.[0].toString() ?? after;
      this.#host.appended(found, after);
    } else if (labelOf(command) === SCRIPT_THAT_OPENS)
      this.#host.opened(this, await redis.hmgetBuffer(KEYS.engine, 'state', 'server'));
    else if (labelOf(command) === SCRIPT_THAT_LISTS)
      this.listed = (await redis.hget(KEYS.copies, 'names'))?.split(' ') ?? [];
  }

  /** Waits until replicas have what the connection has written. */
  #wait(
    count: number,
    maxMs: number,
    session: CopySession,
    reply: (acknowledged: number, onDisk: number) => unknown,
  ): Outcome | 'blocked' {
    const offset = session.written ?? 0;
    const untilMs = this.#host.nowMs + maxMs;
    const look = (): Outcome | 'blocked' => {
      if (!this.mayRun()) return 'blocked';
      if (!this.isPrimary) return { error: replyError('UNBLOCKED force unblock from blocking operation') };
      const told = [...this.replicas.values()];
      const acknowledged = told.filter((one) => one.offset >= offset).length;
      const onDisk = told.filter((one) => one.onDisk >= offset).length;
      const value = reply(acknowledged, onDisk);
      const reached = Array.isArray(value) ? onDisk : acknowledged;
      return reached >= count || this.#host.nowMs >= untilMs ? { value } : 'blocked';
    };
    const found = look();
    // It asks the replicas by way of its stream.
    if (found === 'blocked') this.data = entryAfter(this.data, this.#host.nowMs);
    session.waiting = look;
    return found;
  }

  #role(): unknown {
    if (this.isPrimary) {
      const replicas = [...this.replicas].map(([name, { offset }]) => [...name.split(':'), String(offset)]);
      return ['master', this.data.offset, replicas];
    }
    const [host, port] = this.follows.split(':');
    const state = this.isConnected ? 'connected' : this.arriving === undefined ? 'connect' : 'sync';
    return ['slave', host, Number(port), state, this.data.offset];
  }

  #info(): string {
    const rewriting = this.isFileBehind ? 1 : 0;
    return [
      `# Server\r\nredis_version:${this.version}\r\nrun_id:${this.runId}`,
      `# Persistence\r\nloading:0\r\naof_enabled:1\r\naof_rewrite_in_progress:${rewriting}\r\naof_rewrite_scheduled:0`,
      `# Stats\r\nsync_full:${this.fullCopies}`,
      `# Replication\r\nrole:${this.isPrimary ? 'master' : 'slave'}\r\n`,
    ].join('\r\n');
  }
}

/** Orders of keepers watch a key that these scripts alone write, and that a whole copy replaces. */
const WRITE_WATCHED = new Set([SCRIPT_THAT_OPENS, SCRIPT_THAT_LISTS]);
const hasWritten = (before: Entry, now: Entry): boolean =>
  between(before, now)?.some(({ command }) => command && WRITE_WATCHED.has(labelOf(command))) ?? true;

const replyError = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });
