/** Base of every engine command: holds the connection and the epoch, and translates failures. */

import type { Redis } from 'ioredis';
import { Refusal } from '../domain/errors.ts';
import type { BegunEpoch, Cursor } from '../domain/event.ts';
import { loadScript, type Script } from '../redis/lua.ts';
import { type InputOf, LoadedCall, type ReplyOf, type ScriptCall } from '../redis/script-call.ts';
import {
  DEFAULT_FILTER_BYTES,
  type FilterState,
  readFilterState,
  writeFilterState,
} from './filter-layout.ts';
import { KEYS } from './keys.ts';
import { Stale } from './outcomes.ts';
import { BEGIN_REBUILD, FIXED_KEYS, OPEN_EPOCH } from './scripts.ts';
import { checkServerSettings, rewriteLog, wrongSettings } from './server-settings.ts';
import { ENGINE_FORMAT, HIGHEST_EPOCH, readState } from './state.ts';

/** Thrown when the engine has lost events that Postgres has. It must not trade until it is rebuilt. */
export class EngineBehind extends Error {
  override readonly name = 'EngineBehind';
}

/** Thrown when the engine has another format than this release. Nothing of it may be read or written. */
export class EngineFormat extends Error {
  override readonly name = 'EngineFormat';
}

/** Thrown when all epochs are used up, so that no new id can be issued. */
export class EngineExhausted extends Error {
  override readonly name = 'EngineExhausted';
}

/** Thrown when an epoch waits for its note in Postgres. The cause is the failure of Postgres. */
export class EpochUnnoted extends Refusal {}

/** Thrown when the stream refused the event of a command. Each script appends its event first, so nothing was written. */
export class EventRefused extends Refusal {}

/** @param format empty: the engine has no format number */
const otherFormat = (format: string): EngineFormat =>
  new EngineFormat(
    format === ''
      ? "the engine's Redis was written before release 0.1.0, and no release reads it: nothing was changed; start anew with an empty Redis and an empty database (`npm start`: another DATA_DIR)"
      : `the engine's Redis has format ${format}, this release needs format ${ENGINE_FORMAT}: let the release that wrote it settle every event, stop it, then run 'ledger rebuild'`,
  );

/** The knowledge of Postgres when an engine is opened. */
interface KnownPosition extends Cursor {
  /** The highest epoch that it has noted; null before the first. */
  readonly begun?: BegunEpoch | null;
}

/** The notes of epochs, which outlive the engine's Redis. */
export interface EpochNotes {
  /**
   * Notes that an epoch began.
   * @returns run id of the server on which it began first
   * @throws Refusal SERVICE_UNAVAILABLE
   */
  note(begun: BegunEpoch): Promise<string>;
}

export interface CoreOptions {
  readonly redis: Redis;
  /** Tests may leave them out: then a server that lacks the last epoch begins it again. */
  readonly epochs?: EpochNotes;
  /** Loads a script. Tests pass altered scripts. */
  readonly load?: (name: string) => Script;
  /** Bytes of the claim filter of a new engine and of a rebuilt filter; a power of two. */
  readonly claimFilterBytes?: number;
  /** Called with messages for operators. */
  readonly warn?: (message: string) => void;
  /** Called with the duration of a script, from sending to reply. */
  readonly observe?: (script: string, seconds: number) => void;
}

/** Replies of a Redis that cannot serve now, or that refers to another server. Nothing was written. */
const UNAVAILABLE_REPLY =
  /^(LOADING|BUSY|OOM|MISCONF|READONLY|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|NOREPLICAS|NOAUTH|ERR max number)/;
/** Errors of a stream that has an entry with a higher id than the next event. */
const HIGHER_ID = /specified in XADD is equal or smaller|stream has exhausted the last possible ID/;
const STALE_RETRIES = 5;
/** Scripts that may run on an engine of another format, because they detect or replace it. */
const FOR_ANY_FORMAT = new Set<unknown>([OPEN_EPOCH, BEGIN_REBUILD]);

