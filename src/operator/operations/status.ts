/** Shows the state of the service as far as its servers answer: the command is useful while some are unavailable. */

import { z } from 'zod';
import { ifKnown, readStatus, unlessAway } from '../../books/status.ts';
import { marketSymbol, timestamp } from '../../contract/values.ts';
import type { Plain } from '../../contract/written.ts';
import { OperatorRefusal } from '../../domain/errors.ts';
import { MARKET_STATUSES } from '../../domain/market.ts';
import { formatCounted, renderFacts } from '../../terminal/table.ts';
import { type Noun, operation, replyNames } from '../operation.ts';
import type { OperatorServices } from '../services.ts';
import type { CommandResult } from '../verb.ts';
import { lastReconcileSchema } from './reconcile.ts';

const counts = z.record(z.string(), z.int().min(0)).nullable();

const serviceStatusSchema = z
  .strictObject({
    engine: z
      .strictObject({
        epoch: z.int(),
        sequence: z.int(),
        lastEventAt: timestamp.nullable(),
        paused: z.boolean(),
        requiredTerms: z.string().nullable(),
      })
      .nullable(),
    settlement: z
      .strictObject({
        epoch: z.int(),
        sequence: z.int(),
        lastSettledAt: timestamp.nullable(),
        lag: z.strictObject({ events: z.int().min(0), seconds: z.number().min(0) }).nullable(),
      })
      .nullable(),
    reconciled: lastReconcileSchema.nullable(),
    markets: z
      .array(
        z.strictObject({
          symbol: marketSymbol,
          status: z.enum(MARKET_STATUSES),
          tradingEnabled: z.boolean(),
        }),
      )
      .nullable(),
    queue: counts.describe('wake-ups by state'),
    replicas: counts.describe('running processes by role'),
    snapshotAgeMs: z.number().nullable(),
  })
  .meta({ description: 'The state of the service. A part whose server does not answer is null.' })
  .register(replyNames, { id: 'ServiceStatus' });

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

async function told(
  state: Plain<typeof serviceStatusSchema>,
  services: OperatorServices,
): Promise<CommandResult> {
  const copies = await ifKnown(() => copiesNow(services));
  const document = { ...state, copies };
  const { engine, settlement, reconciled, markets, queue, replicas, snapshotAgeMs } = document;
  const lag = settlement?.lag ?? null;
  const away = [...(engine ? [] : ['the engine’s Redis']), ...(settlement ? [] : ['Postgres'])];
  return {
    document,
    text: (paint) =>
      renderFacts(
        [
          ['trading', engine === null ? 'unknown' : engine.paused ? 'paused' : 'on'],
          ['terms', engine === null ? 'unknown' : (engine.requiredTerms ?? 'none required')],
          [
            'markets',
            markets === null ? 'unknown' : countsInWords(countBy(markets.map((one) => one.status))),
          ],
          [
            'engine',
            engine === null ? 'away' : `epoch ${engine.epoch}, event ${formatCounted(engine.sequence)}`,
          ],
          [
            'settled',
            settlement === null ? 'Postgres is away' : `event ${formatCounted(settlement.sequence)}`,
          ],
          ...(services.copies === undefined ? [] : [['copies', copiesInWords(copies)] as const]),
          ['lag', lag === null ? 'unknown' : `${formatCounted(lag.events)} events, ${lag.seconds} s`],
          ['books', settlement === null ? 'unknown' : reconciledInWords(reconciled)],
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

function reconciledInWords(last: Plain<typeof serviceStatusSchema>['reconciled']): string {
  if (last === null) return 'never';
  const { at, sequence, differences, failedChecks } = last;
  const found =
    differences === 0
      ? 'everything held'
      : `${formatCounted(differences)} ${differences === 1 ? 'difference' : 'differences'} in ${failedChecks.join(', ')}`;
  return `${found}, ${at}, event ${formatCounted(sequence)}`;
}

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

export const getServiceStatus = operation({
  id: 'getServiceStatus',
  tag: 'Service',
  summary: 'Returns the state of the service as far as its servers answer',
  method: 'GET',
  path: '/status',
  rights: ['read'],
  reply: serviceStatusSchema,
  run: async (services) => ({ reply: await readStatus(services) }),
  verbs: [
    {
      verb: 'status',
      describe: (command) =>
        command.description(
          'show settlement lag, last reconcile, snapshot age, replicas, copies, queue depth and pause',
        ),
      answer: ({ reply }, { services }) => told(reply, services),
    },
  ],
});

export const STATUS: Noun = { parts: [getServiceStatus] };
