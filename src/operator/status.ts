/** Shows the state of the service as far as its servers answer: the command is useful while some are unavailable. */

import type { Command } from 'commander';
import { type Lag, lagBetween } from '../books/settlement-lag.ts';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import { withTimeLimit } from '../domain/time-limit.ts';
import type { LastReconcile } from '../ledger/index.ts';
import { formatCounted, renderFacts } from '../terminal/table.ts';
import type { OperatorServices } from './services.ts';
import type { CommandResult, RunCommand } from './verb.ts';

const PATIENCE_MS = 3_000;

export function addStatusCommand(program: Command, perform: RunCommand): void {
  program
    .command('status')
    .description('show settlement lag, last reconcile, snapshot age, replicas, copies, queue depth and pause')
    .action(() => perform(status));
}

/** Returns null when the server is unavailable. */
async function unlessAway<Result>(asking: Promise<Result>): Promise<Result | null> {
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
async function ifKnown<Result>(ask: (() => Promise<Result>) | undefined): Promise<Result | null> {
  if (ask === undefined) return null;
  try {
    return await withTimeLimit(PATIENCE_MS, ask(), () => null);
  } catch {
    return null;
  }
}

interface CopiesNow {
  readonly primary: string;
  /** Servers that have every answered order. */
  readonly members: readonly string[];
  /** Servers of REDIS_URL that do not answer. */
  readonly away: readonly string[];
}

/** Returns null for an engine without copies, and while Postgres is unavailable. */
async function copiesNow({ copies, ledger }: OperatorServices): Promise<CopiesNow | null> {
  if (copies === undefined) return null;
  const [row, seen] = await Promise.all([unlessAway(ledger.copies.read()), copies()]);
  if (!row) return null;
  const away = [...seen].flatMap(([name, server]) => (server === undefined ? [name] : []));
  return { primary: row.server, members: row.members, away };
}

function copiesInWords(now: CopiesNow | null): string {
  if (now === null) return 'unknown';
  const { primary, members, away } = now;
  return `${members.length}, primary ${primary}${away.length === 0 ? '' : `; away: ${away.join(', ')}`}`;
}

const inSeconds = ({ events, ageMs }: Lag): { events: number; seconds: number } => ({
  events,
  seconds: Math.round(ageMs / 100) / 10,
});

async function status(services: OperatorServices): Promise<CommandResult> {
  const { engine, ledger } = services;
  // The engine is asked first: an event that it adds between the two reads must not count as settlement lag.
  const state = await unlessAway(engine.reads.state());
  const [settled, reconciled, markets, queue, replicas, snapshotAgeMs, copies] = await Promise.all([
    unlessAway(ledger.settlement.cursor()),
    unlessAway(ledger.checks.lastReconcile()),
    unlessAway(engine.markets.all()),
    ifKnown(services.queueCounts),
    ifKnown(services.replicas),
    ifKnown(services.snapshotAgeMs),
    ifKnown(() => copiesNow(services)),
  ]);
  const lag =
    state && settled && (await unlessAway(lagBetween(engine.outbox, state, settled).then(inSeconds)));
  const away = [...(state ? [] : ['the engine’s Redis']), ...(settled ? [] : ['Postgres'])];
  return {
    document: {
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
      copies,
    },
    text: (paint) =>
      renderFacts(
        [
          ['trading', state === null ? 'unknown' : state.paused ? 'paused' : 'on'],
          ['terms', state === null ? 'unknown' : (state.termsVersion ?? 'none required')],
          [
            'markets',
            markets === null ? 'unknown' : countsInWords(countBy(markets.map((one) => one.status))),
          ],
          [
            'engine',
            state === null ? 'away' : `epoch ${state.epoch}, event ${formatCounted(state.sequence)}`,
          ],
          ...(services.copies === undefined ? [] : [['copies', copiesInWords(copies)] as const]),
          ['settled', settled === null ? 'Postgres is away' : `event ${formatCounted(settled.sequence)}`],
          ['lag', lag === null ? 'unknown' : `${formatCounted(lag.events)} events, ${lag.seconds} s`],
          ['books', settled === null ? 'unknown' : reconciledInWords(reconciled)],
          ['queue', queue === null ? 'unknown' : countsInWords(queue)],
          ['replicas', replicas === null ? 'unknown' : countsInWords(replicas)],
          ['snapshots', snapshotAgeMs === null ? 'unknown' : `${(snapshotAgeMs / 1000).toFixed(1)} s old`],
        ],
        paint,
      ),
    failure:
      away.length === 0
        ? undefined
        : new OperatorRefusal('SERVICE_UNAVAILABLE', `${away.join(' and ')} cannot be reached`),
  };
}

const reconciledDocument = ({ finishedAtMs, differences, ...note }: LastReconcile): object => ({
  at: isoTime(finishedAtMs),
  holds: differences === 0,
  differences,
  ...note,
});

function reconciledInWords(last: LastReconcile | null): string {
  if (last === null) return 'never';
  const { finishedAtMs, sequence, differences, failedChecks } = last;
  const found =
    differences === 0
      ? 'everything held'
      : `${formatCounted(differences)} ${differences === 1 ? 'difference' : 'differences'} in ${failedChecks.join(', ')}`;
  return `${found}, ${isoTime(finishedAtMs)}, event ${formatCounted(sequence)}`;
}

const isoTime = (timeMs: number | null): string | null =>
  timeMs === null || timeMs === 0 ? null : new Date(timeMs).toISOString();

const countBy = (words: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
};

/** Writes `2 active, 1 halted`, without zero counts. */
const countsInWords = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${formatCounted(count)} ${name}`)
    .join(', ') || 'none';
