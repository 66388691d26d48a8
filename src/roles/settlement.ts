/**
 * The role settlement: writes the engine's events to Postgres. Any number of processes may run; one works at a time.
 */

import { oneAtATime } from '../domain/shared-read.ts';
import type { Engine, FilterLoad } from '../engine/index.ts';
import type { CopiesRow, LastReconcile, Ledger } from '../ledger/index.ts';
import type { Metrics, Reading } from '../process/metrics.ts';
import { type SpanExport, spansInUse, type TracePlace } from '../process/spans.ts';
import { openSettlementWorker, openWakeUps } from '../queue/index.ts';
import { createSettlementWorker } from '../workers/settlement.ts';
import type { Backends } from './backends.ts';
import { type CopiesKeeper, keepCopies } from './copies-keeper.ts';
import { queueTrouble } from './outages.ts';
import type { RunningRole } from './running-role.ts';
import { addServerMetrics } from './server-metrics.ts';

export async function startSettlement(backends: Backends): Promise<RunningRole> {
  const { logger, metrics, engine, ledger, queueOptions } = backends;
  await backends.migrated();
  const spans = spansInUse();
  const settlement = createSettlementWorker({ engine, ledger: tracedSettlement(ledger, spans), log: logger });
  const tell = queueTrouble(backends, 'settlement jobs');
  // Before the engine is open, its events may belong to another server, so they are not read.
  const run = async (place: TracePlace): Promise<void> => {
    if (!engine.lifecycle.isOpen()) return;
    await (spans === undefined ? settlement.run() : spans.resume(place, () => settlement.run()));
  };
  const keeper = keepCopies(backends);
  addCopiesMetrics(metrics, keeper);
  const worker = openSettlementWorker({ connection: queueOptions, run, tell });
  const queue = openWakeUps({ connection: queueOptions, tell });
  metrics.gauge('redbook_settlement_lag_events', 'Engine events that are not in Postgres yet.', async () => {
    return (await settlement.lag()).lagEvents;
  });
  metrics.gauge(
    'redbook_settlement_lag_seconds',
    'Age of the oldest event that is not in Postgres yet.',
    async () => {
      return (await settlement.lag()).lagMs / 1000;
    },
  );
  metrics.gauge('redbook_settlement_diverged', '1 when engine and ledger contradict each other.', async () =>
    settlement.diverged() ? 1 : 0,
  );
  addReconcileMetrics(metrics, ledger);
  addCustodyMetrics(metrics, ledger);
  addClaimFilterMetrics(metrics, engine);
  addServerMetrics(backends);
  const growing = keepFilterGrowing(backends);
  metrics.gauge('redbook_queue_jobs', 'Jobs of the wake-up queue by state.', () => queue.counts(), 'state');
  return {
    trouble: () => (settlement.diverged() ? 'the engine and the ledger contradict each other' : undefined),
    async stop() {
      await worker.close();
      await queue.close();
      clearInterval(growing);
      await keeper?.stop();
    },
  };
}

/** Adds a span to each transaction that settles events. */
function tracedSettlement(
  { settlement }: Ledger,
  spans: SpanExport | undefined,
): Pick<Ledger['settlement'], 'cursor' | 'prepare' | 'settle'> {
  if (spans === undefined) return settlement;
  return {
    ...settlement,
    settle(events, options) {
      const last = events.at(-1)?.sequence ?? 0;
      const attributes = { 'redbook.events': events.length, 'redbook.last_event': last };
      return spans.run('settle', attributes, () => settlement.settle(events, options));
    },
  };
}

const GROWTH_EVERY_MS = 20_000;

/** Adds a claim filter when the one in force is full. Without memory for it, Postgres is asked for ever more new ids. */
function keepFilterGrowing({ engine, logger }: Backends): NodeJS.Timeout {
  const grow = oneAtATime(async () => {
    if (!engine.lifecycle.isOpen()) return;
    const bytes = await engine.claimFilter.grow().catch((error: unknown) => {
      logger.warn({ err: error }, 'the claim filter could not grow');
      return null;
    });
    if (bytes !== null) logger.info({ bytes }, 'the claim filter is full, and has a second part now');
  });
  return setInterval(() => void grow(), GROWTH_EVERY_MS).unref();
}

