/** Announces, credits, drops, lists and shows deposits that custody sees before they are final. */

import { z } from 'zod';
import {
  announceDeposit,
  creditDeposit,
  dropDeposit,
  findDeposit,
  listAnnounced,
} from '../../books/deposits.ts';
import { cursorText, nextCursor } from '../../contract/cursor.ts';
import { positiveAmount } from '../../contract/decimals.ts';
import { text } from '../../contract/fields.ts';
import { readCursor, writeCursor } from '../../contract/list-cursor.ts';
import {
  inLowerCase,
  limit,
  reason,
  reasonRequest,
  reference,
  referenceRequest,
} from '../../contract/operator.ts';
import { assetSymbol, decimalText, timestamp, wallet } from '../../contract/values.ts';
import type { Plain } from '../../contract/written.ts';
import type { OperatorCode } from '../../domain/errors.ts';
import { shown } from '../../domain/text.ts';
import { DEPOSIT_STATES } from '../../domain/withdrawal-states.ts';
import { column, renderTable } from '../../terminal/table.ts';
import { readSequence } from '../arguments.ts';
import { type Noun, operation, replyNames } from '../operation.ts';
import { answerOf, beginVerb, showVerb, stepVerb } from './by-reference.ts';

const OF_STEPS: readonly OperatorCode[] = ['UNKNOWN_DEPOSIT', 'REFERENCE_CONFLICT'];

const depositSchema = z
  .strictObject({
    reference: z.string(),
    wallet,
    asset: assetSymbol,
    amount: decimalText,
    state: z.enum(DEPOSIT_STATES),
  })
  .register(replyNames, { id: 'Deposit' });

const answer = answerOf<Plain<typeof depositSchema>>('deposit', () => '');

const postDeposit = operation({
  id: 'announceDeposit',
  tag: 'Money',
  summary: 'Announces a deposit that is not final yet',
  description:
    'It moves nothing. The deposit is announced until it is credited or dropped. 201 if it is new, 200 if it was announced before, 409 if its reference was used for another deposit.',
  method: 'POST',
  path: '/deposits',
  rights: ['credit'],
  body: z
    .strictObject({
      reference,
      wallet: inLowerCase,
      asset: text,
      amount: positiveAmount,
      reason,
    })
    .meta({ description: 'A deposit that is not final yet.' }),
  reply: depositSchema,
  mayCreate: true,
  codes: [
    'INVALID_AMOUNT',
    'INVALID_REFERENCE',
    'UNKNOWN_ASSET',
    'REFERENCE_CONFLICT',
    'SCALE_CHANGED',
    'TOO_MANY_ANNOUNCED',
    'SETTLEMENT_STALLED',
  ],
  async run(services, asked, { act }) {
    const { duplicate } = await announceDeposit(services, asked, act);
    return { reply: await findDeposit(services, asked.reference), isNew: !duplicate };
  },
  verbs: [beginVerb('deposit', 'announce', 'note a deposit that is not final yet; it moves nothing', answer)],
});

const postCredit = operation({
  id: 'creditDeposit',
  tag: 'Money',
  summary: 'Credits a deposit as it was announced',
  description: 'A second credit changes nothing. A dropped deposit answers 409.',
  method: 'POST',
  path: '/deposits/:reference/credit',
  rights: ['credit'],
  params: referenceRequest,
  body: reasonRequest,
  reply: depositSchema,
  codes: [
    ...OF_STEPS,
    'CAP_EXCEEDED',
    'APPROVAL_NEEDED',
    'APPROVAL_REFUSED',
    'SUPPLY_LIMIT',
    'SCALE_CHANGED',
  ],
  async run(services, { reference }, { act, key }) {
    const { duplicate } = await creditDeposit(services, reference, act, key);
    return { reply: await findDeposit(services, reference), isNew: !duplicate };
  },
  verbs: [stepVerb('deposit', 'credit', 'credit an announced deposit, which has arrived', answer)],
});

const postDrop = operation({
  id: 'dropDeposit',
  tag: 'Money',
  summary: 'Drops an announced deposit that never arrives',
  description: 'A second drop changes nothing. A credited deposit answers 409.',
  method: 'POST',
  path: '/deposits/:reference/drop',
  rights: ['credit'],
  params: referenceRequest,
  body: reasonRequest,
  reply: depositSchema,
  codes: OF_STEPS,
  async run(services, { reference }, { act }) {
    const { duplicate } = await dropDeposit(services, reference, act);
    return { reply: await findDeposit(services, reference), isNew: !duplicate };
  },
  verbs: [
    {
      ...stepVerb('deposit', 'drop', 'end an announced deposit that never arrives', answer),
      needsReason: true,
    },
  ],
});

const getDeposit = operation({
  id: 'getDeposit',
  tag: 'Money',
  summary: 'Returns a deposit that was announced, and its state',
  method: 'GET',
  path: '/deposits/:reference',
  rights: ['read', 'credit'],
  params: referenceRequest,
  reply: depositSchema,
  codes: ['UNKNOWN_DEPOSIT'],
  run: async (services, { reference }) => ({ reply: await findDeposit(services, reference) }),
  verbs: [showVerb('deposit', 'show an announced deposit and its state', answer)],
});

/** Deposits that the command lists at once. */
const LISTED = 500;

const COLUMNS = [
  ...['REFERENCE', 'WALLET', 'ASSET'].map((title) => column(title)),
  column('AMOUNT', 'point'),
  column('ANNOUNCED'),
];

const getDeposits = operation({
  id: 'listDeposits',
  tag: 'Money',
  summary: 'Lists the deposits that are announced, and neither credited nor dropped',
  description: 'Waits until settlement has all that was answered before.',
  method: 'GET',
  path: '/deposits',
  rights: ['read', 'credit'],
  query: z.object({ limit, cursor: cursorText }),
  reply: z
    .strictObject({
      deposits: z.array(depositSchema.extend({ announcedAt: timestamp })).describe('oldest first'),
      nextCursor,
    })
    .register(replyNames, { id: 'Deposits' }),
  codes: ['SETTLEMENT_STALLED'],
  async run(services, { limit, cursor }) {
    const scope = { list: 'deposits' };
    const after = cursor === undefined ? 0 : readCursor(scope, cursor);
    // One deposit more than the page tells that another page follows.
    const found = await listAnnounced(services, after, limit + 1);
    const page = found.slice(0, limit);
    const nextCursor = found.length > limit ? writeCursor(scope, page.at(-1)!.sequence) : null;
    return { reply: { deposits: page.map(({ sequence: _, ...one }) => one), nextCursor } };
  },
  verbs: [
    {
      verb: 'list',
      describe: (command) =>
        command
          .option(
            '--after <sequence>',
            'only those after this one, by their `sequence` (--json)',
            readSequence,
            0,
          )
          .description(`list announced deposits, oldest first, at most ${LISTED} at once`),
      work:
        ({ after }: { after: number }) =>
        async (services) => {
          const deposits = await listAnnounced(services, after, LISTED);
          const rows = deposits.map((one) => [
            shown(one.reference),
            one.wallet,
            one.asset,
            one.amount,
            one.announcedAt,
          ]);
          return {
            document: { deposits },
            text: (paint) => renderTable(COLUMNS, rows, paint, '(no announced deposits)'),
          };
        },
    },
  ],
});

export const DEPOSIT: Noun = {
  name: 'deposit',
  description: 'manage deposits that custody announces before they are final',
  parts: [postDeposit, postCredit, postDrop, getDeposit, getDeposits],
};
