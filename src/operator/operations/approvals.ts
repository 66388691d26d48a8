/** Lists, approves and refuses movements that a key may not make alone. */

import type { Command } from 'commander';
import { Option } from 'commander';
import { z } from 'zod';
import { bookMovements } from '../../books/book-movements.ts';
import { decideMovement } from '../../books/two-persons.ts';
import { cursorText, nextCursor } from '../../contract/cursor.ts';
import { oneOf } from '../../contract/fields.ts';
import { readCursor, writeCursor } from '../../contract/list-cursor.ts';
import { limit, order, reason, referenceRequest } from '../../contract/operator.ts';
import { moment } from '../../contract/requests.ts';
import { assetSymbol, decimalText, timestamp, wallet } from '../../contract/values.ts';
import type { Act } from '../../domain/act.ts';
import { type OperatorCode, Refusal } from '../../domain/errors.ts';
import { MOVEMENT_SIDES, type MovementSide } from '../../domain/event.ts';
import type { OperatorKey } from '../../domain/operator-rights.ts';
import { shown } from '../../domain/text.ts';
import { formatScaled, parseDecimal } from '../../domain/units.ts';
import type { WaitingMovement } from '../../ledger/index.ts';
import { isoTime } from '../../statements/amounts.ts';
import { column, renderTable } from '../../terminal/table.ts';
import { readSequence, readTimeMs } from '../arguments.ts';
import { type Noun, type OperationServices, operation, replyNames } from '../operation.ts';
import { shortResult } from '../verb.ts';
import { KINDS } from './movements.ts';

const waitingSchema = z
  .strictObject({
    kind: z.enum(MOVEMENT_SIDES),
    reference: z.string(),
    wallet,
    asset: assetSymbol,
    amount: decimalText,
    reverses: z.string().nullable().describe('reference of the movement that this corrects'),
    key: z.string().describe('key that asked for it'),
    reason: z.string(),
    state: z.enum(['waiting', 'approved', 'refused']),
    askedAt: timestamp,
    expiresAt: timestamp.describe('later nobody can approve it'),
  })
  .register(replyNames, { id: 'WaitingMovement' });

const told = ({ side, movement, ...rest }: WaitingMovement) => ({
  kind: side,
  reference: movement.reference,
  wallet: movement.wallet,
  asset: movement.asset,
  amount: formatScaled(movement.amountAtoms, rest.scale),
  reverses: movement.reverses ?? null,
  key: rest.key,
  reason: rest.reason,
  state: rest.state,
  askedAt: isoTime(rest.askedAtMs),
  expiresAt: isoTime(rest.expiresAtMs),
});

const decisionRequest = z.strictObject({
  kind: oneOf(MOVEMENT_SIDES),
  askedAt: moment.meta({
    description: '`askedAt` of the movement as it was listed: one that took its place since is not decided',
    examples: ['2026-01-31T12:00:00.123Z'],
  }),
  reason,
});
const CODES: readonly OperatorCode[] = ['NOT_WAITING', 'APPROVAL_REFUSED', 'REFERENCE_CONFLICT'];
const OF_MOVEMENTS: readonly OperatorCode[] = [...CODES, 'CAP_EXCEEDED', 'ALREADY_REVERSED', 'SCALE_CHANGED'];

interface Asked {
  readonly reference: string;
  readonly kind: MovementSide;
  readonly askedAt: number;
}

async function decide(
  services: OperationServices,
  { reference, kind, askedAt }: Asked,
  isApproved: boolean,
  { act, key }: { readonly act: Act; readonly key?: OperatorKey },
): Promise<WaitingMovement> {
  // A key decides movements that it may make.
  const { right } = KINDS[kind];
  if (key?.rights.includes(right) === false) throw new Refusal('FORBIDDEN', `the key may not ${right}`);
  return decideMovement(services, { side: kind, reference, askedAtMs: askedAt, isApproved }, act);
}

/** Books a movement in the name of the key that asked for it, which may be revoked since. */
async function bookApproved(services: OperationServices, approved: WaitingMovement): Promise<void> {
  const { movement, scale, reason } = approved;
  const key = (await services.ledger.keys.all()).find(({ name }) => name === approved.key);
  if (key === undefined || key.revokedAtMs !== null)
    throw new Refusal('FORBIDDEN', `the key ${approved.key}, which asked for it, is revoked`);
  const { amountAtoms, ...asked } = movement;
  const amount = parseDecimal(formatScaled(amountAtoms, scale))!;
  const [booked] = await bookMovements(services, [{ ...asked, amount, act: { by: key.name, reason } }], key);
  if (booked!.status === 'rejected') throw booked!.reason;
}

