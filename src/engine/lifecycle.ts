/** Opens an engine, and watches that it stays the same one. */

import type { Redis } from 'ioredis';
import { Refusal } from '../domain/errors.ts';
import type { BegunEpoch, Cursor } from '../domain/event.ts';
import type { ReplyOf } from '../redis/script-call.ts';
import { foreignFormat, runIdIn } from './copies/server.ts';
import { type EpochNotes, isNotedElsewhere, noteBegun } from './epoch-notes.ts';
import { EngineBehind, EngineExhausted, type EngineFormat, otherFormat } from './failures.ts';
import type { FilterInForce } from './filter-in-force.ts';
import { writeFilterState } from './filter-layout.ts';
import { KEYS } from './keys.ts';
import type { EngineMemory } from './memory.ts';
import type { ScriptRunner } from './script-runner.ts';
import { OPEN_EPOCH } from './scripts.ts';
import {
  checkNoCopies,
  checkServerSettings,
  checkService,
  rewriteLog,
  wrongOfService,
  wrongSettings,
} from './server-settings.ts';
import { ENGINE_FORMAT, MAX_EPOCH, readState } from './state.ts';

/** The knowledge of Postgres when an engine is opened. */
interface KnownPosition extends Cursor {
  /** The highest epoch that it has noted; null before the first. */
  readonly begun?: BegunEpoch | null;
}

interface LifecycleOptions {
  readonly redis: Redis;
  readonly scripts: ScriptRunner;
  readonly filter: FilterInForce;
  readonly memory: EngineMemory;
  readonly epochs: EpochNotes | undefined;
  readonly warn: (message: string) => void;
  readonly trustsServer: boolean;
  /** True where this process waits for the copies of the engine. */
  readonly hasCopies: boolean;
  /** True where the service keeps each write by itself, and has no settings or file of its own to look at. */
  readonly isDurable: boolean;
}

/** Reads of an engine that was replaced meanwhile are repeated up to this number of times. */
const MAX_READS = 5;

export class EngineLifecycle {
  readonly #redis: Redis;
  readonly #scripts: ScriptRunner;
  readonly #filter: FilterInForce;
  readonly #warn: (message: string) => void;
  readonly #hasCopies: boolean;
  readonly #isDurable: boolean;
  readonly #epochs: EpochNotes | undefined;
  readonly #trustsServer: boolean;
  readonly #memory: EngineMemory;
  #epoch: number | undefined;
  /** The noted epoch that this engine lacked when a next one began; it is told when the engine opens. */
  #lacked: BegunEpoch | null = null;
  #runId: string | undefined;
  /** Sequence of the last event that this process knows of the open engine. */
  #sequence = 0;
  #tenure = 0;
  #wasOpen = false;
  readonly #listeners = new Set<() => void>();