/** Exports the withdrawals and deposits that somebody began and did not end in time. */
function addCustodyMetrics(metrics: Metrics, ledger: Ledger): void {
  metrics.gauge(
    'redbook_withdrawals_overdue',
    'Taken withdrawals that have not ended at the time that their takers gave.',
    () => ledger.withdrawals.overdue(Date.now()),
  );
  metrics.gauge(
    'redbook_deposits_announced_oldest_seconds',
    'Age of the oldest announced deposit that was neither credited nor dropped; 0 when there is none.',
    async () => {
      const oldestMs = await ledger.deposits.oldestMs();
      return oldestMs === null ? 0 : Math.max(0, Date.now() - oldestMs) / 1_000;
    },
  );
}

/** Exports the copies of the engine; without copies the gauges have no value. */
function addCopiesMetrics(metrics: Metrics, keeper: CopiesKeeper | undefined): void {
  const ofTheRow =
    (read: (row: CopiesRow) => Reading): (() => Promise<Reading>) =>
    async () =>
      keeper?.row === undefined ? {} : read(keeper.row);
  metrics.gauge(
    'redbook_engine_copies',
    'Copies of the engine that have every answered order, the primary included.',
    ofTheRow(({ members }) => members.length),
  );
  metrics.gauge(
    'redbook_engine_copies_configured',
    'Servers that REDIS_URL names as copies.',
    async () => keeper?.size ?? {},
  );
  metrics.gauge(
    'redbook_engine_copies_blocked',
    '1 while keepers of the copies do nothing, because Postgres is older than the copies.',
    ofTheRow(() => (keeper?.isBlocked ? 1 : 0)),
  );
  metrics.gauge(
    'redbook_engine_failover_timestamp_seconds',
    'Unix time at which another primary was named last; absent before the first.',
    ofTheRow(({ namedAt }) => (namedAt === null ? {} : namedAt.getTime() / 1_000)),
  );
}

/** Exports the result of the last reconcile. The command that reconciles ends, but this process keeps running. */
function addReconcileMetrics(metrics: Metrics, ledger: Ledger): void {
  const ofTheLast =
    (read: (last: LastReconcile) => number): (() => Promise<Reading>) =>
    async () => {
      const last = await ledger.checks.lastReconcile();
      return last === null ? {} : read(last);
    };
  metrics.gauge(
    'redbook_reconcile_last_timestamp_seconds',
    'Unix time at which the last reconcile ended; absent before the first.',
    ofTheLast(({ finishedAtMs }) => finishedAtMs / 1_000),
  );
  metrics.gauge(
    'redbook_reconcile_differences',
    'Differences that the last reconcile found: 0 when the books held.',
    ofTheLast(({ differences }) => differences),
  );
}

/**
 * Exports the load of the engine's claim filter. Only one role does so, because each scrape reads 64 KiB of the filter.
 */
function addClaimFilterMetrics(metrics: Metrics, engine: Engine): void {
  const read = oneAtATime(() => engine.claimFilter.load());
  const gauge = (name: string, help: string, figure: (load: FilterLoad) => number): void =>
    metrics.gauge(`redbook_claim_filter_${name}`, help, async () => figure(await read()));
  gauge('bytes', 'Size of the filter of used client order ids and references.', ({ bytes }) => bytes);
  gauge('set_ratio', 'Share of its bits that are set, by a sample.', ({ setRatio }) => setRatio);
  gauge('ids', 'Ids that it holds, estimated by a sample.', ({ ids }) => ids);
  gauge(
    'false_positive_ratio',
    'Share of new ids that it cannot tell from used ones, so that Postgres is asked.',
    ({ falsePositiveRatio }) => falsePositiveRatio,
  );
}
