/** Books deposits and withdrawals that leave at once, and finds them by their reference. */

import type { Command } from 'commander';
import { z } from 'zod';
import { type BookedMovement, bookMovements } from '../../books/book-movements.ts';
import { type AskedMovement, findMovement } from '../../books/movements.ts';
import { scaleFinder } from '../../books/withdrawals.ts';
import { checked } from '../../contract/checked.ts';
import { positiveAmount } from '../../contract/decimals.ts';
import { oneOf, optional, text } from '../../contract/fields.ts';
import {
  anyCode,
  inLowerCase,
  reason,
  receivable,
  reference,
  referenceRequest,
} from '../../contract/operator.ts';
import { assetSymbol, decimalText, wallet } from '../../contract/values.ts';
import type { Plain } from '../../contract/written.ts';
import type { Act } from '../../domain/act.ts';
import { isReported, type OperatorCode, Refusal } from '../../domain/errors.ts';
import { type AccountMoved, MOVEMENT_SIDES, type MovementKind } from '../../domain/event.ts';
import type { OperatorKey } from '../../domain/operator-rights.ts';
import { shown } from '../../domain/text.ts';
import { type Decimal, formatScaled } from '../../domain/units.ts';
import { EventRefused } from '../../engine/index.ts';
import { type ActOptions, actOf } from '../act-options.ts';
import { AMOUNT, ASSET, readDecimal, readWallet, WALLET } from '../arguments.ts';
import { bookFile } from '../movement-file.ts';
import { operation, replyNames } from '../operation.ts';
import type { OperatorServices } from '../services.ts';
import { type CommandResult, shortResult, type WorkingVerb } from '../verb.ts';

const MAX_MOVEMENTS = 64;

/** Movements as operators name them: the kind that the engine books, and the right of keys. */
export const KINDS = {
  deposit: { booked: 'credited', right: 'credit' },
  withdrawal: { booked: 'debited', right: 'debit' },
} as const;

/** Each movement is checked by itself, so that one that is wrong does not refuse the others. */
const movementRequest = z.strictObject({
  reference,
  kind: oneOf(MOVEMENT_SIDES),
  wallet: inLowerCase,
  asset: text,
  amount: positiveAmount,
  reverses: optional(reference).describe('reference of the movement that this corrects'),
  reason,
});

const movementsRequest = z
  .strictObject({
    movements: z
      .array(z.unknown(), 'must be a list')
      .min(1, `must have 1 to ${MAX_MOVEMENTS} movements`)
      .max(MAX_MOVEMENTS, `must have 1 to ${MAX_MOVEMENTS} movements`),
  })
  .meta({
    description: `1 to ${MAX_MOVEMENTS} movements, each with \`reference\`, \`kind\` (deposit or withdrawal), \`wallet\`, \`asset\`, \`amount\` and \`reason\`.`,
    examples: [
      {
        movements: [
          {
            reference: 'eip155:8453:0x5c50…:0',
            kind: 'deposit',
            wallet: '0x52908400098527886E0F7030069857D2E4169EE7',
            asset: 'USDC',
            amount: '1000.5',
            reason: 'confirmed on chain',
          },
        ],
      },
    ],
  });

const movement = z.strictObject({
  reference: z.string(),
  kind: z.enum(MOVEMENT_SIDES),
  wallet,
  asset: assetSymbol,
  amount: decimalText,
  receivable: receivable.optional(),
});

const movementResult = z
  .union([
    movement.extend({
      status: z.union([z.literal(200), z.literal(201)]).describe('200: it was booked before'),
    }),
    z.strictObject({ status: z.int().min(400).max(599), error: z.string().min(1), code: anyCode }),
  ])
  .meta({ description: 'A booked movement, or the reason why it was refused.' })
  .register(replyNames, { id: 'MovementResult' });

type Result = Plain<typeof movementResult>;
type ActedMovement = AskedMovement & { readonly act: Act };

