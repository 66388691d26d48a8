/** Requests, takes, releases, confirms, returns, lists and shows withdrawals that custody pays later. */

import { Option } from 'commander';
import { z } from 'zod';
import { bookMovements } from '../../books/book-movements.ts';
import {
  endWithdrawal,
  findWithdrawal,
  listWithdrawals,
  releaseWithdrawal,
  takeWithdrawal,
} from '../../books/withdrawals.ts';
import { cursorText, nextCursor } from '../../contract/cursor.ts';
import { positiveAmount } from '../../contract/decimals.ts';
import { oneOf, optional, text, validText } from '../../contract/fields.ts';
import { readCursor, writeCursor } from '../../contract/list-cursor.ts';
import {
  inLowerCase,
  limit,
  order,
  reason,
  reasonRequest,
  reference,
  referenceRequest,
} from '../../contract/operator.ts';
import { moment } from '../../contract/requests.ts';
import { assetSymbol, decimalText, timestamp, wallet } from '../../contract/values.ts';
import type { Plain } from '../../contract/written.ts';
import { MAX_BY } from '../../domain/act.ts';
import type { ErrorCode, OperatorCode } from '../../domain/errors.ts';
import { shown } from '../../domain/text.ts';
import { WITHDRAWAL_STATES, type WithdrawalState } from '../../domain/withdrawal-states.ts';
import { column, renderTable } from '../../terminal/table.ts';
import { type ActOptions, actOf } from '../act-options.ts';
import { readOperator, readSequence, readTimeMs } from '../arguments.ts';
import { type Noun, operation, replyNames } from '../operation.ts';
import { answerOf, beginVerb, REPEAT, showVerb, stepVerb, withReference } from './by-reference.ts';

const OF_STEPS: readonly OperatorCode[] = ['UNKNOWN_WITHDRAWAL', 'REFERENCE_CONFLICT', 'PAYMENT_UNDER_WAY'];
const OF_REQUESTS: readonly (ErrorCode | OperatorCode)[] = [
  'INVALID_AMOUNT',
  'INVALID_REFERENCE',
  'UNKNOWN_ASSET',
  'INSUFFICIENT_BALANCE',
  'CUSTODY_HOLD',
  'RECEIVABLE_OPEN',
  'CAP_EXCEEDED',
  'APPROVAL_NEEDED',
  'APPROVAL_REFUSED',
  'REFERENCE_CONFLICT',
  'SCALE_CHANGED',
];

const withdrawalSchema = z
  .strictObject({
    reference: z.string(),
    wallet,
    asset: assetSymbol,
    amount: decimalText,
    state: z.enum(WITHDRAWAL_STATES),
    txid: z.string().nullable().describe('transaction that paid it; null unless it is confirmed'),
    held: z.boolean().describe('the wallet is on custody hold: do not pay now'),
    taken: z
      .strictObject({
        by: z.string().describe('name of who pays it'),
        key: z.string().describe('key that took it, or person on the command line'),
        until: timestamp.describe('when it should have ended; later it is overdue, and taken all the same'),
      })
      .nullable()
      .describe('null while nobody took it, and once it ended'),
  })
  .register(replyNames, { id: 'Withdrawal' });

const answer = answerOf<Plain<typeof withdrawalSchema>>('withdrawal', ({ txid, taken }) => {
  const paid = txid === null ? '' : ` by ${shown(txid)}`;
  const owner = taken === null ? '' : `, taken by ${shown(taken.by)} until ${taken.until}`;
  return `${paid}${owner}`;
});

const requestWithdrawal = operation({
  id: 'requestWithdrawal',
  tag: 'Money',
  summary: 'Requests a withdrawal that custody pays later',
  description:
    'The amount leaves the wallet at once, and is pending until the withdrawal is confirmed or returned. 201 if it is new, 200 if it was requested before, 409 if its reference was used for another withdrawal. A custody hold that follows leaves it pending.',
  method: 'POST',
  path: '/withdrawals',
  rights: ['debit'],
  body: z
    .strictObject({ reference, wallet: inLowerCase, asset: text, amount: positiveAmount, reason })
    .meta({ description: 'The amount leaves the wallet at once, and is pending.' }),
  reply: withdrawalSchema,
  mayCreate: true,
  codes: OF_REQUESTS,
  async run(services, asked, { act, key }) {
    const [booked] = await bookMovements(services, [{ ...asked, kind: 'requested', act }], key);
    if (booked!.status === 'rejected') throw booked!.reason;
    const isNew = !booked!.value.duplicate;
    return { reply: await findWithdrawal(services, asked.reference), isNew };
  },
  verbs: [
    beginVerb(
      'withdrawal',
      'request',
      'take an amount from the available balance; it is pending until it is confirmed or returned',
      answer,
    ),
  ],
});

const taker = validText(MAX_BY);
const TAKEN_BY = 'name by which it was taken; the name of the key if it is left out';

