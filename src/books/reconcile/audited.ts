/** Inputs that all checks of the engine share. */

import type { Market } from '../../domain/market.ts';
import type { Engine } from '../../engine/index.ts';
import type { Audit, AuditSummary } from '../../ledger/index.ts';
import type { Follower } from './follower.ts';

export interface Audited {
  readonly engine: Engine;
  /** The ledger at one event. */
  readonly audit: Audit;
  readonly summary: AuditSummary;
  /** Follower of the engine's events since that event. */
  readonly follower: Follower;
  /** Markets of the ledger and of the engine, by symbol. */
  readonly markets: ReadonlyMap<string, Pick<Market, 'number' | 'symbol' | 'base' | 'quote'>>;
  /** Assets of the engine, of the markets and of the ledger, with the scale of the ledger where it has one. */
  readonly assets: ReadonlyMap<string, number>;
}
