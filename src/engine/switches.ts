/**
 * The kill switch, required terms and custody holds: each is a field of the engine hash, and each change is an event.
 */

import type { Act } from '../domain/act.ts';
import type { ClosedOrder } from '../domain/order.ts';
import type { OrderCancels } from './cancelling.ts';
import { walletBytes } from './codec.ts';
import type { EngineCore } from './core.ts';
import { actText, EVENT_KINDS } from './event-codec.ts';
import { KEYS } from './keys.ts';
import { SET_SWITCH } from './scripts.ts';

interface SwitchChange {
  readonly field: string | Buffer;
  /** Empty clears it. */
  readonly value: string;
  readonly kind: NonNullable<(typeof EVENT_KINDS)[number]>;
  readonly detail: Record<string, string | null>;
  readonly wallet?: string;
  /** Version of the terms that must be the required one for the change to take effect. */
  readonly requiredTerms?: string;
  readonly act?: Act | undefined;
}

/** Returns the field of the engine hash for a wallet's switch. */
export const walletField = (name: string, wallet: string): Buffer =>
  Buffer.concat([Buffer.from(`${name}:`), walletBytes(wallet)]);

export class EngineSwitches {
  readonly #core: EngineCore;
  readonly #cancels: OrderCancels;

  constructor(core: EngineCore, cancels: OrderCancels) {
    this.#core = core;
    this.#cancels = cancels;
  }

  /** Refuses every new order until `resume`. */
  pause(act?: Act): Promise<void> {
    return this.#set({ field: 'paused', value: '1', kind: 'trading_paused', detail: {}, act });
  }

  resume(act?: Act): Promise<void> {
    return this.#set({ field: 'paused', value: '', kind: 'trading_resumed', detail: {}, act });
  }

  /** Requires a version of the terms; null: no terms are required any more. */
  requireTerms(version: string | null, act?: Act): Promise<void> {
    return this.#set({
      field: 'terms',
      value: version ?? '',
      kind: 'terms_required',
      detail: { version },
      act,
    });
  }

  /** @throws Refusal STALE_TERMS_VERSION when another version, or none, is required. */
  acceptTerms(wallet: string, version: string): Promise<void> {
    return this.#set({
      field: walletField('terms', wallet),
      value: version,
      kind: 'terms_accepted',
      detail: { wallet, version },
      wallet,
      requiredTerms: version,
    });
  }

  /**
   * Sets a custody hold on a wallet, which then can neither place orders nor withdraw. Returns the live orders that
   * were cancelled.
   */
  async hold(wallet: string, act?: Act): Promise<ClosedOrder[]> {
    await this.#setHold(wallet, true, act);
    return this.#cancels.closeAll(wallet, null, 'custody_hold');
  }

  /** Ends the custody hold of a wallet. */
  release(wallet: string, act?: Act): Promise<void> {
    return this.#setHold(wallet, false, act);
  }

  #setHold(wallet: string, held: boolean, act: Act | undefined): Promise<void> {
    return this.#set({
      field: walletField('hold', wallet),
      value: held ? '1' : '',
      kind: held ? 'account_held' : 'account_released',
      detail: { wallet },
      wallet,
      act,
    });
  }

  async readAccount(wallet: string): Promise<{ held: boolean; acceptedTerms: string | null }> {
    const [held, terms] = await this.#core.scripts.call(() =>
      this.#core.redis.hmget(KEYS.engine, walletField('hold', wallet), walletField('terms', wallet)),
    );
    return { held: held != null, acceptedTerms: terms ?? null };
  }

  async #set(change: SwitchChange): Promise<void> {
    const { field, value, kind, detail, wallet, requiredTerms, act } = change;
    await this.#core.whileCurrent(() =>
      this.#core.scripts.run(SET_SWITCH, {
        epoch: this.#core.lifecycle.epoch,
        field,
        value,
        kind: EVENT_KINDS.indexOf(kind),
        detail: JSON.stringify(detail),
        wallet: wallet === undefined ? '' : walletBytes(wallet),
        requiredTerms: requiredTerms ?? '',
        act: actText(act),
      }),
    );
  }
}