/** @throws Refusal VALIDATION_ERROR | FORBIDDEN */
function askedMovement(
  { by, key }: { by: string; key: OperatorKey | undefined },
  sent: unknown,
): ActedMovement {
  const { kind, reverses, reason, ...given } = checked(movementRequest, sent);
  const { booked, right } = KINDS[kind];
  if (key?.rights.includes(right) === false) throw new Refusal('FORBIDDEN', `the key may not ${right}`);
  const movement = { ...given, kind: booked, act: { by, reason } };
  return reverses === undefined ? movement : { ...movement, reverses };
}

const replied = ({
  reference,
  kind,
  wallet,
  asset,
  amount,
  receivable,
}: Pick<AccountMoved, 'reference' | 'kind' | 'wallet' | 'asset'> &
  Pick<BookedMovement, 'amount' | 'receivable'>) => ({
  reference,
  kind: kindOf(kind),
  wallet,
  asset,
  amount,
  ...(receivable !== '0' && { receivable }),
});

const kindOf = (booked: MovementKind): keyof typeof KINDS =>
  booked === 'credited' ? 'deposit' : 'withdrawal';

function failed(report: ((error: unknown) => void) | undefined, error: unknown): Result {
  const reported = isReported(error) ? error : new Refusal('INTERNAL_ERROR');
  if (reported !== error) report?.(error);
  return { status: reported.status, error: reported.message, code: reported.code as OperatorCode };
}

const SIDES = {
  credited: {
    verb: 'credit',
    description: 'book a deposit; a reference counts only once',
    reverses: 'reference of the withdrawal that this corrects, of the same wallet and asset',
    sentence: (amount: string, wallet: string) => `credited ${amount} to ${wallet}`,
    owed: (amount: string) => `of which ${amount} paid what it owed`,
  },
  debited: {
    verb: 'debit',
    description: 'book a withdrawal from the available balance; a reference counts only once',
    reverses: 'reference of the deposit that this corrects, of the same wallet and asset',
    sentence: (amount: string, wallet: string) => `debited ${amount} from ${wallet}`,
    owed: (amount: string) => `of which it owes ${amount}`,
  },
} as const;

type MovementArguments = [
  wallet: string | undefined,
  asset: string | undefined,
  amount: Decimal | undefined,
  options: MovementOptions,
  command: Command,
];

interface MovementOptions extends ActOptions {
  reference?: string;
  reverses?: string;
  file?: string;
}

const MOVEMENT_HELP = `
If the outcome is unknown, repeat the command with the same reference.
A line of a file is like {"reference": "…", "wallet": "0x…", "asset": "USDC", "amount": "12.5", "reason": "…"}; the reason
may be left out. Each line is answered by a line. The exit status is 1 if one of them was refused.`;

const movementVerb = (kind: keyof typeof SIDES): WorkingVerb => ({
  verb: SIDES[kind].verb,
  describe: (command) =>
    command
      .argument('[wallet]', WALLET, readWallet)
      .argument('[asset]', ASSET)
      .argument('[amount]', AMOUNT, readDecimal)
      .option('--reference <id>', 'unique reference of the movement')
      .option('--reverses <id>', SIDES[kind].reverses)
      .option('--file <path>', 'book lines of JSON instead; - reads the standard input')
      .addHelpText('after', MOVEMENT_HELP)
      .description(SIDES[kind].description),
  work(...[wallet, asset, amount, options, command]: MovementArguments) {
    const { file, reference, reverses } = options;
    if (file !== undefined) {
      if ([wallet, asset, amount, reference, reverses].some((word) => word !== undefined))
        command.error('error: with --file, the lines name the movements');
      return async (services, { terminal }) => {
        await bookFile(services, kind, file, actOf(options), terminal);
        return undefined;
      };
    }
    if (wallet === undefined || asset === undefined || amount === undefined || reference === undefined)
      return command.error('error: wallet, asset, amount and --reference are required without --file');
    if (reverses !== undefined && options.reason === undefined)
      return command.error('error: --reverses requires --reason');
    const asked = { reference, ...(reverses !== undefined && { reverses }), kind, wallet, asset };
    return (services) => move(services, { ...asked, amount, act: actOf(options) });
  },
});

