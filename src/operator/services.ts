/** What the operator's commands need from the process they run in. */

import type { Engine } from '../engine/index.ts';
import type { Ledger } from '../ledger/index.ts';

/**
 * Opened for one command and closed after it. What belongs to a part of the service that may be away rejects
 * with `Refusal` SERVICE_UNAVAILABLE; `status` then says so instead of failing.
 */
export interface OperatorServices {
  readonly engine: Engine;
  readonly ledger: Ledger;
  /** Of a new market that does not name its own. */
  readonly networkId: string;
  /** Jobs of the wake-up queue by state. */
  readonly queueCounts?: () => Promise<Readonly<Record<string, number>>>;
  /** Processes that run, by role. */
  readonly replicas?: () => Promise<Readonly<Record<string, number>>>;
  /** Age of the newest market snapshot in milliseconds; null while there is none. */
  readonly snapshotAgeMs?: () => Promise<number | null>;
  /** One sentence for each server that is away, with the setting that names it. */
  readonly troubles?: () => string[];
  close(): Promise<void>;
}
