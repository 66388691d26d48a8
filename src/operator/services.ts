/** Services that the operator's commands need from their process. */

import type { StatusSources } from '../books/status.ts';
import type { SeenServer } from '../engine/index.ts';

/**
 * Services that are opened for one command and closed after it. A call to an unavailable server rejects with `Refusal`
 * SERVICE_UNAVAILABLE; `status` reports that instead of failing.
 */
export interface OperatorServices extends StatusSources {
  /** Network ID of a new market that does not name its own. */
  readonly networkId: string;
  /** Days within which a reconcile reads each sealed segment again. */
  readonly scrubDays?: number;
  /** Looks at the copies of the engine, by name; undefined for one that does not answer. Absent without copies. */
  readonly copies?: (() => Promise<ReadonlyMap<string, SeenServer | undefined>>) | undefined;
  /** Waits until a rebuilt engine is open; false if it does not open soon. */
  readonly reopened?: () => Promise<boolean>;
  /** One sentence for each unavailable server, with the setting that names it. */
  readonly troubles?: () => string[];
  close(): Promise<void>;
}
