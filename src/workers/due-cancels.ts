/** Fires dead-man switches: takes due switches and cancels their wallets' orders, one page at a time. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Refusal } from '../domain/errors.ts';
import type { DueCancel, Engine } from '../engine/index.ts';

interface DueCancelsOptions {
  readonly engine: {
    readonly lifecycle: Pick<Engine['lifecycle'], 'isOpen' | 'tenure'>;
    readonly dueCancels: Pick<Engine['dueCancels'], 'take' | 'cancelPage' | 'lease'>;
  };
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Called after each page that cancelled something. */
  readonly wakeSettlement: () => void;
  /** Lease of a taken switch: other processes leave it alone for this long, unless this process extends the lease. */
  readonly leaseMs?: number;
}

export interface DueCancelsWorker {
  /**
   * `fired` counts switches that this process finished with no order left. `failed` counts attempts that could
   * not cancel all orders.
   */
  counts(): { readonly fired: number; readonly failed: number };
  /**
   * Age, by the engine's clock, of the oldest due switch that this process knows and has not finished; 0 if there is
   * none.
   */
  overdueMs(): number;
  /** Finishes the pages in flight and releases the rest to other processes at once. */
  stop(): Promise<void>;
}

/** Maximum switches taken by one script, which must stay short because it blocks Redis. */
const MAX_TAKEN = 100;
/** Maximum switches that one process has taken and not finished. */
const MAX_HELD = 1_000;
/**
 * Maximum pages in flight per process, which bounds the pages that an order at the engine waits for. First pages are
 * short and have their own lane, so that many wallets start at once, even if other wallets have many orders.
 */
const FIRST_PAGES_TOGETHER = 16;
const LATER_PAGES_TOGETHER = 4;
const LEASE_MS = 5_000;
/** Every switch is set for at least 5 s, so polling this often finds each one before it is due. */
const MAX_PAUSE_MS = 1_000;
const MIN_PAUSE_MS = 25;
/** Jitter that spreads the polls of several processes that wait for the same switch. */
const MAX_JITTER_MS = 25;
/**
 * Pause while the engine is closed. It is short because the check needs no command: the process knows the engine's
 * state.
 */
const CLOSED_PAUSE_MS = 100;
/** Pause after a failed cancel. It is long because a missing reservation stays missing until an operator acts. */
const FAILED_PAUSE_MS = 60_000;

/** A taken switch while the orders of its wallet are being cancelled. */
interface Firing {
  readonly due: DueCancel;
  /** Tenure of the engine whose pages come before `next`; another engine may have their orders again. */
  tenure: number;
  next: Buffer | null;
  cancelled: number;
  failure: Error | undefined;
  leasedAt: number;
}

/**
 * Queue of firings that wait for a page. Firings take turns, so a wallet with many orders does not delay the others.
 */
interface FiringLane {
  readonly waiting: Firing[];
  underWay: number;
  readonly max: number;
}

export function startDueCancels(options: DueCancelsOptions): DueCancelsWorker {
  const worker = new Worker(options);
  const running = worker.run();
  return {
    counts: () => ({ fired: worker.fired, failed: worker.failed }),
    overdueMs: () => worker.overdueMs(),
    async stop() {
      worker.stop();
      await running;
    },
  };
}

class Worker {
  fired = 0;
  failed = 0;
  readonly #engine: DueCancelsOptions['engine'];
  readonly #log: DueCancelsOptions['log'];
  readonly #wakeSettlement: () => void;
  readonly #leaseMs: number;
  readonly #stopping = new AbortController();
  /** Held switches by wallet, including those with a page in flight. */
  readonly #held = new Map<string, Firing>();
  readonly #firstPages: FiringLane = { waiting: [], underWay: 0, max: FIRST_PAGES_TOGETHER };
  readonly #laterPages: FiringLane = { waiting: [], underWay: 0, max: LATER_PAGES_TOGETHER };
  readonly #pages = new Set<Promise<void>>();
  /** False after a failure. No page starts until a poll has reached the engine again. */
  #isReached = false;
  #failures = 0;
  /**
   * Result of the last poll: the engine's clock, the local clock, and the due time of the first switch that was not
   * taken.
   */
  #look = { timeMs: 0, at: 0, nextDueMs: null as number | null };

  constructor({ engine, log, wakeSettlement, leaseMs = LEASE_MS }: DueCancelsOptions) {
    this.#engine = engine;
    this.#log = log;
    this.#wakeSettlement = wakeSettlement;
    this.#leaseMs = leaseMs;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const pauseMs = await this.#lookOnce();
      if (pauseMs === 0) continue;
      await sleep(pauseMs + Math.random() * MAX_JITTER_MS, undefined, { signal }).catch(() => undefined);
    }
    await Promise.all(this.#pages);
    await this.#release();
  }

