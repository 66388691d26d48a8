/**
 * Recomputes every invariant from what Redis and Postgres hold, while trading goes on.
 *
 * The engine is looked at one asset at a time, all its balances and resting orders at one event; as soon as
 * settlement has reached that event, the ledger is summed up to it and both are held against each other. What
 * happens in the meantime lies after the event and touches neither side.
 */

import { checkAsset } from './assets.ts';
import { type CheckResult, DIFFERENCES_KEPT } from './comparison.ts';
import { checkHistory } from './history.ts';
import { checkLiveList } from './orders.ts';
import type { Servers } from './settled.ts';
import { checkSwitches } from './switches.ts';

export type { CheckResult, Difference } from './comparison.ts';

export interface Reconciliation {
  readonly holds: boolean;
  /** The event up to which everything was settled when the last check ran. */
  readonly sequence: number;
  readonly checks: readonly CheckResult[];
}

export interface ReconcileOptions {
  /** How long settlement may stand still before it is given up on. */
  readonly patienceMs: number;
  /** Told of each check as it is done. */
  readonly onCheck?: (check: CheckResult) => void;
}

/**
 * What is found is noted in the ledger, where settlement processes read it for their metrics.
 * @throws OperatorRefusal SETTLEMENT_STALLED; Refusal SERVICE_UNAVAILABLE when a server is away
 */
export async function reconcile(servers: Servers, options: ReconcileOptions): Promise<Reconciliation> {
  const checks: CheckResult[] = [];
  for await (const check of allChecks(servers, options.patienceMs)) {
    checks.push(check);
    options.onCheck?.(check);
  }
  const failed = checks.filter(({ count }) => count > 0);
  const { sequence } = await servers.ledger.cursor();
  await servers.ledger.noteReconciliation({
    sequence,
    checks: checks.length,
    differences: failed.reduce((sum, { count }) => sum + count, 0),
    failedChecks: [...new Set(failed.map(({ name }) => name))],
  });
  return { holds: failed.length === 0, sequence, checks };
}

async function* allChecks(servers: Servers, patienceMs: number): AsyncGenerator<CheckResult> {
  yield await checkHistory(servers);
  for (const asset of await servers.engine.assets()) yield* checkAsset(servers, asset, patienceMs);
  yield await checkLiveList(servers, patienceMs);
  yield await checkSwitches(servers);
  const { sequence, checks } = await servers.ledger.check();
  for (const { name, meaning, count, violations } of checks) {
    const differences = violations.slice(0, DIFFERENCES_KEPT);
    yield { name, asset: null, meaning, compared: `up to event ${sequence}`, count, differences };
  }
}
