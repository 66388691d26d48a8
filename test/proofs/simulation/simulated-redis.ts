/** A connection to the engine's Redis whose commands wait for the scheduler. The commands themselves are real. */

import { Command, Redis } from 'ioredis';
import type { HostPort } from '../../../src/redis/address.ts';
import { leadsTo } from '../../../src/redis/found-server.ts';
import { loadScript, type Script, scriptOf } from '../../../src/redis/lua.ts';
import { Link, type LinkOptions, type Outcome } from './link.ts';

/** Hash with the clock of the simulated server: what TIME replies, in two fields. Reconcile takes it for a key of queues. */
export const CLOCK_KEY = '{redbook}:settlement:simulated-clock';

const TIME_CALL = "redis.call('TIME')";
const CLOCK_CALL = `redis.call('HMGET', '${CLOCK_KEY}', 'seconds', 'microseconds')`;

/** The script with the scheduler's clock in place of the server's, and nothing else changed. */
export const onSimulatedClock = (script: Script): Script =>
  scriptOf(script.name, script.source.replaceAll(TIME_CALL, CLOCK_CALL));

export const loadOnSimulatedClock = (name: string): Script => onSimulatedClock(loadScript(name));

/** State that a server keeps of one connection. */
export interface Session {
  /** Ends the wait of a command that blocks the connection. */
  waiting?: (() => Outcome | 'blocked') | undefined;
}

/** A server that runs the commands of connections, one at a time. */
export interface SimulatedServer {
  /** False while it hangs. */
  mayRun(): boolean;
  /** @returns `blocked` while the command waits; `session.waiting` tells when it no longer does */
  run(command: Command, session: Session): Promise<Outcome | 'blocked'>;
}

/** A server that a connection has found. */
export interface Found {
  readonly server: SimulatedServer;
  /** Absent where there is but one. */
  readonly endpoint?: HostPort;
  /** False while the connection does not reach the server. */
  readonly reaches?: () => boolean;
}

/** The way of a connection to its server, which it looks for each time. */
export interface ServerFinder {
  /** False while no look could find one. */
  isThere(): boolean;
  /** @param unreachable servers that do not answer, one bit each */
  find(unreachable: number): Promise<Found | undefined>;
}

const closed = (): Error => new Error('Connection is closed.');

/** True for the reply after which the client connects anew. */
const isWrongServer = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('READONLY');

export class SimulatedRedis extends Redis {
  readonly link: Link;
  readonly #finder: ServerFinder;
  #found: Found | undefined;
  #session: Session = {};

  /** It connects when the scheduler says so. */
  constructor(link: LinkOptions, finder: ServerFinder) {
    super({ lazyConnect: true, enableReadyCheck: false });
    this.link = new Link({ ...link, lost: closed });
    this.link.isOpen = false;
    this.#finder = finder;
    this.status = 'connecting';
  }

  override sendCommand(command: Command): Promise<unknown> {
    const found = this.#found!;
    const session = this.#session;
    this.link.send({
      label: labelOf(command),
      mayRun: () => found.server.mayRun() && found.reaches?.() !== false,
      run: () => found.server.run(command, session),
      unblocked: async () => session.waiting!(),
      answer: (outcome) => this.#answer(command, outcome),
    });
    return command.promise;
  }

  #answer(command: Command, outcome: Outcome): void {
    if ('value' in outcome) command.resolve(outcome.value);
    else {
      command.reject(outcome.error as Error);
      if (isWrongServer(outcome.error)) this.disconnect(true);
    }
  }

  /** True while the connection is broken, and a server is there. */
  get mayConnect(): boolean {
    return !this.link.isOpen && !this.link.isDead && this.#finder.isThere();
  }

  /** @param but a session that does not count */
  leadsTo(server: SimulatedServer, but?: Session): boolean {
    return this.link.isOpen && this.#found?.server === server && this.#session !== but;
  }

  /** Ends the connection. Commands that were sent still reach the server. */
  override disconnect(reconnect?: boolean): void {
    if (reconnect) queueMicrotask(() => this.breakOff(this.link.queue.length, false));
  }

  /** The connection breaks, as the client sees it. */
  breakOff(kept: number, isCrash: boolean): void {
    const wasOpen = this.link.isOpen;
    this.status = 'reconnecting';
    this.link.cut(kept, isCrash);
    if (!isCrash && wasOpen) this.emit('close');
  }

  /** @returns false when it finds no server */
  async comeBack(unreachable: number): Promise<boolean> {
    const found = await this.#finder.find(unreachable);
    if (found === undefined) return false;
    this.#found = found;
    this.#session = {};
    // Writers cork the stream of a ready connection; here there is none.
    const stream = { writableCorked: 1 };
    if (found.endpoint !== undefined) leadsTo(stream, found.endpoint);
    this.stream = stream as unknown as Redis['stream'];
    this.link.blocked = undefined;
    this.link.isOpen = true;
    this.status = 'ready';
    this.emit('ready');
    return true;
  }
}

/** A connection whose commands run at once. */
export class DirectRedis extends Redis {
  readonly #server: SimulatedServer;

  constructor(server: SimulatedServer) {
    super({ lazyConnect: true });
    this.#server = server;
  }

  override async sendCommand(command: Command): Promise<unknown> {
    const outcome = await this.#server.run(command, {});
    if (outcome === 'blocked') throw new Error(`${command.name} waits`);
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }
}

/**
 * Runs a command on a real connection.
 * @param observe reads something right after it, in the same packet
 */
export async function runReal(
  redis: Redis,
  command: Pick<Command, 'name' | 'args'>,
  observe: () => Promise<unknown> = async () => undefined,
): Promise<Outcome> {
  const { stream } = redis;
  stream.cork();
  // The command that was sent is answered when its reply is delivered.
  const { replyEncoding = null } = command as { readonly replyEncoding?: BufferEncoding | null };
  const own = new Command(command.name, [...command.args], { replyEncoding });
  const sent = redis.sendCommand(own) as Promise<unknown>;
  const reply = sent.then(
    (value): Outcome => ({ value }),
    (error: unknown): Outcome => ({ error }),
  );
  const observed = observe();
  stream.uncork();
  const [outcome] = await Promise.all([reply, observed]);
  return outcome;
}

type Called = Pick<Command, 'name' | 'args'>;

/** Scripts by the first argument of their calls: their digests, and their sources after NOSCRIPT. */
const scripts = new Map<string, Script>();

/** Remembers a script, so that its calls are known. */
export function rememberScript(script: Script): void {
  scripts.set(script.sha, script).set(script.source, script);
}

const scriptOfCall = ({ name, args }: Called): Script | undefined =>
  name.startsWith('eval') ? scripts.get(String(args[0])) : undefined;

export const labelOf = (command: Called): string => scriptOfCall(command)?.name ?? command.name;

/** Returns false for a command that appends no event. */
export const mayAppend = (command: Command): boolean =>
  scriptOfCall(command)?.source.includes("'XADD'") ?? command.name.startsWith('eval');
