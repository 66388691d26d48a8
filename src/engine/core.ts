/** Parts that all engine commands share: the connection, its scripts, the life cycle and the claim filter in force. */

import type { Redis } from 'ioredis';
import { Refusal } from '../domain/errors.ts';
import type { Resume } from '../process/spans.ts';
import { loadScript, type Script } from '../redis/lua.ts';
import type { CopyRounds } from './copies/rounds.ts';
import type { EpochNotes } from './epoch-notes.ts';
import { FilterInForce } from './filter-in-force.ts';
import { EngineLifecycle } from './lifecycle.ts';
import { EngineMemory } from './memory.ts';
import { Stale } from './outcomes.ts';
import { ScriptRunner, type UntilCopied } from './script-runner.ts';

export interface CoreOptions {
  readonly redis: Redis;
  /** Tests may leave them out: then a server that lacks the last epoch begins it again. */
  readonly epochs?: EpochNotes;
  /** Present where the engine has copies: whatever it tells is handed on when they have it. */
  readonly rounds?: CopyRounds | undefined;
  /** True where the service of the engine's Redis keeps each write by itself; tests leave it out. */
  readonly isDurable?: boolean;
  /** Loads a script. Tests pass altered scripts. */
  readonly load?: (name: string) => Script;
  /** Bytes of the claim filter of a new engine and of a rebuilt filter; a power of two. */
  readonly claimFilterBytes?: number;
  /** Longest wait of an order or cancel for its call, in milliseconds; a second by default. */
  readonly patienceMs?: number;
  /** Least time that settled events stay, in milliseconds; default ten seconds. */
  readonly eventsStayMs?: number;
  /** True if a server that hides its settings may hold the engine. */
  readonly trustsServer?: boolean;
  /** Called with messages for operators. */
  readonly warn?: (message: string) => void;
  /** Called with the duration of a script, from sending to reply. */
  readonly observe?: (script: string, seconds: number) => void;
  /** Keeps the context of a command until its script runs; absent while nothing is traced. */
  readonly here?: (() => Resume) | undefined;
}

const STALE_RETRIES = 5;

export class EngineCore {
  readonly redis: Redis;
  readonly scripts: ScriptRunner;
  readonly filter: FilterInForce;
  readonly lifecycle: EngineLifecycle;
  readonly memory: EngineMemory;
  readonly here: (() => Resume) | undefined;
  readonly patienceMs: number | undefined;
  readonly #renewals = new Map<string, Promise<void>>();

  constructor({
    redis,
    epochs,
    rounds,
    isDurable = false,
    load = loadScript,
    claimFilterBytes,
    patienceMs,
    trustsServer = false,
    warn = () => undefined,
    observe = () => undefined,
    here,
  }: CoreOptions) {
    this.redis = redis;
    this.here = here;
    this.patienceMs = patienceMs;
    const beginWait = rounds && (() => this.#beginWait(rounds));
    this.scripts = new ScriptRunner(redis, { load, observe, warn, beginWait });
    this.filter = new FilterInForce(redis, this.scripts, claimFilterBytes);
    this.memory = new EngineMemory(redis);
    const { scripts, filter, memory } = this;
    const server = { trustsServer, isDurable, hasCopies: rounds !== undefined };
    this.lifecycle = new EngineLifecycle({ redis, scripts, filter, memory, epochs, warn, ...server });
  }

  /** @throws Refusal SERVICE_UNAVAILABLE while the engine is not open, or its copies cannot be asked */
  #beginWait(rounds: CopyRounds): UntilCopied {
    const { tenure } = this.lifecycle;
    const connection = rounds.begin(this.lifecycle.position.runId);
    return () => {
      this.lifecycle.checkTenure(tenure);
      return rounds.cover(connection, this.lifecycle.position);
    };
  }

  /**
   * Repeats a command while its script reports something stale, which is read again before each repetition.
   * @param refresh reads again what is neither the epoch nor the filter
   */
  async whileCurrent<T>(
    command: () => Promise<T | Stale>,
    refresh: () => Promise<void> = async () => undefined,
  ): Promise<T> {
    const result = await command();
    return result instanceof Stale ? this.repeat(result, command, refresh) : result;
  }

  /**
   * Repeats a command whose script has reported something stale, like `whileCurrent`.
   * @param stale what the command found
   */
  async repeat<T>(stale: Stale, command: () => Promise<T | Stale>, refresh: () => Promise<void>): Promise<T> {
    let { what } = stale;
    for (let tries = 1; tries < STALE_RETRIES; tries += 1) {
      await this.#renew(what, refresh);
      const result = await command();
      if (!(result instanceof Stale)) return result;
      what = result.what;
    }
    throw new Refusal('SERVICE_UNAVAILABLE', 'the rules changed again and again while the command ran');
  }

  /** Rereads stale state once per turn of the event loop, because many commands of one call report the same. */
  #renew(what: string, refresh: () => Promise<void>): Promise<void> {
    const known = this.#renewals.get(what);
    if (known !== undefined) return known;
    const renewal =
      what === 'epoch'
        ? this.lifecycle.confirm()
        : what === 'filter'
          ? this.filter.read().then(() => undefined)
          : refresh();
    this.#renewals.set(what, renewal);
    setImmediate(() => this.#renewals.delete(what));
    return renewal;
  }
}
