/** Dead-man switches: the TypeScript side of `set_cancel_after`, `take_due_cancels` and `lease_due_cancel`. */

import type { CancelledPage, OrderCancels } from './cancelling.ts';
import { walletBytes, walletText } from './codec.ts';
import type { EngineCore } from './core.ts';
import { KEYS } from './keys.ts';
import { LEASE_DUE_CANCEL, SET_CANCEL_AFTER, TAKE_DUE_CANCELS } from './scripts.ts';

/** A due switch that was taken: the orders that its wallet had at that moment must be cancelled. */
export interface DueCancel {
  /** Lower case. */
  readonly wallet: string;
  /** Time at which the switch was due, in Unix milliseconds by the engine's clock. */
  readonly dueMs: number;
  /** Epoch (2) | sequence (6) of the last event before it was taken | due time (7). */
  readonly cutOff: Buffer;
}

export interface DueCancels {
  readonly taken: readonly DueCancel[];
  /** Number of due switches that ended at once, because their wallets had no live order. */
  readonly ended: number;
  /** Unix milliseconds by the engine's clock, as are the two times below. */
  readonly timeMs: number;
  /** Time at which the next switch that is not taken is due; null when no other is set. */
  readonly nextDueMs: number | null;
  /** Time at which the next lease ends, including the leases just taken. */
  readonly nextLeaseMs: number | null;
}

const STAMP_BYTES = 8;

/** Returns the stamp of the newest order that a taken switch cancels. */
const stampOf = ({ cutOff }: DueCancel): Buffer => cutOff.subarray(0, STAMP_BYTES);

export class EngineDueCancels {
  readonly #core: EngineCore;
  readonly #cancels: OrderCancels;

  constructor(core: EngineCore, cancels: OrderCancels) {
    this.#core = core;
    this.#cancels = cancels;
  }

  /** True while a switch is set or taken. */
  async areSet(): Promise<boolean> {
    const { redis, scripts } = this.#core;
    const found = await scripts.call(() =>
      Promise.all([KEYS.cancelAfter, KEYS.cancelAfterLeases].map((key) => redis.zrange(key, '0', '0'))),
    );
    return found.some(({ length }) => length > 0);
  }

  /**
   * Sets, renews or switches off the dead-man switch of a wallet.
   * @param timeoutMs milliseconds from now; 0 switches it off
   * @returns time at which the wallet's orders will be cancelled, in Unix milliseconds by the engine's clock; null: off
   */
  async set(wallet: string, timeoutMs: number): Promise<number | null> {
    const { dueMs } = await this.#core.whileCurrent(() =>
      this.#core.scripts.run(SET_CANCEL_AFTER, {
        epoch: this.#core.lifecycle.epoch,
        wallet: walletBytes(wallet),
        timeoutMs,
      }),
    );
    return dueMs;
  }

  /**
   * Takes up to `max` due switches of wallets with live orders. A switch that is not ended within `leaseMs` is taken
   * again by the next call.
   */
  async take(max: number, leaseMs: number): Promise<DueCancels> {
    const { taken, ...times } = await this.#core.whileCurrent(() =>
      this.#core.scripts.run(TAKE_DUE_CANCELS, { epoch: this.#core.lifecycle.epoch, max, leaseMs }),
    );
    const switches = taken.map(({ wallet, cutOff }) => ({
      wallet: walletText(wallet),
      dueMs: cutOff.readUIntBE(STAMP_BYTES + 1, 6),
      cutOff,
    }));
    return { taken: switches, ...times };
  }

  /**
   * Cancels one page of the orders that a taken switch covers.
   * @param after `next` of the previous page; null: from the beginning
   */
  cancelPage(due: DueCancel, after: Buffer | null): Promise<CancelledPage> {
    return this.#cancels.cancelPage(due.wallet, stampOf(due), after);
  }

  /**
   * Extends the lease of a taken switch; null: forgets the switch, because its orders are cancelled.
   * @returns false when another process has ended the switch or has taken a later switch of the wallet; nothing was
   *   changed then
   */
  async lease({ wallet, cutOff }: DueCancel, leaseMs: number | null): Promise<boolean> {
    const { isOurs } = await this.#core.whileCurrent(() =>
      this.#core.scripts.run(LEASE_DUE_CANCEL, {
        epoch: this.#core.lifecycle.epoch,
        wallet: walletBytes(wallet),
        cutOff,
        leaseMs: leaseMs ?? '',
      }),
    );
    return isOurs;
  }
}
