/**
 * Runs the dead-man switches in each `api` process: fires them, counts them, and releases them when the process stops.
 */

import { type DueCancelsWorker, startDueCancels } from '../workers/due-cancels.ts';
import type { Backends } from './backends.ts';

/** Runs until stopped. Does nothing while the engine is closed. */
export function startCancelAfter(
  { engine, logger, metrics }: Backends,
  wakeSettlement: () => void,
): Pick<DueCancelsWorker, 'stop'> {
  const worker = startDueCancels({ engine, log: logger, wakeSettlement });
  metrics.counter(
    'redbook_cancel_after_total',
    'Dead-man switches that this process fired, by outcome: fired, or failed when orders could not be cancelled.',
    () => ({ ...worker.counts() }),
    'outcome',
  );
  metrics.gauge(
    'redbook_cancel_after_overdue_seconds',
    'Age of the oldest dead-man switch that is due and whose orders are not cancelled yet; absent without an engine.',
    async () => (engine.lifecycle.isOpen() ? worker.overdueMs() / 1_000 : {}),
  );
  return worker;
}