/** Turns a failure of Redis into SERVICE_UNAVAILABLE. An error of the script itself is returned unchanged. */
function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Refusal) return error;
  if (error.name === 'ReplyError' && !UNAVAILABLE_REPLY.test(error.message)) return error;
  return new Refusal('SERVICE_UNAVAILABLE', 'the matching engine is temporarily unavailable', {
    cause: error,
  });
}

/** Returns the refusal of a command that waited too long for its turn; nothing has run. */
export const neverSent = (): Refusal =>
  new Refusal('SERVICE_UNAVAILABLE', 'the matching engine is busy, and nothing was done: try again');

export class EngineCore {
  readonly redis: Redis;
  readonly #load: (name: string) => Script;
  readonly #observe: (script: string, seconds: number) => void;
  readonly #warn: (message: string) => void;
  readonly #scripts = new Map<unknown, LoadedCall<never>>();
  /** Bytes of the next filter that is made. */
  readonly filterBytes: number;
  #filter: FilterState = readFilterState(null);
  readonly #epochs: EpochNotes | undefined;
  #epoch: number | undefined;
  /** The noted epoch that this engine lacked when a next one began; it is told when the engine opens. */
  #lacked: BegunEpoch | null = null;
  #runId: string | undefined;
  /** Sequence of the last event that this process knows of the open engine. */
  #sequence = 0;
  #tenure = 0;
  #wasOpen = false;
  /** Set while the engine is known to have another format. */
  #otherFormat: EngineFormat | undefined;
  readonly #renewals = new Map<string, Promise<void>>();
  readonly #listeners = new Set<() => void>();

