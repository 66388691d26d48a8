/** Dead-man switches: the TypeScript face of `set_cancel_after`, `take_due_cancels` and `lease_due_cancel`. */

import type { CancelledPage, OrderCancels } from './cancelling.ts';
import { walletBytes, walletText } from './codec.ts';
import type { EngineCore } from './core.ts';
import { LEASE_DUE_CANCEL, SET_CANCEL_AFTER, TAKE_DUE_CANCELS } from './scripts.ts';

/** A switch that was due and has been taken: the orders that its wallet had at that moment are to be cancelled. */
export interface DueCancel {
  /** Lower case. */
  readonly wallet: string;
  /** When it was due: Unix milliseconds by the engine's clock. */
  readonly dueMs: number;
  /** Epoch (2) | sequence (6) of the last event before it was taken | due time (7). */
  readonly cutOff: Buffer;
}

export interface DueCancels {
  readonly taken: readonly DueCancel[];
  /** The engine's clock: Unix milliseconds, like the two that follow. */
  readonly timeMs: number;
  /** When the next switch is due that was not taken; null when no other is set. */
  readonly nextDueMs: number | null;
  /** When the next lease ends, those just taken included. */
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

  /**
   * Sets, renews or switches off the dead-man switch of a wallet.
   * @param timeoutMs counts from now; 0 switches it off
   * @returns when the wallet's orders will be cancelled: Unix milliseconds by the engine's clock; null: off
   */
  async set(wallet: string, timeoutMs: number): Promise<number | null> {
    const { dueMs } = await this.#core.whileCurrent(() =>
      this.#core.run(SET_CANCEL_AFTER, { epoch: this.#core.epoch, wallet: walletBytes(wallet), timeoutMs }),
    );
    return dueMs;
  }

  /** Takes up to `most` due switches; one that is not ended within `leaseMs` is taken again by the next call. */
  async take(most: number, leaseMs: number): Promise<DueCancels> {
    const { taken, ...times } = await this.#core.whileCurrent(() =>
      this.#core.run(TAKE_DUE_CANCELS, { epoch: this.#core.epoch, most, leaseMs }),
    );
    const switches = taken.map(({ wallet, cutOff }) => ({
      wallet: walletText(wallet),
      dueMs: cutOff.readUIntBE(STAMP_BYTES + 1, 6),
      cutOff,
    }));
    return { taken: switches, ...times };
  }

  /**
   * Cancels one page of the orders that a taken switch cancels.
   * @param after `next` of the page before; null: from the beginning
   */
  cancelPage(due: DueCancel, after: Buffer | null): Promise<CancelledPage> {
    return this.#cancels.cancelPage(due.wallet, stampOf(due), after);
  }

  /**
   * Extends the lease of a taken switch; null: its orders are cancelled, and the switch is forgotten.
   * @returns false when another process has ended it, or has taken a later switch of the wallet; nothing was changed then
   */
  async lease({ wallet, cutOff }: DueCancel, leaseMs: number | null): Promise<boolean> {
    const { isOurs } = await this.#core.whileCurrent(() =>
      this.#core.run(LEASE_DUE_CANCEL, {
        epoch: this.#core.epoch,
        wallet: walletBytes(wallet),
        cutOff,
        leaseMs: leaseMs ?? '',
      }),
    );
    return isOurs;
  }
}
