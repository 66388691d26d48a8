/** Closes months of the books, reopens the last one, and lists the closings. */

import { z } from 'zod';
import { closeMonth, keptClosings, reopenMonth } from '../../books/closing.ts';
import { optional, text } from '../../contract/fields.ts';
import { reason } from '../../contract/operator.ts';
import { timestamp } from '../../contract/values.ts';
import type { Act } from '../../domain/act.ts';
import { isMonth } from '../../domain/months.ts';
import { isoTime } from '../../statements/amounts.ts';
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
  digest: z.string().describe('SHA-256 of the balances, which the act that closed the month has too'),
});

const reopenedAt = timestamp.describe('time of the act that withdrew the closing');

/** Longest time that settlement may stand still before a closing by a route is given up. */
const ROUTE_PATIENCE_MS = 5_000;

async function closed(
  services: OperationServices,
  month: string,
  options: Parameters<typeof closeMonth>[2],
  act: Act,
) {
  const { isNew, ...closing } = await closeMonth(services, month, options, act);
  return { ...closingDocument(closing), isNew };
}

const MONTH = 'month like 2026-11 (UTC)';
const PATIENCE = [
  '--patience <seconds>',
  'maximum time without progress of settlement',
  readWholeNumber,
  30,
] as const;

const monthField = text.refine(isMonth, 'must be a month like 2026-11');

interface CloseOptions extends ActOptions {
  patience: number;
  empty?: true;
  key?: string;
}

const closeVerb: WorkingVerb = {
  verb: 'close',
  describe: (command) =>
    command
      .argument('<month>', MONTH, readMonth)
      .option('--empty', 'close a month that has no entries')
      .option(...PATIENCE)
      .option('--key <file>', 'Ed25519 private key in PEM, which signs the checkpoint of the closing')
      .addHelpText(
        'after',
        '\nMonths are closed one after the other. A month that is closed already stays as it is; after an interruption, give the\nsame command again. `ledger reopen` withdraws a wrong closing. The line of JSON is a checkpoint, which contains the closing: keep it\nwhere nobody who may write to the database can write.',
      )
      .description('keep the balances of all accounts at the end of a month'),
  work:
    (month: string, { patience, empty, key, ...options }: CloseOptions) =>
    async (services) => {
      const closing = await closed(
        services,
        month,
        { isEmpty: empty ?? false, patienceMs: patience * 1_000 },
        actOf(options),
      );
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
    '201 if the month is closed now, 200 if it was closed before: nothing changes then. After a lost answer, send the same request again. Months are closed one after the other: one before the last closed month, or after a month with entries that is not closed, answers 409.',
  method: 'POST',
  path: '/closings',
  rights: ['close'],
  body: z.strictObject({
    month: monthField.meta({ description: 'a month that is over (UTC)', examples: ['2026-11'] }),
    empty: optional(z.boolean()).describe('true: close it although it has no entries'),
    reason,
  }),
  reply: closingSchema
    .extend({ isNew: z.boolean().describe('false: the month was closed before, and nothing changed') })
    .register(replyNames, { id: 'ClosedMonth' }),
  mayCreate: true,
  codes: [
    'MONTH_NOT_OVER',
    'MONTH_OUT_OF_ORDER',
    'MONTH_EMPTY',
    'CLOSING_DIFFERS',
    'NOT_CLOSED',
    'SETTLEMENT_STALLED',
  ],
  async run(services, { month, empty = false }, { act }) {
    const options = { isEmpty: empty, patienceMs: ROUTE_PATIENCE_MS };
    const reply = await closed(services, month, options, act);
    return { reply, isNew: reply.isNew };
  },
  verbs: [closeVerb],
});

async function reopened(services: OperationServices, month: string, patienceMs: number, act: Act) {
  const { digest, reopenedAtMs, isNew } = await reopenMonth(services, month, patienceMs, act);
  return { month, digest, reopenedAt: isoTime(reopenedAtMs), isNew };
}

