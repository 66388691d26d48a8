/** The contents of an engine as the ledger knows them: the input of a rebuild. */

import type { Cursor } from '../domain/event.ts';
import type { Asset } from '../domain/market.ts';
import type { LiveOrder } from '../domain/order.ts';
import type { Switches } from '../domain/switches.ts';
import type { UsedId } from './claims.ts';

/** All that an engine must know to go on after an event. Nothing of it may change while it is read. */
export interface EngineImage {
  /** The event, and its time in Unix milliseconds; all 0 while nothing is settled. */
  readonly cursor: Cursor & { readonly timeMs: number };
  readonly switches: Switches;
  readonly assets: readonly Asset[];
  /** Ticks of the last execution, by symbol. */
  readonly lastPrices: ReadonlyMap<string, bigint>;
  liveOrders(): AsyncIterable<LiveOrder>;
  /**
   * Yields the total balance, available and reserved together, of every account that ever had the asset, and of
   * `house`.
   */
  balancesOf(asset: string): AsyncIterable<{ readonly account: string; readonly atoms: bigint }>;
  usedIds(): AsyncIterable<UsedId>;
  /** Called when all is in place: what the lost engine did in earlier epochs must not come into the ledger any more. */
  fence(epoch: number): Promise<void>;
}