export const postTake = operation({
  id: 'takeWithdrawal',
  tag: 'Money',
  summary: 'Takes a pending withdrawal for whoever pays it',
  description:
    'Take a withdrawal before it is paid. From then on nobody can return it, nobody else can take it, and `confirm` and `release` need the name in `by`. The same take again changes nothing; the same name of the same key may take it until another time. Later than `until` it is overdue, which an alert tells, and it is taken all the same: its payment may be under way.',
  method: 'POST',
  path: '/withdrawals/:reference/take',
  rights: ['pay'],
  params: referenceRequest,
  body: z.strictObject({
    by: taker.describe('name of one worker or person, whom no other one shares'),
    until: moment.meta({
      description: 'ISO 8601 time until when it should have ended, at most 7 days ahead',
      examples: ['2026-01-31T12:00:00Z'],
    }),
    reason: optional(reason).describe('why; kept for auditors'),
  }),
  usualReason: 'to be paid',
  reply: withdrawalSchema,
  codes: [...OF_STEPS, 'CUSTODY_HOLD', 'RECEIVABLE_OPEN'],
  async run(services, { reference, by, until }, { act }) {
    const isNew = await takeWithdrawal(services, reference, { by, untilMs: until }, act);
    return { reply: await findWithdrawal(services, reference), isNew };
  },
  verbs: [
    {
      verb: 'take',
      describe: (command) =>
        withReference(command, 'withdrawal')
          .requiredOption('--until <time>', 'when it should have ended, at most 7 days ahead', readTimeMs)
          .addHelpText('after', REPEAT)
          .description(
            'take a pending withdrawal under the name of --by, so that nobody else pays or returns it',
          ),
      input: (reference: string, options: ActOptions & { until: number }) => ({
        reference,
        by: actOf(options).by,
        until: options.until,
      }),
      answer,
    },
  ],
});

/** Commands name who took the withdrawal if it was not who confirms it or gives it up. */
const TAKEN_BY_OPTION = ['--taken-by <name>', 'who took it, if it was not --by', readOperator] as const;

interface TakenByOption extends ActOptions {
  takenBy?: string;
}

export const postRelease = operation({
  id: 'releaseWithdrawal',
  tag: 'Money',
  summary: 'Gives up a taken withdrawal whose payment is not under way',
  description:
    'Whoever calls it names the one who took it. Make sure first that no transaction pays it: afterwards it can be returned, or taken by another one. Nothing changes if nobody took it.',
  method: 'POST',
  path: '/withdrawals/:reference/release',
  rights: ['pay'],
  params: referenceRequest,
  body: z.strictObject({ by: optional(taker).describe(TAKEN_BY), reason }),
  reply: withdrawalSchema,
  codes: OF_STEPS,
  async run(services, { reference, by }, { act }) {
    const isNew = await releaseWithdrawal(services, reference, by ?? act.by, act);
    return { reply: await findWithdrawal(services, reference), isNew };
  },
  verbs: [
    {
      verb: 'release',
      describe: (command) =>
        withReference(command, 'withdrawal')
          .option(...TAKEN_BY_OPTION)
          .addHelpText('after', REPEAT)
          .description('give up a taken withdrawal whose payment is not under way'),
      input: (reference: string, options: TakenByOption) => ({ reference, by: options.takenBy }),
      answer,
    },
  ],
});

export const confirmWithdrawal = operation({
  id: 'confirmWithdrawal',
  tag: 'Money',
  summary: 'Confirms that a transaction paid a withdrawal',
  description:
    'The same transaction again changes nothing. Another one, or a returned withdrawal, answers 409. A taken withdrawal needs the name in `by` under which it was taken.',
  method: 'POST',
  path: '/withdrawals/:reference/confirm',
  rights: ['pay'],
  params: referenceRequest,
  body: z.strictObject({
    txid: validText(256).describe('transaction that paid the withdrawal'),
    by: optional(taker).describe(TAKEN_BY),
    reason: optional(reason).describe('why; the transaction if it is left out'),
  }),
  usualReason: 'paid',
  reply: withdrawalSchema,
  codes: OF_STEPS,
  async run(services, { reference, txid, by }, { act }) {
    const end = { kind: 'confirmed', txid, takenBy: by ?? act.by } as const;
    const { duplicate } = await endWithdrawal(services, reference, end, act);
    return { reply: await findWithdrawal(services, reference), isNew: !duplicate };
  },
  verbs: [
    {
      verb: 'confirm',
      describe: (command) =>
        withReference(command, 'withdrawal')
          .requiredOption('--txid <id>', 'transaction that paid the withdrawal')
          .option(...TAKEN_BY_OPTION)
          .addHelpText('after', REPEAT)
          .description('confirm that a transaction paid a withdrawal'),
      input: (reference: string, { txid, takenBy }: TakenByOption & { txid: string }) => ({
        reference,
        txid,
        by: takenBy,
      }),
      answer,
    },
  ],
});

