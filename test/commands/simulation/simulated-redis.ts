/** A connection to the engine's Redis whose commands wait for the scheduler. The commands themselves are real. */

import { type Command, Redis } from 'ioredis';
import { loadScript, type Script, scriptOf } from '../../../src/redis/lua.ts';
import { Link, type LinkOptions, type Outcome } from './link.ts';

/** Hash with the clock of the simulated server: what TIME replies, in two fields. */
export const CLOCK_KEY = '{redbook}:simulated-clock';

const TIME_CALL = "redis.call('TIME')";
const CLOCK_CALL = `redis.call('HMGET', '${CLOCK_KEY}', 'seconds', 'microseconds')`;

/** The script with the scheduler's clock in place of the server's, and nothing else changed. */
export const onSimulatedClock = (script: Script): Script =>
  scriptOf(script.name, script.source.replaceAll(TIME_CALL, CLOCK_CALL));

export const loadOnSimulatedClock = (name: string): Script => onSimulatedClock(loadScript(name));

/** The server, as all connections share it. */
export interface SimulatedServer {
  /** The real connection that all commands run on, one at a time. */
  readonly redis: Redis;
  /** Identity of the server in the reply to INFO. */
  runId: string;
  /** Unix milliseconds of the server's clock. */
  nowMs: number;
  /** Called before a command runs, in the same packet. */
  beforeCommand(): void;
  /**
   * Called right after a command was sent to the real server, in the same packet.
   * @param mayAppend false for a command that appends no event
   */
  afterCommand(label: string, mayAppend: boolean): Promise<unknown>;
}

const closed = (): Error => new Error('Connection is closed.');

export class SimulatedRedis extends Redis {
  readonly link: Link;
  readonly #server: SimulatedServer;

  constructor(link: LinkOptions, server: SimulatedServer) {
    super({ lazyConnect: true, enableReadyCheck: false });
    this.link = new Link({ ...link, lost: closed });
    this.#server = server;
    this.status = 'ready';
    // Writers cork the stream of a ready connection; here there is none.
    this.stream = { writableCorked: 1 } as unknown as Redis['stream'];
  }

  override sendCommand(command: Command): Promise<unknown> {
    return this.link.ask(labelOf(command), () => this.#run(command));
  }

  async #run(command: Command): Promise<Outcome> {
    const { stream } = this.#server.redis;
    stream.cork();
    this.#server.beforeCommand();
    const reply = this.#send(command).then(
      (value): Outcome => ({ value: this.#ofThisServer(command.name, value) }),
      (error: unknown): Outcome => ({ error }),
    );
    const observed = this.#server.afterCommand(labelOf(command), mayAppend(command));
    stream.uncork();
    const [outcome] = await Promise.all([reply, observed]);
    return outcome;
  }

  #ofThisServer(command: string, value: unknown): unknown {
    const { runId, nowMs } = this.#server;
    if (command === 'info') return String(value).replace(/^run_id:\w+/m, `run_id:${runId}`);
    if (command === 'time') return [Math.floor(nowMs / 1_000), (nowMs % 1_000) * 1_000];
    return value;
  }

  /** A simulated restart leaves the file of the real server as it is. */
  #send(command: Command): Promise<unknown> {
    if (command.name === 'bgrewriteaof')
      return Promise.resolve('Background append only file rewriting started');
    return this.#server.redis.sendCommand(command) as Promise<unknown>;
  }

  /** The connection breaks, as the client sees it. */
  breakOff(kept: number, isCrash: boolean): void {
    this.status = 'reconnecting';
    this.link.cut(kept, isCrash);
    if (!isCrash) this.emit('close');
  }

  comeBack(): void {
    this.link.isOpen = true;
    this.status = 'ready';
    this.emit('ready');
  }
}

/** Scripts by the first argument of their calls: their digests, and their sources after NOSCRIPT. */
const scripts = new Map<string, Script>();

/** Remembers a script, so that its calls are known. */
export function rememberScript(script: Script): void {
  scripts.set(script.sha, script).set(script.source, script);
}

const scriptOfCall = ({ name, args }: Command): Script | undefined =>
  name.startsWith('eval') ? scripts.get(String(args[0])) : undefined;

const labelOf = (command: Command): string => scriptOfCall(command)?.name ?? command.name;

const mayAppend = (command: Command): boolean =>
  scriptOfCall(command)?.source.includes("'XADD'") ?? command.name.startsWith('eval');