  constructor(options: LifecycleOptions) {
    const { redis, scripts, filter, memory, epochs, warn, trustsServer } = options;
    this.#hasCopies = options.hasCopies;
    this.#isDurable = options.isDurable;
    this.#redis = redis;
    this.#scripts = scripts;
    this.#filter = filter;
    this.#memory = memory;
    this.#epochs = epochs;
    this.#warn = warn;
    this.#trustsServer = trustsServer;
    // After a disconnect, another server may answer. It must be identified before anything runs on it.
    redis.on('close', () => this.#close());
  }

  /** The epoch in force; throws SERVICE_UNAVAILABLE while the engine is not open. */
  get epoch(): number {
    if (this.#epoch === undefined)
      throw new Refusal('SERVICE_UNAVAILABLE', 'the matching engine is not open yet');
    return this.#epoch;
  }

  /** The open engine and the last event that this process knows; throws SERVICE_UNAVAILABLE while none is open. */
  get position(): { readonly epoch: number; readonly runId: string; readonly sequence: number } {
    return { epoch: this.epoch, runId: this.#runId!, sequence: this.#sequence };
  }

  /** Sequence of the last event that this process knows; an engine without it holds older data. */
  get minSequence(): number {
    return this.#sequence;
  }

  /**
   * Notes an event that the engine has told.
   * @param tenure the tenure in which the engine was asked
   */
  saw(sequence: number, tenure: number): void {
    if (tenure === this.#tenure && sequence > this.#sequence) this.#sequence = sequence;
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
    if (!this.#hasCopies) await checkNoCopies(this.#redis);
    const runId = await this.#readRunId();
    this.checkTenure(tenure);
    let reply = await this.#openEpoch(runId, known, '');
    if (reply.outcome === 'rewrite') {
      // A service that keeps its file by itself refuses the command.
      const warn = this.#isDurable ? () => undefined : this.#warn;
      await this.#scripts.callAnyFormat(() => rewriteLog(this.#redis, warn));
      this.checkTenure(tenure);
      reply = await this.#openEpoch(runId, known, '1');
    }
    this.#scripts.formatReplaced();
    if (reply.outcome === 'begins' && known !== undefined) {
      if (reply.lacksNoted) this.#lacked = known.begun ?? null;
      const begun: BegunEpoch = { epoch: reply.epoch, server: runId };
      await noteBegun(this.#epochs, begun);
      this.checkTenure(tenure);
      reply = await this.#openEpoch(runId, { ...known, begun }, '1');
    }
    switch (reply.outcome) {
      case 'open':
        // Postgres may have been put back to an earlier moment.
        if (known !== undefined && reply.epoch > (known.begun?.epoch ?? 0))
          await noteBegun(this.#epochs, { epoch: reply.epoch, server: runId });
        this.checkTenure(tenure);
        return this.#opened(reply, runId);
      case 'format':
        throw this.#foundFormat(reply.format);
      case 'behind':
        throw new EngineBehind(
          `the engine is at event ${reply.lastEvent}, Postgres at ${known?.epoch}-${known?.sequence}: restore it, or fill an empty one by 'ledger rebuild'`,
        );
      case 'exhausted':
        throw new EngineExhausted(`all ${MAX_EPOCH} epochs are used up; no more order ids can be issued`);
      case 'begins':
      case 'rewrite':
      case 'unknown':
        throw new Refusal(
          'SERVICE_UNAVAILABLE',
          "cannot open the engine before the ledger's position is read from Postgres",
        );
    }
  }

  #opened({ epoch, filter }: { epoch: number; filter: string }, runId: string): BegunEpoch | null {
    this.#filter.adopt(filter);
    this.#sequence = 0;
    this.#adopt(epoch, runId);
    const lacked = this.#lacked;
    this.#lacked = null;
    return lacked;
  }

  /** @throws Refusal SERVICE_UNAVAILABLE when another engine may answer by now */
  checkTenure(tenure: number): void {
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
    return this.#scripts.run(OPEN_EPOCH, {
      ofCopies: this.#hasCopies ? [KEYS.copies, KEYS.rounds] : [],
      runId,
      epoch: known?.epoch ?? '',
      sequence: known?.sequence ?? '',
      filterLayout: writeFilterState({ serial: 0, bytes: this.#filter.nextBytes }),
      format: ENGINE_FORMAT,
      rewritten,
      begunEpoch: known?.begun?.epoch ?? (known === undefined ? '' : 0),
      begunServer: known?.begun?.server ?? '',
    });
  }

  /**
   * Notes the epoch in force in a Postgres that lacks its note, because it was put back to an earlier moment. Trading
   * goes on meanwhile. Closes the engine if another server has the epoch, or a later one.
   * @param begun the highest epoch that Postgres has noted
   */
  async noteEpoch(begun: BegunEpoch | null): Promise<void> {
    const epoch = this.#epoch;
    const server = this.#runId;
    const tenure = this.#tenure;
    if (epoch === undefined || server === undefined || this.#epochs === undefined) return;
    const isOthers = await isNotedElsewhere(this.#epochs, { epoch, server }, begun);
    if (isOthers && tenure === this.#tenure) this.#lose();
  }

  /** @throws EngineMisconfigured when the server's settings could lose what it has answered */
  checkServer = (): Promise<void> =>
    this.#isDurable
      ? checkService(this.#redis)
      : checkServerSettings(this.#redis, { isTrusted: this.#trustsServer, warn: this.#warn });

  /**
   * Checks if another release wrote the engine in another format; works before the engine is open.
   * @throws EngineFormat; Refusal SERVICE_UNAVAILABLE
   */
  async checkFormat(): Promise<void> {
    const other = await this.#scripts.callAnyFormat(() => foreignFormat(this.#redis));
    if (other !== undefined) throw this.#foundFormat(other);
    this.#scripts.formatReplaced();
  }

  #foundFormat(format: string): EngineFormat {
    const other = otherFormat(format);
    this.#scripts.formatFound(other);
    return other;
  }

  /** Returns the run id of the server, which changes at each of its starts. */
  serverRunId(): Promise<string> {
    return this.#scripts.callAnyFormat(() => this.#readRunId());
  }

  async #readRunId(): Promise<string> {
    return runIdIn(await this.#redis.info('server'));
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
    const read = this.#isDurable ? wrongOfService : wrongSettings;
    const wrong = await this.#scripts.callAnyFormat(() => read(this.#redis));
    if (wrong !== undefined && wrong.length > 0 && tenure === this.#tenure) this.#lose();
    await this.#scripts.callAnyFormat(() => this.#memory.read());
  }

  /**
   * Checks that the server still holds the opened engine. Another replica may have begun a new epoch on the same
   * server. An engine that was emptied, rebuilt or replaced by an older copy meanwhile must be opened again.
   * @param settled a cursor of Postgres that was read before this call; an older copy of the engine may lack its event
   * @throws Refusal SERVICE_UNAVAILABLE when the engine must be opened again, and while it is not open
   */
  async confirm(settled?: Cursor): Promise<void> {
    // Its copies may take a while to confirm the reply, and the engine goes on meanwhile.
    const tenure = this.#tenure;
    const minSequence = this.#sequence;
    const [format, server, state, filter] = await this.#scripts.call(() =>
      this.#redis.hmgetBuffer(KEYS.engine, 'format', 'server', 'state', 'filter'),
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
      sequence >= minSequence &&
      sequence >= (settled?.sequence ?? 0)
    ) {
      this.#filter.adopt(filter?.toString() ?? null);
      // The server has an epoch under its run id when Postgres has the note.
      this.#adopt(epoch, this.#runId);
      this.saw(sequence, this.#tenure);
      return;
    }
    this.#lose();
    throw new Refusal('SERVICE_UNAVAILABLE', 'the matching engine was replaced and is not open yet');
  }

  /**
   * Returns a result of the engine. A server that was emptied or is being rebuilt has nothing either. So an empty result
   * counts only if the same engine was open before and after the read; an opening changes the tenure.
   * @throws Refusal SERVICE_UNAVAILABLE when the engine must be opened again, and while it is not open
   */
  async ofOpenEngine<T>(read: () => Promise<T>, isEmpty: (result: T) => boolean): Promise<T> {
    for (let tries = 0; tries < MAX_READS; tries += 1) {
      const tenure = this.#tenure;
      const result = await read();
      if (!isEmpty(result)) return result;
      await this.confirm();
      if (tenure === this.#tenure) return result;
    }
    throw new Refusal('SERVICE_UNAVAILABLE', 'the matching engine was replaced again and again');
  }

  /**
   * Returns a result of the engine, or of whatever the server holds in a process that never opens the engine.
   * @throws Refusal SERVICE_UNAVAILABLE like `ofOpenEngine`
   */
  notOfEmptied<T>(read: () => Promise<T>, isEmpty: (result: T) => boolean): Promise<T> {
    return this.#wasOpen ? this.ofOpenEngine(read, isEmpty) : read();
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
    this.#scripts.formatReplaced();
    this.#epoch = undefined;
    this.#runId = undefined;
    this.#sequence = 0;
    this.#tenure += 1;
  }
}
