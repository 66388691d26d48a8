/** Switches of operators and wallets, as the engine or the ledger has them at one event. */

import type { Market } from './market.ts';

export interface Switches {
  readonly paused: boolean;
  /** The terms that must have been accepted; null: none. */
  readonly termsVersion: string | null;
  /** Wallets on custody hold. */
  readonly holds: readonly string[];
  /** The version that each wallet accepted last. */
  readonly acceptedTerms: ReadonlyMap<string, string>;
  /** The version of the rules of each market, by its number. */
  readonly marketVersions: ReadonlyMap<number, number>;
  readonly markets: readonly Market[];
}
