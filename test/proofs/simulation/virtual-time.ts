/**
 * The clocks of a simulated history. While it is installed, the product's sleeps and intervals wait for the scheduler,
 * and Date, `performance.now` and random choices follow the history. The drivers of Redis and Postgres use none of them.
 */

import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { type Random, random } from '../../support/seed.ts';

/** Any moment: histories begin at the same one. Unix milliseconds. */
export const BEGINNING_MS = 1_700_000_000_000;

interface Timer {
  readonly number: number;
  /** Process that waits for it. */
  readonly actor: string;
  readonly everyMs: number | undefined;
  dueMs: number;
  fire(): void;
}

const REAL = {
  sleep: timers.setTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  dateNow: Date.now,
  mathRandom: Math.random,
  randomBytes: crypto.randomBytes,
};

const aborted = (): Error => Object.assign(new Error('The operation was aborted'), { name: 'AbortError' });

export class VirtualTime {
  /** Milliseconds since the beginning. It only rises, as the monotonic clock of a machine does. */
  elapsedMs = 0;
  /** Unix milliseconds of the engine's server: its clock may step in both directions. */
  serverMs = BEGINNING_MS;
  /** Process that runs now: what it reads as the time of day is its own clock. */
  actor = '';
  /** Milliseconds that the clock of a process is ahead, by its name. */
  readonly #ahead = new Map<string, number>();
  readonly #timers = new Map<number, Timer>();
  readonly #dice: Random;
  readonly #onActivity: () => void;
  #numbers = 0;

  constructor(seed: number, onActivity: () => void) {
    this.#dice = random(seed);
    this.#onActivity = onActivity;
  }

  install(): void {
    const now = (): number => this.elapsedMs;
    timers.setTimeout = ((ms = 0, value: unknown, { signal }: { signal?: AbortSignal } = {}) =>
      this.#sleep(ms, value, signal)) as typeof timers.setTimeout;
    crypto.randomBytes = ((length: number) =>
      Buffer.from(Array.from({ length }, () => this.#dice.below(256)))) as typeof crypto.randomBytes;
    syncBuiltinESMExports();
    globalThis.setInterval = ((fire: () => void, everyMs: number) => {
      const timer = this.#add(everyMs, fire, true);
      const handle = { unref: () => handle, ref: () => handle, simulated: timer.number };
      return handle;
    }) as unknown as typeof setInterval;
    globalThis.clearInterval = ((handle: { simulated?: number } | undefined) => {
      if (handle?.simulated === undefined) REAL.clearInterval(handle as never);
      else this.#timers.delete(handle.simulated);
    }) as typeof clearInterval;
    Date.now = () => BEGINNING_MS + this.elapsedMs + (this.#ahead.get(this.actor) ?? 0);
    Math.random = () => this.#dice.below(2 ** 31) / 2 ** 31;
    performance.now = now;
  }

  static remove(): void {
    timers.setTimeout = REAL.sleep;
    crypto.randomBytes = REAL.randomBytes;
    syncBuiltinESMExports();
    globalThis.setInterval = REAL.setInterval;
    globalThis.clearInterval = REAL.clearInterval;
    Date.now = REAL.dateNow;
    Math.random = REAL.mathRandom;
    // The own property that hides the method of the prototype.
    delete (performance as { now?: unknown }).now;
  }

  #sleep(ms: number, value: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    if (signal?.aborted) return Promise.reject(aborted());
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        if (this.#timers.delete(timer.number)) reject(aborted());
      };
      const timer = this.#add(ms, () => {
        signal?.removeEventListener('abort', abort);
        resolve(value);
      });
      signal?.addEventListener('abort', abort);
    });
  }

  #add(ms: number, fire: () => void, isInterval = false): Timer {
    const { actor } = this;
    // Node cuts fractions of its delays off too, and so all clocks stay at whole milliseconds.
    const delayMs = Math.max(1, Math.trunc(ms));
    const everyMs = isInterval ? delayMs : undefined;
    const timer = { number: this.#numbers, actor, everyMs, dueMs: this.elapsedMs + delayMs, fire };
    this.#numbers += 1;
    this.#timers.set(timer.number, timer);
    this.#onActivity();
    return timer;
  }

  /** Numbers of the timers that are due, oldest first: all, or those of a process. */
  due(actor?: string): number[] {
    const due = [...this.#timers.values()].filter(
      (timer) => timer.dueMs <= this.elapsedMs && (actor ?? timer.actor) === timer.actor,
    );
    return due.sort((a, b) => a.dueMs - b.dueMs || a.number - b.number).map(({ number }) => number);
  }

  isInterval(number: number): boolean {
    return this.#timers.get(number)?.everyMs !== undefined;
  }

  /** Milliseconds until the next timer is due; undefined when there is none. */
  untilNext(): number | undefined {
    let next: number | undefined;
    for (const { dueMs } of this.#timers.values()) if (next === undefined || dueMs < next) next = dueMs;
    return next === undefined ? undefined : Math.max(0, next - this.elapsedMs);
  }

  /** @returns false when there is no such timer, or it is not due */
  fire(number: number): boolean {
    const timer = this.#timers.get(number);
    if (timer === undefined || timer.dueMs > this.elapsedMs) return false;
    if (timer.everyMs === undefined) this.#timers.delete(number);
    else timer.dueMs = this.elapsedMs + timer.everyMs;
    this.actor = timer.actor;
    timer.fire();
    return true;
  }

  /** The clock of one process steps. */
  step(actor: string, ms: number): void {
    this.#ahead.set(actor, (this.#ahead.get(actor) ?? 0) + ms);
  }

  /** All clocks go on. */
  pass(ms: number): void {
    this.elapsedMs += ms;
    this.serverMs += ms;
  }
}