  overdueMs(): number {
    const nowMs = this.#look.timeMs + (performance.now() - this.#look.at);
    let oldestMs = this.#look.nextDueMs ?? nowMs;
    for (const { due } of this.#held.values()) oldestMs = Math.min(oldestMs, due.dueMs);
    return Math.max(0, nowMs - oldestMs);
  }

  /** @returns milliseconds until the next poll */
  async #lookOnce(): Promise<number> {
    if (!this.#engine.lifecycle.isOpen()) {
      this.#isReached = false;
      return CLOSED_PAUSE_MS;
    }
    try {
      const pauseMs = await this.#take(Math.min(MAX_TAKEN, MAX_HELD - this.#held.size));
      if (this.#failures > 0)
        this.#log.info({ failures: this.#failures }, 'cancel-after: the engine answers again');
      this.#failures = 0;
      this.#isReached = true;
      this.#begin();
      return pauseMs;
    } catch (error) {
      this.#fail(error);
      return Math.min(MAX_PAUSE_MS, CLOSED_PAUSE_MS * 2 ** Math.min(this.#failures, 8));
    }
  }

  async #take(max: number): Promise<number> {
    if (max <= 0) return CLOSED_PAUSE_MS;
    const { taken, ended, timeMs, nextDueMs, nextLeaseMs } = await this.#engine.dueCancels.take(
      max,
      this.#leaseMs,
    );
    this.#look = { timeMs, at: performance.now(), nextDueMs };
    this.fired += ended;
    for (const due of taken) this.#hold(due);
    if (taken.length === max) return MIN_PAUSE_MS;
    // Switches without orders must not delay the others that are due behind them.
    if (ended > 0 && nextDueMs !== null && nextDueMs <= timeMs) return 0;
    const nextMs = Math.min(nextDueMs ?? Number.POSITIVE_INFINITY, nextLeaseMs ?? Number.POSITIVE_INFINITY);
    return Math.max(MIN_PAUSE_MS, Math.min(MAX_PAUSE_MS, nextMs - timeMs));
  }

  #hold(due: DueCancel): void {
    const known = this.#held.get(due.wallet);
    const leasedAt = performance.now();
    if (known?.due.cutOff.equals(due.cutOff)) {
      known.leasedAt = leasedAt;
      return;
    }
    const { tenure } = this.#engine.lifecycle;
    const firing: Firing = { due, tenure, next: null, cancelled: 0, failure: undefined, leasedAt };
    // This switch covers an earlier one of the wallet. The earlier one stops after its page and then changes nothing.
    this.#held.set(due.wallet, firing);
    this.#wait(firing);
  }

  #wait(firing: Firing): void {
    (firing.next === null ? this.#firstPages : this.#laterPages).waiting.push(firing);
  }

  #begin(): void {
    for (const lane of [this.#firstPages, this.#laterPages]) {
      while (this.#isReached && !this.#stopping.signal.aborted && lane.underWay < lane.max) {
        const firing = lane.waiting.shift();
        if (firing === undefined) break;
        if (this.#isHeld(firing)) this.#beginPage(lane, firing);
      }
    }
  }

  #beginPage(lane: FiringLane, firing: Firing): void {
    lane.underWay += 1;
    const page = this.#cancelPage(firing)
      .catch((error) => this.#again(firing, error))
      .finally(() => {
        lane.underWay -= 1;
        this.#pages.delete(page);
        this.#begin();
      });
    this.#pages.add(page);
  }

  async #cancelPage(firing: Firing): Promise<void> {
    const { due } = firing;
    if (performance.now() - firing.leasedAt > this.#leaseMs / 2) {
      if (!(await this.#engine.dueCancels.lease(due, this.#leaseMs))) return this.#forget(firing);
      firing.leasedAt = performance.now();
    }
    const { tenure } = this.#engine.lifecycle;
    const after = tenure === firing.tenure ? firing.next : null;
    const { closed, failures, next } = await this.#engine.dueCancels.cancelPage(due, after);
    firing.cancelled += closed.length;
    firing.failure ??= failures[0];
    if (closed.length > 0) this.#wakeSettlement();
    firing.tenure = tenure;
    firing.next = next;
    if (next === null && tenure === this.#engine.lifecycle.tenure) await this.#end(firing);
    else if (this.#isHeld(firing)) this.#wait(firing);
  }

  /** Retries after an error of the engine. After an unexpected answer, the switch waits for an operator. */
  async #again(firing: Firing, error: unknown): Promise<void> {
    if (!(error instanceof Refusal) && firing.failure === undefined) {
      firing.failure = error instanceof Error ? error : new Error(String(error));
      return this.#end(firing).catch((cause) => this.#again(firing, cause));
    }
    if (this.#isHeld(firing)) this.#wait(firing);
    this.#fail(error);
  }

  async #end(firing: Firing): Promise<void> {
    const { due, cancelled, failure } = firing;
    const isOurs = await this.#engine.dueCancels.lease(due, failure === undefined ? null : FAILED_PAUSE_MS);
    this.#forget(firing);
    if (!isOurs) return;
    const told = { wallet: due.wallet, dueAt: new Date(due.dueMs).toISOString(), cancelled };
    if (failure === undefined) {
      this.fired += 1;
      this.#log.info(told, 'cancel-after: the orders of the wallet are cancelled');
    } else {
      this.failed += 1;
      this.#log.error({ ...told, err: failure }, 'cancel-after: not all orders could be cancelled');
    }
  }

  #forget(firing: Firing): void {
    if (this.#isHeld(firing)) this.#held.delete(firing.due.wallet);
  }

  #isHeld(firing: Firing): boolean {
    return this.#held.get(firing.due.wallet) === firing;
  }

  #fail(error: unknown): void {
    this.#isReached = false;
    if (this.#failures === 0) this.#log.warn({ err: error }, 'cancel-after: the engine does not answer');
    this.#failures += 1;
  }

  /** Lets other processes take the held switches at once, instead of after their leases. */
  async #release(): Promise<void> {
    if (!this.#engine.lifecycle.isOpen()) return;
    const left = [...this.#held.values()];
    for (let at = 0; at < left.length; at += FIRST_PAGES_TOGETHER) {
      const some = left.slice(at, at + FIRST_PAGES_TOGETHER);
      const released = some.map(({ due }) => this.#engine.dueCancels.lease(due, 0));
      const outcomes = await Promise.allSettled(released);
      if (outcomes.some(({ status }) => status === 'rejected')) return; // the leases of the rest expire
    }
  }
}