async function move(
  services: OperatorServices,
  asked: ActedMovement & { readonly kind: keyof typeof SIDES },
): Promise<CommandResult> {
  const { act: _, ...movement } = asked;
  const { kind, wallet, asset, reference } = movement;
  const [booked] = await bookMovements(services, [asked]);
  if (booked!.status === 'rejected') throw ofUnknownOutcome(booked!.reason);
  const { amount, receivable, duplicate } = booked!.value;
  const sentence = SIDES[kind].sentence(`${amount} ${asset}`, wallet);
  const owed = receivable === '0' ? '' : `, ${SIDES[kind].owed(`${receivable} ${asset}`)}`;
  return shortResult(
    `${sentence}${owed} (reference ${shown(reference)})${duplicate ? ': already booked, nothing moved' : ''}`,
    { ...movement, amount, ...(receivable !== '0' && { receivable }), duplicate },
  );
}

/** Adds what to do to an error after which the movement may be booked. */
function ofUnknownOutcome(error: unknown): unknown {
  if (!(error instanceof Refusal) || error.code !== 'SERVICE_UNAVAILABLE') return error;
  if (error instanceof EventRefused) return error;
  return new Refusal(
    error.code,
    `${error.message}. The outcome is unknown: repeat the command with the same reference, which counts only once`,
    { cause: error },
  );
}

export const postMovements = operation({
  id: 'bookMovements',
  tag: 'Money',
  summary: 'Books deposits and withdrawals',
  description:
    'A withdrawal that `reverses` a deposit goes through on a held wallet: the wallet owes what is not available, and withdraws nothing until deposits have paid it. Several may reverse one movement, up to its amount. Each movement is answered by itself: 201 if it is new, 200 if it was booked before, 409 if its reference was used for another one. After a lost answer, send the same movements again.',
  method: 'POST',
  path: '/movements',
  rights: ['credit', 'debit'],
  body: movementsRequest,
  usualReason: 'each movement has its own',
  reply: z.strictObject({ results: z.array(movementResult) }).register(replyNames, { id: 'MovementResults' }),
  async run(services, { movements }, { act: { by }, key, report }) {
    const asked = await Promise.allSettled(movements.map(async (sent) => askedMovement({ by, key }, sent)));
    const valid = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const booked = await bookMovements(services, valid, key);
    let next = 0;
    const results = asked.map((one): Result => {
      if (one.status === 'rejected') return failed(report, one.reason);
      const answer = booked[next++]!;
      if (answer.status === 'rejected') return failed(report, answer.reason);
      const { duplicate, ...moved } = answer.value;
      return { ...replied({ ...one.value, ...moved }), status: duplicate ? 200 : 201 };
    });
    return { reply: { results } };
  },
  verbs: [movementVerb('credited'), movementVerb('debited')],
});

export const getMovement = operation({
  id: 'findMovement',
  tag: 'Money',
  summary: 'Returns the movements that a reference stands for',
  description: 'A reference may stand for one deposit and one withdrawal.',
  method: 'GET',
  path: '/movements/:reference',
  rights: ['read', 'credit', 'debit'],
  params: referenceRequest,
  reply: z.strictObject({ movements: z.array(movement) }).register(replyNames, { id: 'Movements' }),
  codes: ['NOT_FOUND'],
  async run(services, { reference }) {
    const found = await Promise.all(
      Object.values(KINDS).map(({ booked }) => findMovement(services, booked, reference)),
    );
    // A withdrawal in two steps is found among the withdrawals.
    const movements = found.flatMap((one) =>
      one === null || one.kind === 'requested' || one.kind === 'dropped' ? [] : [one],
    );
    if (movements.length === 0) throw new Refusal('NOT_FOUND');
    const scaleOf = await scaleFinder(services);
    const shownMovements = movements.map((one) =>
      replied({
        ...one,
        amount: formatScaled(one.amountAtoms, scaleOf(one.asset)),
        receivable: formatScaled(one.owedAtoms ?? 0n, scaleOf(one.asset)),
      }),
    );
    return { reply: { movements: shownMovements } };
  },
});