const decisionVerb = (verb: string, sentence: string, description: string) => ({
  verb,
  needsReason: true as const,
  describe: (command: Command) =>
    command
      .argument('<reference>', 'reference of the movement')
      .addOption(
        new Option('--kind <kind>', 'a reference may be that of one of each')
          .choices(MOVEMENT_SIDES)
          .makeOptionMandatory(),
      )
      .requiredOption('--asked-at <time>', 'when it was asked for, as the list shows it', readTimeMs)
      .description(description),
  input: (reference: string, { kind, askedAt }: Omit<Asked, 'reference'>) => ({ reference, kind, askedAt }),
  answer: ({ reply }: { reply: z.infer<typeof waitingSchema> }) => {
    const { kind, reference, amount, asset, wallet } = reply;
    return shortResult(
      `the ${kind} ${shown(reference)} of ${amount} ${asset} for ${wallet} ${sentence}`,
      reply,
    );
  },
});

export const postApprove = operation({
  id: 'approveMovement',
  tag: 'Money',
  summary: 'Approves a movement that another key may not make alone, and books it',
  description:
    'The movement is booked in the name of the key that asked for it, within the caps of that key. If it is refused then, for example because the funds are gone, the approval stands until it expires: repeat it, or the request. After a lost answer, send the same approval again.',
  method: 'POST',
  path: '/approvals/:reference/approve',
  rights: ['credit', 'debit'],
  params: referenceRequest,
  body: decisionRequest,
  reply: waitingSchema,
  codes: [...OF_MOVEMENTS, 'INVALID_AMOUNT', 'INSUFFICIENT_BALANCE', 'CUSTODY_HOLD', 'RECEIVABLE_OPEN'],
  async run(services, asked, asking) {
    const approved = await decide(services, asked, true, asking);
    await bookApproved(services, approved);
    return { reply: told(approved) };
  },
  verbs: [decisionVerb('approve', 'is approved and booked', 'approve a movement that waits, and book it')],
});

export const postRefuse = operation({
  id: 'refuseMovement',
  tag: 'Money',
  summary: 'Refuses a movement that another key may not make alone',
  description:
    'No key then books this movement where it needs an approval. Another wallet or amount under the reference waits anew. The same refusal again changes nothing.',
  method: 'POST',
  path: '/approvals/:reference/refuse',
  rights: ['credit', 'debit'],
  params: referenceRequest,
  body: decisionRequest,
  reply: waitingSchema,
  codes: CODES,
  async run(services, asked, asking) {
    const refused = await decide(services, asked, false, asking);
    return { reply: told(refused) };
  },
  verbs: [decisionVerb('refuse', 'is refused', 'refuse a movement that waits')],
});

/** Movements that the command lists at once. */
const LISTED = 500;

const COLUMNS = ['KIND', 'REFERENCE', 'WALLET', 'ASSET', 'AMOUNT', 'KEY', 'REASON', 'ASKED', 'EXPIRES'].map(
  (title) => column(title),
);

const rowOf = (one: ReturnType<typeof told>): string[] => [
  one.kind,
  shown(one.reference),
  one.wallet,
  one.asset,
  one.amount,
  one.key,
  shown(one.reason),
  one.askedAt,
  one.expiresAt,
];

export const getApprovals = operation({
  id: 'listWaitingMovements',
  tag: 'Money',
  summary: 'Lists the movements that wait for the approval of another key',
  description: 'They are listed in the order in which they were asked for.',
  method: 'GET',
  path: '/approvals',
  rights: ['read', 'credit', 'debit'],
  query: z.object({ order, limit, cursor: cursorText }),
  reply: z
    .strictObject({
      movements: z.array(waitingSchema).describe('in the order that was asked for'),
      nextCursor,
    })
    .register(replyNames, { id: 'WaitingMovements' }),
  async run({ ledger }, { order, limit, cursor }) {
    const scope = { list: 'approvals', order };
    const after = cursor === undefined ? undefined : readCursor(scope, cursor);
    // One movement more than the page tells that another page follows.
    const found = await ledger.waiting.list(limit + 1, order, after);
    const page = found.slice(0, limit);
    const next = found.length > limit ? page.at(-1)!.number : null;
    return { reply: { movements: page.map(told), nextCursor: writeCursor(scope, next) } };
  },
  verbs: [
    {
      verb: 'list',
      describe: (command) =>
        command
          .option(
            '--after <number>',
            'only those after this one, by their `number` (--json)',
            readSequence,
            0,
          )
          .description(`list the movements that wait, the oldest first, at most ${LISTED} at once`),
      work:
        ({ after }: { after: number }) =>
        async ({ ledger }) => {
          const waiting = await ledger.waiting.list(LISTED, 'asc', after);
          return {
            document: { movements: waiting.map((one) => ({ ...told(one), number: one.number })) },
            text: (paint) =>
              renderTable(
                COLUMNS,
                waiting.map((one) => rowOf(told(one))),
                paint,
                '(no movement waits)',
              ),
          };
        },
    },
  ],
});

export const APPROVAL: Noun = {
  name: 'approval',
  description: 'decide movements that a key may not make alone',
  parts: [getApprovals, postApprove, postRefuse],
};
