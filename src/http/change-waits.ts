/**
 * Requests that wait for the next change of a wallet's orders. One connection follows the engine's stream while somebody
 * waits, and shortly after. It wakes requests, and keeps the last events of their wallets, which most of them tell. A
 * request that comes from further back reads the stores.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { Bound, type BoundRule, type Place } from '../domain/bound.ts';
import { WAITS } from '../domain/bounds.ts';
import type { Cursor, EngineEvent } from '../domain/event.ts';
import { visitOrders } from '../domain/order-life.ts';
import type { Engine } from '../engine/index.ts';
import { type ChangeTail, ChangeTails } from '../history/change-tails.ts';
import { tooBusy, tooManyReads } from '../history/wallet-reads.ts';

/** Longest wait of one command, which has to end within the time limit of its connection. */
const BLOCK_MS = 1_000;
const PAUSE_AFTER_FAILURE_MS = 20;
/** A client waits again after each answer. A new connection would cost it some 40 ms. */
const STAYS_MS = 3_000;
/** Waits that wake before other requests have their go. Each takes some 100 µs to be answered. */
const WAKES_AT_ONCE = 32;

/** The connection of a client. */
export interface Caller {
  readonly destroyed: boolean;
  on(event: 'close', listener: () => void): unknown;
  removeListener(event: 'close', listener: () => void): unknown;
}

/** A request that waits. */
interface Waiter {
  /** Forgets earlier events. Must be called before each read. */
  rest(): void;
  /**
   * Resolves with true at an event of the wallet since the last `rest`, and with false after a time, or when the request
   * has to be answered at once.
   */
  next(maxMs: number): Promise<boolean>;
  leave(): void;
}

/** Thousands are kept, so each has few objects and closures. */
class Waiting implements Waiter {
  readonly wallet: string;
  readonly caller: Caller;
  isWoken = false;
  isEnded = false;
  /** Undefined until the wait has one. */
  place: Place | undefined;
  readonly #onLeave: (waiting: Waiting) => void;
  #timer: NodeJS.Timeout | undefined;
  #resolve: ((isWoken: boolean) => void) | undefined;

  constructor(wallet: string, caller: Caller, onLeave: (waiting: Waiting) => void) {
    this.wallet = wallet;
    this.caller = caller;
    this.#onLeave = onLeave;
  }

  rest(): void {
    this.isWoken = false;
  }

  next(maxMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (this.isWoken || this.isEnded) this.settle();
      else this.#timer = setTimeout(settle, maxMs, this);
    });
  }

  settle(): void {
    clearTimeout(this.#timer);
    this.#resolve?.(this.isWoken && !this.isEnded);
  }

  wake(): void {
    this.isWoken = true;
    this.settle();
  }

  readonly end = (): void => {
    this.isEnded = true;
    this.settle();
  };

  leave(): void {
    this.#onLeave(this);
  }
}

const settle = (waiting: Waiting): void => waiting.settle();

/** The last event that was read, and the tenure and the server of the engine that told it. */
interface Followed {
  tenure: number;
  server: string;
  last: Cursor;
}

interface WaitsOptions {
  readonly engine: Pick<Engine, 'outbox' | 'reads'> & {
    readonly lifecycle: Pick<Engine['lifecycle'], 'tenure'>;
  };
  /** Opens a connection to the engine's Redis, which a waiting command blocks. */
  readonly connect: () => Redis;
  readonly rule?: BoundRule;
}

export class ChangeWaits {
  readonly #engine: WaitsOptions['engine'];
  readonly #connect: () => Redis;
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #bound: Bound;
  /** Waits that an event has yet to wake, in its order. */
  #toWake: Waiting[] = [];
  #isStopped = false;
  #leftMs = 0;
  #connection: Redis | undefined;
  readonly #tails = new ChangeTails();
  /** Undefined while nobody follows. */
  #followed: Followed | undefined;
  /** Resolves when every later event wakes; undefined while nobody follows. */
  #following: Promise<void> | undefined;

  constructor({ engine, connect, rule = WAITS }: WaitsOptions) {
    this.#bound = new Bound(rule);
    this.#engine = engine;
    this.#connect = connect;
  }

  /** Number of requests that wait. */
  get count(): number {
    return this.#bound.held;
  }

