/** Runs scripts and plain commands on the engine's Redis, and translates their failures. */

import type { Redis } from 'ioredis';
import type { Script } from '../redis/lua.ts';
import { type InputOf, LoadedCall, type ReplyOf, type ScriptCall } from '../redis/script-call.ts';
import { asUnavailable, type EngineFormat, EventRefused, HIGHER_ID } from './failures.ts';
import { KEYS } from './keys.ts';
import { BEGIN_REBUILD, END_REBUILD, FILL_REBUILD, FIXED_KEYS, OPEN_EPOCH } from './scripts.ts';

/** Scripts that may run on an engine of another format, because they detect or replace it. */
const FOR_ANY_FORMAT = new Set<unknown>([OPEN_EPOCH, BEGIN_REBUILD]);
/** Scripts that open or fill an engine. Nobody is told anything of it before it is open. */
const BEFORE_OPEN = new Set<unknown>([OPEN_EPOCH, BEGIN_REBUILD, FILL_REBUILD, END_REBUILD]);

/** Waits until the copies of the engine have what a reply tells. */
export type UntilCopied = () => Promise<void>;

interface RunnerOptions {
  /**
   * Called before a command is sent, where the engine has copies.
   * @throws Refusal SERVICE_UNAVAILABLE while its reply could not be handed on; nothing was sent
   */
  readonly beginWait?: (() => UntilCopied) | undefined;
  readonly load: (name: string) => Script;
  readonly observe: (script: string, seconds: number) => void;
  readonly warn: (message: string) => void;
}

export class ScriptRunner {
  readonly #redis: Redis;
  readonly #options: RunnerOptions;
  readonly #scripts = new Map<unknown, LoadedCall<never>>();
  /** Set while the engine is known to have another format. */
  #otherFormat: EngineFormat | undefined;

  constructor(redis: Redis, options: RunnerOptions) {
    this.#redis = redis;
    this.#options = options;
  }

  /** True if replies are handed on only when the copies of the engine have what they tell. */
  get waitsForCopies(): boolean {
    return this.#options.beginWait !== undefined;
  }

  /** Refuses all further commands, except those that detect or replace an engine of another format. */
  formatFound(other: EngineFormat): void {
    this.#otherFormat = other;
  }

  /** Notes that the engine does not have another format, or has been replaced. */
  formatReplaced(): void {
    this.#otherFormat = undefined;
  }

  /**
   * Runs a script, and hands its reply on when the copies of the engine have what it tells.
   * @throws Refusal SERVICE_UNAVAILABLE when its outcome is unknown; EngineFormat
   */
  async run<Call extends ScriptCall<string, string, unknown>>(
    call: Call,
    input: InputOf<Call>,
  ): Promise<ReplyOf<Call>> {
    const { reply, untilCopied } = await this.runUncopied(call, input);
    if (untilCopied !== undefined) await untilCopied();
    return reply;
  }

  /**
   * Runs a script. The caller must call `untilCopied`, where it is given, before it tells anybody of the reply. It may
   * send the next script meanwhile.
   * @throws like `run`
   */
  async runUncopied<Call extends ScriptCall<string, string, unknown>>(
    call: Call,
    input: InputOf<Call>,
  ): Promise<{ readonly reply: ReplyOf<Call>; readonly untilCopied: UntilCopied | undefined }> {
    if (this.#otherFormat !== undefined && !FOR_ANY_FORMAT.has(call)) throw this.#otherFormat;
    let loaded = this.#scripts.get(call) as LoadedCall<Call> | undefined;
    if (loaded === undefined) {
      loaded = new LoadedCall(call, this.#options.load(call.name), FIXED_KEYS);
      this.#scripts.set(call, loaded as LoadedCall<never>);
    }
    const untilCopied = BEFORE_OPEN.has(call) ? undefined : this.#options.beginWait?.();
    const begun = performance.now();
    let reply: unknown;
    try {
      reply = await loaded.send(this.#redis, input);
    } catch (error) {
      if (error instanceof Error && HIGHER_ID.test(error.message))
        throw this.failureOf(call.name, error.message);
      throw asUnavailable(error);
    } finally {
      this.#options.observe(call.name, (performance.now() - begun) / 1000);
    }
    return { reply: loaded.read(reply), untilCopied };
  }

  /**
   * Returns the error of a command that failed within its script, before the script wrote anything for it.
   * @param told text of the script's error
   */
  failureOf(script: string, told: string): Error {
    const cause = new Error(`${script} failed: ${told}`);
    if (!HIGHER_ID.test(told)) return cause;
    this.#options.warn(
      `the stream ${KEYS.events} has an entry with a higher id than the engine's next event: nothing is placed, cancelled or moved until it is removed`,
    );
    const message = 'the matching engine cannot record events, and nothing was done: try again later';
    return new EventRefused('SERVICE_UNAVAILABLE', message, { cause });
  }

  /** Runs a plain command; its reply waits for copies, and its failures are treated, like a script's. */
  async call<T>(command: () => Promise<T>): Promise<T> {
    if (this.#otherFormat !== undefined) throw this.#otherFormat;
    const untilCopied = this.#options.beginWait?.();
    const reply = await this.callAnyFormat(command);
    if (untilCopied !== undefined) await untilCopied();
    return reply;
  }

  /** Like `call`, also on an engine of another format or one that is not open. The reply tells nothing of its events. */
  async callAnyFormat<T>(command: () => Promise<T>): Promise<T> {
    try {
      return await command();
    } catch (error) {
      throw asUnavailable(error);
    }
  }
}
