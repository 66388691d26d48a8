/** The contents of an engine as the ledger knows them: the input of a rebuild. */

import type { Cursor } from '../domain/event.ts';
import type { Asset } from '../domain/market.ts';
import type { LiveOrder } from '../domain/order.ts';
import type { Switches } from '../domain/switches.ts';
import type { UsedId } from './claims.ts';

/** Everything that an engine needs to continue after an event. Must not change while it is read. */
export interface EngineImage {
  /** The event, and its time in Unix milliseconds; all 0 while nothing is settled. */
  readonly cursor: Cursor & { readonly timeMs: number };
  /** The highest epoch that the ledger has noted; 0 before the first. */
  readonly begunEpoch: number;
  readonly switches: Switches;
  readonly assets: readonly Asset[];
  /** Symbols of the assets that any movement or trade was in: their scales stay. */
  readonly bookedAssets: readonly string[];
  /** Ticks of the last execution, by symbol. */
  readonly lastPrices: ReadonlyMap<string, bigint>;
  liveOrders(): AsyncIterable<LiveOrder>;
  /**
   * Yields the total balance, available and reserved together, of every account that ever had the asset, and of
   * `house` and of `withdrawals`. With `owes`, the account is a wallet, and the atoms are what it owes.
   */
  readBalances(
    asset: string,
  ): AsyncIterable<{ readonly account: string; readonly atoms: bigint; readonly owes?: true }>;
  usedIds(): AsyncIterable<UsedId>;
  /**
   * Called when the engine is complete. From then on the ledger takes no events of earlier epochs, which the lost
   * engine may have written.
   */
  fence(epoch: number): Promise<void>;
}