  constructor(options: CoreOptions) {
    this.redis = options.redis;
    this.#epochs = options.epochs;
    this.#load = options.load ?? loadScript;
    this.#observe = options.observe ?? (() => undefined);
    this.filterBytes = options.claimFilterBytes ?? DEFAULT_FILTER_BYTES;
    this.#warn = options.warn ?? (() => undefined);
    // After a disconnect, another server may answer. It must be identified before anything runs on it.
    this.redis.on('close', () => this.#close());
  }

  /** The epoch in force; throws SERVICE_UNAVAILABLE while the engine is not open. */
  get epoch(): number {
    if (this.#epoch === undefined)
      throw new Refusal('SERVICE_UNAVAILABLE', 'the matching engine is not open yet');
    return this.#epoch;
  }

  /** Sequence of the last event that this process knows; an engine without it holds older data. */
  get leastSequence(): number {
    return this.#sequence;
  }

  /**
   * Notes an event that the engine has told.
   * @param tenure the tenure in which the engine was asked
   */
  saw(sequence: number, tenure: number): void {
    if (tenure === this.#tenure && sequence > this.#sequence) this.#sequence = sequence;
  }

  /** Claim filters as last read; a script that finds them outdated says so. */
  get filter(): FilterState {
    return this.#filter;
  }

  isOpen(): boolean {
    return this.#epoch !== undefined;
  }

  /** Stays false in processes that only read the engine, and need not open it. */
  get wasOpen(): boolean {
    return this.#wasOpen;
  }

  /**
   * Changes whenever another engine may answer: after a disconnect, and with each epoch. Data read from the engine
   * under another tenure is no longer valid.
   */
  get tenure(): number {
    return this.#tenure;
  }

  /**
   * Calls the listener when the engine must be opened again although its connection did not break.
   * @returns a function that removes the listener
   */
  onLost(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Identifies the server, and begins a new epoch if it is not the server of the last epoch. Must be called again after
   * each reconnection. An epoch opens when Postgres has its note, and not before: a server that lacks the epoch could
   * begin it again. An epoch with a note opens also while Postgres is away.
   * @param known undefined while Postgres is unavailable
   * @returns the noted epoch, if it began on another server and this engine lacks it; otherwise null
   * @throws EngineMisconfigured when the server's settings could lose what it has answered
   * @throws EngineBehind when Postgres has events that this server lost
   * @throws EngineFormat when another release wrote the engine in another format
   * @throws EngineExhausted when all epochs are used up
   * @throws EpochUnnoted while Postgres does not take the note
   */
  async open(known: KnownPosition | undefined): Promise<BegunEpoch | null> {
    const tenure = this.#tenure;
    await this.checkServer();
    const runId = await this.#readRunId();
    this.#checkTenure(tenure);
    let reply = await this.#openEpoch(runId, known, '');
    if (reply.outcome === 'rewrite') {
      await this.#ask(() => rewriteLog(this.redis, this.#warn));
      this.#checkTenure(tenure);
      reply = await this.#openEpoch(runId, known, '1');
    }
    this.formatReplaced();
    if (reply.outcome === 'begun' && known !== undefined) {
      if (reply.lacksNoted) this.#lacked = known.begun ?? null;
      const begun: BegunEpoch = { epoch: reply.epoch, server: runId };
      await this.#note(begun);
      this.#checkTenure(tenure);
      reply = await this.#openEpoch(runId, { ...known, begun }, '1');
    }
    switch (reply.outcome) {
      case 'open':
        // Postgres may have been put back to an earlier moment.
        if (known !== undefined && reply.epoch > (known.begun?.epoch ?? 0))
          await this.#note({ epoch: reply.epoch, server: runId });
        this.#checkTenure(tenure);
        return this.#opened(reply, runId);
      case 'format':
        this.#otherFormat = otherFormat(reply.format);
        throw this.#otherFormat;
      case 'behind':
        throw new EngineBehind(
          `the engine is at event ${reply.lastEvent}, Postgres at ${known?.epoch}-${known?.sequence}: restore it, or fill an empty one by 'ledger rebuild'`,
        );
      case 'exhausted':
        throw new EngineExhausted(`all ${HIGHEST_EPOCH} epochs are used up; no more order ids can be issued`);
      case 'begun':
      case 'rewrite':
      case 'unknown':
        throw new Refusal(
          'SERVICE_UNAVAILABLE',
          'Postgres must tell where the ledger stands before the engine opens',
        );
    }
  }

  #opened({ epoch, filter }: { epoch: number; filter: string }, runId: string): BegunEpoch | null {
    this.#filter = readFilterState(filter);
    this.#sequence = 0;
    this.#adopt(epoch, runId);
    const lacked = this.#lacked;
    this.#lacked = null;
    return lacked;
  }

  #checkTenure(tenure: number): void {
    if (tenure !== this.#tenure)
      throw new Refusal(
        'SERVICE_UNAVAILABLE',
        'the connection to the engine changed during the call; try again',
      );
  }

  #openEpoch(
    runId: string,
    known: KnownPosition | undefined,
    rewritten: '' | '1',
  ): Promise<ReplyOf<typeof OPEN_EPOCH>> {
    return this.run(OPEN_EPOCH, {
      runId,
      epoch: known?.epoch ?? '',
      sequence: known?.sequence ?? '',
      filterLayout: writeFilterState({ generation: 0, bytes: this.filterBytes }),
      format: ENGINE_FORMAT,
      rewritten,
      begunEpoch: known?.begun?.epoch ?? (known === undefined ? '' : 0),
      begunServer: known?.begun?.server ?? '',
    });
  }

  /** @throws EpochUnnoted; Refusal SERVICE_UNAVAILABLE when the epoch began on another server before */
  async #note(begun: BegunEpoch): Promise<void> {
    const { epoch, server } = begun;
    const noted = await this.#epochs?.note(begun).catch((cause: unknown) => {
      throw new EpochUnnoted('SERVICE_UNAVAILABLE', `epoch ${epoch} waits for its note in Postgres`, {
        cause,
      });
    });
    if (noted !== undefined && noted !== server)
      throw new Refusal('SERVICE_UNAVAILABLE', `epoch ${epoch} began on another server`);
  }

  /**
   * Notes the epoch in force in a Postgres that lacks its note, because it was put back to an earlier moment. Trading
   * goes on meanwhile. Closes the engine if another server has the epoch.
   * @param begun the highest epoch that Postgres has noted
   */
  async noteEpoch(begun: BegunEpoch | null): Promise<void> {
    const [epoch, server, tenure] = [this.#epoch, this.#runId, this.#tenure];
    if (epoch === undefined || server === undefined || this.#epochs === undefined) return;
    let noted = begun;
    if (begun === null || begun.epoch < epoch) {
      const at = await this.#epochs.note({ epoch, server }).catch(() => server);
      noted = { epoch, server: at };
    }
    const isOthers = noted?.epoch === epoch && noted.server !== server;
    if (isOthers && tenure === this.#tenure) this.#lose();
  }

  /** @throws EngineMisconfigured when the server's settings could lose what it has answered */
  checkServer = (): Promise<void> => checkServerSettings(this.redis, this.#warn);

  /**
   * Checks if another release wrote the engine in another format; works before the engine is open.
   * @throws EngineFormat; Refusal SERVICE_UNAVAILABLE
   */
  async checkFormat(): Promise<void> {
    const [exists, format] = await this.#ask(() =>
      Promise.all([this.redis.exists(KEYS.engine), this.redis.hget(KEYS.engine, 'format')]),
    );
    const isOther = exists === 1 && format !== String(ENGINE_FORMAT);
    this.#otherFormat = isOther ? otherFormat(format ?? '') : undefined;
    if (this.#otherFormat !== undefined) throw this.#otherFormat;
  }

  /** Notes that the engine of another format was replaced. */
  formatReplaced(): void {
    this.#otherFormat = undefined;
  }

  /** Returns the run id of the server, which changes at each of its starts. */
  serverRunId(): Promise<string> {
    return this.call(() => this.#readRunId());
  }

  async #readRunId(): Promise<string> {
    return /^run_id:(\w+)/m.exec(await this.redis.info('server'))?.[1] ?? '';
  }

  /**
   * Runs a script.
   * @throws Refusal SERVICE_UNAVAILABLE when its outcome is unknown; EngineFormat
   */
  async run<Call extends ScriptCall<string, string, unknown>>(
    call: Call,
    input: InputOf<Call>,
  ): Promise<ReplyOf<Call>> {
    if (this.#otherFormat !== undefined && !FOR_ANY_FORMAT.has(call)) throw this.#otherFormat;
    let loaded = this.#scripts.get(call) as LoadedCall<Call> | undefined;
    if (loaded === undefined) {
      loaded = new LoadedCall(call, this.#load(call.name), FIXED_KEYS);
      this.#scripts.set(call, loaded as LoadedCall<never>);
    }
    const begun = performance.now();
    let reply: unknown;
    try {
      reply = await loaded.send(this.redis, input);
    } catch (error) {
      if (error instanceof Error && HIGHER_ID.test(error.message))
        throw this.failureOf(call.name, error.message);
      throw asUnavailable(error);
    } finally {
      this.#observe(call.name, (performance.now() - begun) / 1000);
    }
    return loaded.read(reply);
  }

  /**
   * Returns the error of a command that failed within its script, before the script wrote anything for it.
   * @param told text of the script's error
   */
  failureOf(script: string, told: string): Error {
    const cause = new Error(`${script} failed: ${told}`);
    if (!HIGHER_ID.test(told)) return cause;
    this.#warn(
      `the stream ${KEYS.events} has an entry with a higher id than the engine's next event: nothing is placed, cancelled or moved until it is removed`,
    );
    const message = 'the matching engine cannot record events, and nothing was done: try again later';
    return new EventRefused('SERVICE_UNAVAILABLE', message, { cause });
  }

  /**
   * Repeats a command while its script reports something stale, which is read again before each repetition.
   * @param refresh reads again what is neither the epoch nor the filter
   */
  async whileCurrent<T>(
    command: () => Promise<T | Stale>,
    refresh: () => Promise<void> = async () => undefined,
  ): Promise<T> {
    for (let tries = 0; tries < STALE_RETRIES; tries += 1) {
      const result = await command();
      if (!(result instanceof Stale)) return result;
      await this.#renew(result.what, refresh);
    }
    throw new Refusal('SERVICE_UNAVAILABLE', 'the rules changed again and again while the command ran');
  }

  /** Rereads stale state once per turn of the event loop, because many commands of one call report the same. */
  #renew(what: string, refresh: () => Promise<void>): Promise<void> {
    const known = this.#renewals.get(what);
    if (known !== undefined) return known;
    const renewal =
      what === 'epoch'
        ? this.confirm()
        : what === 'filter'
          ? this.readFilter().then(() => undefined)
          : refresh();
    this.#renewals.set(what, renewal);
    setImmediate(() => this.#renewals.delete(what));
    return renewal;
  }

  /** Runs a plain command; its failures are treated like a script's. */
  async call<T>(command: () => Promise<T>): Promise<T> {
    if (this.#otherFormat !== undefined) throw this.#otherFormat;
    return this.#ask(command);
  }

  async #ask<T>(command: () => Promise<T>): Promise<T> {
    try {
      return await command();
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  /** Asks the engine which claim filters are in force. */
  async readFilter(): Promise<FilterState> {
    const [text] = await this.call(() => this.redis.hmget(KEYS.engine, 'filter'));
    this.#filter = readFilterState(text ?? null);
    return this.#filter;
  }

  /**
   * Checks an open engine from time to time: it must still be the one that was opened, and its server must still keep
   * what it answers. Otherwise the engine must be opened again.
   * @param settled like `confirm`
   * @throws Refusal SERVICE_UNAVAILABLE like `confirm`
   */
  async inspect(settled?: Cursor): Promise<void> {
    await this.confirm(settled);
    const tenure = this.#tenure;
    const wrong = await this.call(() => wrongSettings(this.redis));
    if (wrong !== undefined && wrong.length > 0 && tenure === this.#tenure) this.#lose();
  }

  /**
   * Checks that the server still holds the opened engine. Another replica may have begun a new epoch on the same
   * server. An engine that was emptied, rebuilt or replaced by an older copy meanwhile must be opened again.
   * @param settled a cursor of Postgres that was read before this call; an older copy of the engine may lack its event
   * @throws Refusal SERVICE_UNAVAILABLE when the engine must be opened again, and while it is not open
   */
  async confirm(settled?: Cursor): Promise<void> {
    const tenure = this.#tenure;
    const [format, server, state, filter] = await this.call(() =>
      this.redis.hmgetBuffer(KEYS.engine, 'format', 'server', 'state', 'filter'),
    );
    if (tenure !== this.#tenure || this.#epoch === undefined) {
      void this.epoch; // throws while it is not open
      return;
    }
    const { epoch, sequence } = readState(state);
    if (
      String(format) === String(ENGINE_FORMAT) &&
      this.#runId !== undefined &&
      this.#runId === String(server) &&
      sequence >= this.#sequence &&
      sequence >= (settled?.sequence ?? 0)
    ) {
      this.#filter = readFilterState(filter?.toString() ?? null);
      // The server has an epoch under its run id when Postgres has the note.
      this.#adopt(epoch, this.#runId);
      this.saw(sequence, this.#tenure);
      return;
    }
    this.#lose();
    throw new Refusal('SERVICE_UNAVAILABLE', 'the matching engine was replaced and is not open yet');
  }

  /**
   * Returns a result of the engine. A server that was emptied or is being rebuilt has nothing either, so an empty result
   * counts only if the same engine was open before and after the read: an opening changes the tenure.
   * @throws Refusal SERVICE_UNAVAILABLE when the engine must be opened again, and while it is not open
   */
  async ofOpenEngine<T>(read: () => Promise<T>, isEmpty: (result: T) => boolean): Promise<T> {
    for (let tries = 0; tries < STALE_RETRIES; tries += 1) {
      const tenure = this.#tenure;
      const result = await read();
      if (!isEmpty(result)) return result;
      await this.confirm();
      if (tenure === this.#tenure) return result;
    }
    throw new Refusal('SERVICE_UNAVAILABLE', 'the matching engine was replaced again and again');
  }

  #adopt(epoch: number, runId: string): void {
    this.#wasOpen = true;
    if (epoch !== this.#epoch || runId !== this.#runId) this.#tenure += 1;
    this.#epoch = epoch;
    this.#runId = runId;
  }

  /** The engine must be opened again although its connection did not break. */
  #lose(): void {
    this.#close();
    for (const listener of this.#listeners) listener();
  }

  #close(): void {
    this.formatReplaced();
    this.#epoch = undefined;
    this.#runId = undefined;
    this.#sequence = 0;
    this.#tenure += 1;
  }
}
