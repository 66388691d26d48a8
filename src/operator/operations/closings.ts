/** Closes months of the books, and lists the closed ones. */

import { z } from 'zod';
import { closeMonth } from '../../books/closing.ts';
import { text } from '../../contract/fields.ts';
import { reason } from '../../contract/operator.ts';
import { timestamp } from '../../contract/values.ts';
import type { Act } from '../../domain/act.ts';
import { isMonth } from '../../domain/months.ts';
import { closingDocument } from '../../statements/books.ts';
import { column, renderTable } from '../../terminal/table.ts';
import { type ActOptions, actOf } from '../act-options.ts';
import { readMonth, readWholeNumber } from '../arguments.ts';
import { checkpointLine } from '../checkpoints.ts';
import { type OperationServices, operation, replyNames } from '../operation.ts';
import { shortResult, type WorkingVerb } from '../verb.ts';

const closingSchema = z.strictObject({
  month: z.string(),
  end: timestamp,
  sequence: z.int().min(0).describe('the last booked event before the end; 0: none'),
  closedAt: timestamp,
  balances: z.int().min(0).describe('number of balances that were kept'),
  digest: z.string().describe('SHA-256 of the balances'),
});

/** Longest time that settlement may stand still before a closing by a route is given up. */
const ROUTE_PATIENCE_MS = 5_000;

async function closed(services: OperationServices, month: string, patienceMs: number, act: Act) {
  const { isNew, ...closing } = await closeMonth(services, month, patienceMs, act);
  return { ...closingDocument(closing), isNew };
}

const closeVerb: WorkingVerb = {
  verb: 'close',
  describe: (command) =>
    command
      .argument('<month>', 'month like 2026-11 (UTC)', readMonth)
      .option('--patience <seconds>', 'maximum time without progress of settlement', readWholeNumber, 30)
      .option('--key <file>', 'Ed25519 private key in PEM, which signs the checkpoint of the closing')
      .addHelpText(
        'after',
        '\nA month that is closed already stays as it is. The line of JSON is a checkpoint, which contains the closing: keep it\nwhere nobody who may write to the database can write.',
      )
      .description('keep the balances of all accounts at the end of a month'),
  work:
    (month: string, { patience, key, ...options }: ActOptions & { patience: number; key?: string }) =>
    async (services) => {
      const closing = await closed(services, month, patience * 1_000, actOf(options));
      const { isNew, balances, sequence, digest } = closing;
      const checkpoint = await checkpointLine(services, key);
      const figures = `${balances} balances after event ${sequence}, digest ${digest}`;
      return shortResult(
        `${month} ${isNew ? 'is closed' : 'was closed before: nothing changed'}: ${figures}\n${checkpoint}`,
        { ...closing, checkpoint: JSON.parse(checkpoint) },
      );
    },
};

export const postClosing = operation({
  id: 'closeMonth',
  tag: 'Finance',
  summary: 'Keeps the balances of all accounts at the end of a month',
  description:
    '201 if the month is closed now, 200 if it was closed before: nothing changes then. After a lost answer, send the same request again.',
  method: 'POST',
  path: '/closings',
  rights: ['close'],
  body: z.strictObject({
    month: text
      .refine(isMonth, 'must be a month like 2026-11')
      .meta({ description: 'a month that is over (UTC)', examples: ['2026-11'] }),
    reason,
  }),
  reply: closingSchema
    .extend({ isNew: z.boolean().describe('false: the month was closed before, and nothing changed') })
    .register(replyNames, { id: 'ClosedMonth' }),
  mayCreate: true,
  codes: ['MONTH_NOT_OVER', 'SETTLEMENT_STALLED'],
  async run(services, { month }, { act }) {
    const reply = await closed(services, month, ROUTE_PATIENCE_MS, act);
    return { reply, isNew: reply.isNew };
  },
  verbs: [closeVerb],
});

const COLUMNS = ['MONTH', 'EVENT', 'BALANCES', 'CLOSED AT', 'DIGEST'].map((title) => column(title));

export const listClosings = operation({
  id: 'listClosings',
  tag: 'Finance',
  summary: 'Lists the closed months',
  method: 'GET',
  path: '/closings',
  rights: ['read', 'close'],
  reply: z
    .strictObject({ closings: z.array(closingSchema).describe('oldest first') })
    .register(replyNames, { id: 'Closings' }),
  async run({ ledger }) {
    const closings = await ledger.balances.closings();
    return { reply: { closings: closings.map(closingDocument) } };
  },
  verbs: [
    {
      verb: 'closings',
      describe: (command) => command.description('list the closed months'),
      answer({ reply }) {
        const rows = reply.closings.map(({ month, sequence, balances, closedAt, digest }) => [
          month,
          `${sequence}`,
          `${balances}`,
          closedAt,
          digest,
        ]);
        return { document: reply, text: (paint) => renderTable(COLUMNS, rows, paint, '(no closings)') };
      },
    },
  ],
});

export const CLOSINGS = [postClosing, listClosings];
