/** The state of the service as far as its servers answer. */

import { Refusal } from '../domain/errors.ts';
import { withTimeLimit } from '../domain/time-limit.ts';
import type { LastReconcile } from '../ledger/index.ts';
import type { Servers } from './servers.ts';
import { type Lag, lagBetween } from './settlement-lag.ts';

const PATIENCE_MS = 3_000;

/** Answers of the process that only some have. */
export interface StatusSources extends Servers {
  /** Jobs of the wake-up queue by state. */
  readonly queueCounts?: () => Promise<Readonly<Record<string, number>>>;
  /** Running processes, by role. */
  readonly replicas?: () => Promise<Readonly<Record<string, number>>>;
  /** Age of the newest market snapshot in milliseconds; null while there is none. */
  readonly snapshotAgeMs?: () => Promise<number | null>;
}

/** Returns null when the server is unavailable. */
export async function unlessAway<Result>(asking: Promise<Result>): Promise<Result | null> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'SERVICE_UNAVAILABLE') return null;
    throw error;
  }
}

/**
 * Returns null for an optional answer that does not come in time. BullMQ would wait forever for an unavailable Redis.
 */
export async function ifKnown<Result>(ask: (() => Promise<Result>) | undefined): Promise<Result | null> {
  if (ask === undefined) return null;
  try {
    return await withTimeLimit(PATIENCE_MS, ask(), () => null);
  } catch {
    return null;
  }
}

const inSeconds = ({ events, ageMs }: Lag): { events: number; seconds: number } => ({
  events,
  seconds: Math.round(ageMs / 100) / 10,
});

/** Returns the state of each part; null for a part whose server is away. */
export async function readStatus(services: StatusSources) {
  const { engine, ledger } = services;
  // The engine is asked first: an event that it adds between the two reads must not count as settlement lag.
  const state = await unlessAway(engine.reads.state());
  const [settled, reconciled, markets, queue, replicas, snapshotAgeMs] = await Promise.all([
    unlessAway(ledger.settlement.cursor()),
    unlessAway(ledger.checks.lastReconcile()),
    unlessAway(engine.markets.all()),
    ifKnown(services.queueCounts),
    ifKnown(services.replicas),
    ifKnown(services.snapshotAgeMs),
  ]);
  const lag =
    state && settled && (await unlessAway(lagBetween(engine.outbox, state, settled).then(inSeconds)));
  return {
    engine: state && {
      epoch: state.epoch,
      sequence: state.sequence,
      lastEventAt: isoTime(state.timeMs),
      paused: state.paused,
      requiredTerms: state.termsVersion,
    },
    settlement: settled && {
      epoch: settled.epoch,
      sequence: settled.sequence,
      lastSettledAt: isoTime(settled.settledAtMs),
      lag,
    },
    reconciled: reconciled && reconciledDocument(reconciled),
    markets:
      markets?.map(({ symbol, status, tradingEnabled }) => ({ symbol, status, tradingEnabled })) ?? null,
    queue,
    replicas,
    snapshotAgeMs,
  };
}

/** Returns the last reconcile as operators see it. */
export const reconciledDocument = <Last extends LastReconcile>({
  finishedAtMs,
  differences,
  ...note
}: Last) => ({
  at: isoTime(finishedAtMs)!,
  holds: differences === 0,
  differences,
  ...note,
});

const isoTime = (timeMs: number | null): string | null =>
  timeMs === null || timeMs === 0 ? null : new Date(timeMs).toISOString();
