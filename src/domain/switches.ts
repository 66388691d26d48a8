/** What operators and wallets have switched, as the engine or the ledger knows it at one event. */

import type { Market } from './market.ts';

export interface Switches {
  readonly paused: boolean;
  /** The terms that must have been accepted; null: none. */
  readonly termsVersion: string | null;
  /** Wallets on custody hold. */
  readonly holds: readonly string[];
  /** By wallet: the version it accepted last. */
  readonly acceptedTerms: ReadonlyMap<string, string>;
  /** By number of the market: the version of its rules. */
  readonly marketVersions: ReadonlyMap<number, number>;
  readonly markets: readonly Market[];
}