  /**
   * Lets a request wait. From now on each event of the wallet wakes it; the end of the connection ends it.
   * @throws Refusal SERVICE_UNAVAILABLE if too many wait and the wallet has most of them, or the engine is not open
   */
  async enter(wallet: string, caller: Caller): Promise<Waiter> {
    if (this.#bound.isFull(wallet)) throw tooManyReads();
    const waiting = new Waiting(wallet, caller, this.#leave);
    waiting.place = this.#bound.take(wallet, 1, { giveWay: waiting.end });
    if (waiting.place === undefined) throw tooBusy();
    const ofWallet = this.#waiting.get(wallet) ?? new Set();
    this.#waiting.set(wallet, ofWallet.add(waiting));
    caller.on('close', waiting.end);
    if (caller.destroyed || this.#isStopped) waiting.end();
    try {
      if (!waiting.isEnded) {
        this.#following ??= this.#follow();
        await this.#following;
        if (this.#followed !== undefined) this.#tails.keep(wallet, this.#followed.last.sequence);
      }
    } catch (error) {
      waiting.leave();
      throw error;
    }
    return waiting;
  }

  readonly #leave = (waiting: Waiting): void => {
    const { wallet, caller } = waiting;
    caller.removeListener('close', waiting.end);
    const ofWallet = this.#waiting.get(wallet);
    if (!ofWallet?.delete(waiting)) return;
    waiting.place!.giveBack();
    this.#leftMs = performance.now();
    if (ofWallet.size > 0) return;
    this.#waiting.delete(wallet);
    this.#tails.leave(wallet, this.#leftMs);
  };

  /** Returns the events of a waiting wallet that may be told at once; undefined if the stores must be read. */
  tailOf(wallet: string): ChangeTail | undefined {
    const { lifecycle, outbox } = this.#engine;
    if (this.#followed?.tenure !== lifecycle.tenure || !outbox.isTold) return undefined;
    const { server, last } = this.#followed;
    return this.#tails.of(wallet, { server, epoch: last.epoch, sequence: last.sequence });
  }

  /** Answers all requests at once, and all later ones. */
  stop(): void {
    this.#isStopped = true;
    this.#endAll();
    this.#connection?.disconnect();
  }

  /** Follows the stream from its present end. */
  async #follow(): Promise<void> {
    try {
      this.#followed = await this.#present();
      void this.#read(this.#followed);
    } catch (error) {
      this.#following = undefined;
      throw error;
    }
  }

  async #present(): Promise<Followed> {
    const { tenure } = this.#engine.lifecycle;
    const last = await this.#engine.reads.position();
    return { tenure, server: last.server, last };
  }

  async #read(followed: Followed): Promise<void> {
    const connection = this.#connect();
    this.#connection = connection;
    while (!this.#isStopped && (this.#waiting.size > 0 || performance.now() - this.#leftMs < STAYS_MS)) {
      try {
        // Another engine may give the ids of lost events again, so it is followed from its own end.
        if (followed.tenure !== this.#engine.lifecycle.tenure) {
          Object.assign(followed, await this.#present());
          this.#loseTrack();
        }
        for (const event of await this.#engine.outbox.awaitEvents(connection, followed.last, BLOCK_MS)) {
          // Events were trimmed before they were read, or the engine was replaced: each request reads for itself.
          if (event.sequence !== followed.last.sequence + 1) this.#loseTrack();
          followed.last = event;
          this.#wake(event);
        }
        this.#tails.forgetLeft(performance.now());
      } catch {
        // The last event stays known, so an outage of the engine skips none.
        await sleep(PAUSE_AFTER_FAILURE_MS);
      }
    }
    connection.disconnect();
    this.#following = undefined;
    this.#followed = undefined;
    this.#tails.clear();
  }

  #wake(event: EngineEvent): void {
    const wake = (wallet: string): void => {
      this.#tails.add(wallet, event);
      for (const waiting of this.#waiting.get(wallet) ?? []) this.#toWake.push(waiting);
    };
    const isWaking = this.#toWake.length > 0;
    visitOrders(event, {
      placed: ({ order }) => wake(order.wallet),
      filled: ({ makerWallet }) => wake(makerWallet),
      closed: ({ wallet }) => wake(wallet),
    });
    if (!isWaking) this.#wakeSome();
  }

  /** Wakes some waits at once and the others in later turns of the event loop, because a sweep wakes thousands. */
  readonly #wakeSome = (): void => {
    const now = this.#toWake.slice(0, WAKES_AT_ONCE);
    this.#toWake = this.#toWake.slice(WAKES_AT_ONCE);
    for (const waiting of now) waiting.wake();
    if (this.#toWake.length > 0) setImmediate(this.#wakeSome);
  };

  #loseTrack(): void {
    this.#tails.clear();
    this.#endAll();
  }

  #endAll(): void {
    for (const ofWallet of this.#waiting.values()) for (const waiting of ofWallet) waiting.end();
  }
}