const reopenVerb: WorkingVerb = {
  verb: 'reopen',
  needsReason: true,
  isAct: true,
  describe: (command) =>
    command
      .argument('<month>', `the last closed month, a ${MONTH}`, readMonth)
      .option(...PATIENCE)
      .addHelpText(
        'after',
        '\nThe withdrawn figures stay on record, and `ledger closings` lists them. Balances and statements follow from entries again\nuntil the month is closed anew. After an interruption, give the same command again.',
      )
      .description('withdraw the closing of the last closed month'),
  work:
    (month: string, { patience, ...options }: ActOptions & { patience: number }) =>
    async (services) => {
      const reply = await reopened(services, month, patience * 1_000, actOf(options));
      return shortResult(
        `${month} ${reply.isNew ? 'is open again' : 'was reopened before: nothing changed'}: withdrawn digest ${reply.digest}`,
        reply,
      );
    },
};

export const postReopening = operation({
  id: 'reopenMonth',
  tag: 'Finance',
  summary: 'Withdraws the closing of the last closed month',
  description:
    'The withdrawn figures stay on record. 201 if the month is open again now, 200 if it was reopened before: nothing changes then.',
  method: 'POST',
  path: '/closings/:month/reopen',
  rights: ['close'],
  params: z.strictObject({ month: monthField.describe('the last closed month (UTC)') }),
  body: z.strictObject({ reason }),
  reply: z
    .strictObject({
      month: z.string(),
      digest: z.string().describe('SHA-256 of the withdrawn balances'),
      reopenedAt,
      isNew: z.boolean().describe('false: the month was reopened before, and nothing changed'),
    })
    .register(replyNames, { id: 'ReopenedMonth' }),
  mayCreate: true,
  codes: ['NOT_CLOSED', 'MONTH_OUT_OF_ORDER', 'SETTLEMENT_STALLED'],
  async run(services, { month }, { act }) {
    const reply = await reopened(services, month, ROUTE_PATIENCE_MS, act);
    return { reply, isNew: reply.isNew };
  },
  verbs: [reopenVerb],
});

const COLUMNS = ['MONTH', 'EVENT', 'BALANCES', 'CLOSED AT', 'REOPENED AT', 'DIGEST'].map((title) =>
  column(title),
);

export const listClosings = operation({
  id: 'listClosings',
  tag: 'Finance',
  summary: 'Lists the closed months, and the closings that were withdrawn',
  method: 'GET',
  path: '/closings',
  rights: ['read', 'close'],
  reply: z
    .strictObject({
      closings: z.array(closingSchema).describe('those in force, oldest first'),
      reopened: z.array(closingSchema.extend({ reopenedAt })).describe('withdrawn ones, oldest first'),
    })
    .register(replyNames, { id: 'Closings' }),
  async run(services) {
    const all = await keptClosings(services);
    const closings = all.filter(({ reopenedAtMs }) => reopenedAtMs === null).map(closingDocument);
    const reopened = all.flatMap(({ reopenedAtMs, ...closing }) =>
      reopenedAtMs === null
        ? []
        : [{ ...closingDocument({ ...closing, reopenedAtMs }), reopenedAt: isoTime(reopenedAtMs) }],
    );
    return { reply: { closings, reopened } };
  },
  verbs: [
    {
      verb: 'closings',
      describe: (command) => command.description('list the closed months'),
      answer({ reply }) {
        const rows = [
          ...reply.closings.map((closing) => ({ ...closing, reopenedAt: '' })),
          ...reply.reopened,
        ].map(({ month, sequence, balances, closedAt, reopenedAt, digest }) => [
          month,
          `${sequence}`,
          `${balances}`,
          closedAt,
          reopenedAt,
          digest,
        ]);
        return { document: reply, text: (paint) => renderTable(COLUMNS, rows, paint, '(no closings)') };
      },
    },
  ],
});

export const CLOSINGS = [postClosing, postReopening, listClosings];
