/** Switches of operators and wallets, as the engine or the ledger has them at one event. */

import type { EngineEvent } from './event.ts';
import type { Market } from './market.ts';
import type { Take } from './withdrawal-states.ts';

export interface Switches {
  readonly paused: boolean;
  /** Terms that must have been accepted; null: none. */
  readonly termsVersion: string | null;
  /** Wallets on custody hold. */
  readonly holds: readonly string[];
  /** Withdrawals that somebody pays, by reference. */
  readonly takes: ReadonlyMap<string, Take>;
  /** Version of the terms that each wallet accepted last. */
  readonly acceptedTerms: ReadonlyMap<string, string>;
  /** Version of the rules of each market, by the market's number. */
  readonly marketVersions: ReadonlyMap<number, number>;
  readonly markets: readonly Market[];
}

/**
 * Switches that events changed, each with its last value. Settlement writes them to the ledger, and reconcile expects
 * them in the engine. Versions of markets are not included, because they come with the rules of each market.
 */
export class SwitchChanges {
  /** Undefined: unchanged. */
  paused: boolean | undefined;
  /** Undefined: unchanged; null: no terms are required any more. */
  termsVersion: string | null | undefined;
  /** Unix milliseconds at which each wallet was set on hold; null when it was released. */
  readonly holds = new Map<string, number | null>();
  /** Takes of withdrawals by reference, with the time of each; null for one that was released, or ended. */
  readonly takes = new Map<string, { readonly take: Take; readonly timeMs: number } | null>();
  /** Terms that each wallet accepted last, and the time in Unix milliseconds. */
  readonly acceptedTerms = new Map<string, { readonly version: string; readonly timeMs: number }>();

  apply(event: EngineEvent): void {
    switch (event.kind) {
      case 'trading_paused':
      case 'trading_resumed':
        this.paused = event.kind === 'trading_paused';
        break;
      case 'terms_required':
        this.termsVersion = event.version;
        break;
      case 'account_held':
      case 'account_released':
        this.holds.set(event.wallet, event.kind === 'account_held' ? event.timeMs : null);
        break;
      case 'withdrawal_taken':
        this.takes.set(event.reference, { take: event.take, timeMs: event.timeMs });
        break;
      case 'withdrawal_released':
      case 'confirmed':
      case 'returned':
        this.takes.set(event.reference, null);
        break;
      case 'terms_accepted':
        this.acceptedTerms.set(event.wallet, { version: event.version, timeMs: event.timeMs });
        break;
    }
  }
}