export const returnWithdrawal = operation({
  id: 'returnWithdrawal',
  tag: 'Money',
  summary: 'Returns the amount of a withdrawal that was not paid',
  description: 'A second return changes nothing. A confirmed or taken withdrawal answers 409.',
  method: 'POST',
  path: '/withdrawals/:reference/return',
  rights: ['pay'],
  params: referenceRequest,
  body: reasonRequest,
  reply: withdrawalSchema,
  codes: OF_STEPS,
  async run(services, { reference }, { act }) {
    const { duplicate } = await endWithdrawal(services, reference, { kind: 'returned' }, act);
    return { reply: await findWithdrawal(services, reference), isNew: !duplicate };
  },
  verbs: [
    {
      ...stepVerb('withdrawal', 'return', 'give the amount of a withdrawal back to the wallet', answer),
      needsReason: true,
    },
  ],
});

export const getWithdrawal = operation({
  id: 'getWithdrawal',
  tag: 'Money',
  summary: 'Returns a withdrawal and its state',
  method: 'GET',
  path: '/withdrawals/:reference',
  rights: ['read', 'debit', 'pay'],
  params: referenceRequest,
  reply: withdrawalSchema,
  codes: ['UNKNOWN_WITHDRAWAL'],
  run: async (services, { reference }) => ({ reply: await findWithdrawal(services, reference) }),
  verbs: [showVerb('withdrawal', 'show a withdrawal and its state', answer)],
});

/** Withdrawals that the command lists at once. */
const LISTED = 500;

const COLUMNS = [
  ...['REFERENCE', 'WALLET', 'ASSET'].map((title) => column(title)),
  column('AMOUNT', 'point'),
  ...['REQUESTED', 'ENDED', 'TRANSACTION', 'HOLD', 'TAKEN BY', 'UNTIL'].map((title) => column(title)),
];

type Listed = Awaited<ReturnType<typeof listWithdrawals>>[number];

const rowOf = (one: Listed): string[] => [
  shown(one.reference),
  one.wallet,
  one.asset,
  one.amount,
  one.requestedAt,
  one.endedAt ?? '-',
  one.txid === null ? '-' : shown(one.txid),
  one.held ? 'on hold' : '-',
  one.taken === null ? '-' : shown(one.taken.by),
  one.taken?.until ?? '-',
];

export const getWithdrawals = operation({
  id: 'listWithdrawals',
  tag: 'Money',
  summary: 'Lists withdrawals of a state, in the order in which they came into it',
  description: 'Waits until settlement has all that was answered before.',
  method: 'GET',
  path: '/withdrawals',
  rights: ['read', 'debit', 'pay'],
  query: z.object({ state: oneOf(WITHDRAWAL_STATES).default('pending'), order, limit, cursor: cursorText }),
  reply: z
    .strictObject({
      withdrawals: z
        .array(withdrawalSchema.extend({ requestedAt: timestamp, endedAt: timestamp.nullable() }))
        .describe('in the order that was asked for'),
      nextCursor,
    })
    .register(replyNames, { id: 'Withdrawals' }),
  codes: ['SETTLEMENT_STALLED'],
  async run(services, { state, order, limit, cursor }) {
    const scope = { list: 'withdrawals', state, order };
    const after = cursor === undefined ? undefined : readCursor(scope, cursor);
    // One withdrawal more than the page tells that another page follows.
    const found = await listWithdrawals(services, state, limit + 1, order, after);
    const page = found.slice(0, limit);
    const nextCursor = found.length > limit ? writeCursor(scope, page.at(-1)!.sequence) : null;
    return { reply: { withdrawals: page.map(({ sequence: _, ...one }) => one), nextCursor } };
  },
  verbs: [
    {
      verb: 'list',
      describe: (command) =>
        command
          .addOption(
            new Option('--state <state>', 'only withdrawals of this state')
              .choices(WITHDRAWAL_STATES)
              .default('pending'),
          )
          .option(
            '--after <sequence>',
            'only those after this one, by their `sequence` (--json)',
            readSequence,
            0,
          )
          .description(
            `list withdrawals in the order in which they came into their state, at most ${LISTED} at once`,
          ),
      work:
        ({ state, after }: { state: WithdrawalState; after: number }) =>
        async (services) => {
          const withdrawals = await listWithdrawals(services, state, LISTED, 'asc', after);
          const rows = withdrawals.map(rowOf);
          return {
            document: { withdrawals },
            text: (paint) => renderTable(COLUMNS, rows, paint, `(no ${state} withdrawals)`),
          };
        },
    },
  ],
});

export const WITHDRAWAL: Noun = {
  name: 'withdrawal',
  description: 'manage withdrawals that custody pays after their request',
  parts: [
    requestWithdrawal,
    postTake,
    postRelease,
    confirmWithdrawal,
    returnWithdrawal,
    getWithdrawal,
    getWithdrawals,
  ],
};
