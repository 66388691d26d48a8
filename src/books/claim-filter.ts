/** Rebuilds the engine's filter of used client order ids and references from Postgres. */

import type { FilterRebuilt } from '../engine/index.ts';
import type { Servers } from './servers.ts';
import { untilSettled } from './until-settled.ts';
import { usedIds } from './used-ids.ts';

/**
 * Fills a new filter while trading continues. The old filter stays in force until the new one is complete.
 * @param patienceMs longest time that settlement may make no progress meanwhile
 * @throws OperatorRefusal SETTLEMENT_STALLED, and what `EngineClaimFilter.rebuild` throws
 */
export const rebuildClaimFilter = (
  servers: Servers,
  { patienceMs }: { patienceMs: number },
): Promise<FilterRebuilt> =>
  servers.engine.claimFilter.rebuild({
    untilSettled: (sequence) => untilSettled(servers, sequence, patienceMs),
    usedIds: () => usedIds(servers),
  });
