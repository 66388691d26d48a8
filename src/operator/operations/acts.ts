/** Lists the changes that operators and keys made. */

import { z } from 'zod';
import { cursorText, nextCursor } from '../../contract/cursor.ts';
import { queryText } from '../../contract/fields.ts';
import { readCursor, writeCursor } from '../../contract/list-cursor.ts';
import { inLowerCase, limit, order } from '../../contract/operator.ts';
import { bom, format, moment } from '../../contract/requests.ts';
import { timestamp } from '../../contract/values.ts';
import type { Plain } from '../../contract/written.ts';
import { isValidText } from '../../domain/text.ts';
import { actsReport } from '../../statements/acts.ts';
import { fileName, recordOf } from '../../statements/report.ts';
import { readOperator, readTimeMs, readWallet } from '../arguments.ts';
import { mixedOperation, type Noun, replyNames } from '../operation.ts';
import { reportVerb } from '../print-report.ts';
import { csvText } from './reports.ts';

/** Postgres refuses to compare with other text. */
const named = queryText.refine(isValidText, 'must be valid text without U+0000').optional();

const changed = z.string().nullable();

const actSchema = z.strictObject({
  time: timestamp,
  event: z.int().min(1),
  act: z.string().describe('command, like `account hold`'),
  by: z.string(),
  reason: z.string(),
  wallet: changed,
  market: changed,
  asset: changed,
  subject: changed.describe('reference, order id, month or key'),
  before: changed,
  after: changed,
});

type Act = Plain<typeof actSchema>;

interface ListOptions {
  since?: number;
  until?: number;
  by?: string;
  wallet?: string;
  market?: string;
}

const query = z.object({
  since: moment.optional().describe('ISO 8601 time, inclusive'),
  until: moment.optional().describe('ISO 8601 time, exclusive'),
  by: named.describe('name of a person or of a key'),
  wallet: inLowerCase.optional(),
  market: named,
  order,
  limit,
  cursor: cursorText,
  format,
  bom,
});

export const getActs = mixedOperation({
  id: 'listActs',
  tag: 'Service',
  summary: 'Lists what operators and keys changed',
  description: 'CSV has all of them, whatever `limit` is.',
  method: 'GET',
  path: '/acts',
  rights: ['read'],
  query,
  reply: z.strictObject({ acts: z.array(actSchema), nextCursor }).register(replyNames, { id: 'Acts' }),
  alsoAs: { 'text/csv': csvText },
  headers: ['Content-Disposition'],
  async run({ ledger }, { since: sinceMs, until: untilMs, order, limit, cursor, format, bom, ...filter }) {
    const scope = { list: 'acts', since: `${sinceMs}`, until: `${untilMs}`, order, ...filter };
    const after = cursor === undefined ? undefined : readCursor(scope, cursor);
    const report = await actsReport(ledger, { ...filter, sinceMs, untilMs, direction: order, after });
    const times = [sinceMs, untilMs].filter((timeMs) => timeMs !== undefined);
    const file = fileName(['acts'], times, 'csv');
    if (format === 'csv') return { report, format, mark: bom, isResumed: after !== undefined, file };
    const { columns, rows } = report;
    const acts: Act[] = [];
    for await (const cells of rows) {
      // One act more than the page tells that another page follows.
      if (acts.length === limit)
        return { reply: { acts, nextCursor: writeCursor(scope, acts.at(-1)!.event) } };
      acts.push(recordOf(columns, cells) as Act);
    }
    return { reply: { acts, nextCursor: null } };
  },
  verbs: [
    reportVerb<ListOptions>(
      'acts',
      (command) =>
        command
          .option('--since <time>', 'only from this time on, like 2026-01-01 (UTC)', readTimeMs)
          .option('--until <time>', 'only before this time', readTimeMs)
          .option('--by <name>', 'only of this person or key', readOperator)
          .option('--wallet <address>', 'only this wallet', readWallet)
          .option('--market <symbol>', 'only this market')
          .description('list what operators changed, with author, reason, and what there was before'),
      ({ ledger }, { since, until, ...filter }) =>
        actsReport(ledger, { ...filter, sinceMs: since, untilMs: until }),
    ),
  ],
});

export const ACTS: Noun = { parts: [getActs] };
