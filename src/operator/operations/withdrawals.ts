/** Requests, confirms, returns and shows withdrawals that custody pays later. */

import { bookMovements } from '../../books/movement-batch.ts';
import { moveFundsOnce, scaledMovement } from '../../books/movements.ts';
import { endWithdrawal, findWithdrawal } from '../../books/withdrawals.ts';
import {
  confirmRequest,
  reasonRequest,
  referenceRequest,
  withdrawalRequest,
  withdrawalSchema,
} from '../../contract/operator.ts';
import type { Plain } from '../../contract/written.ts';
import type { ErrorCode, OperatorCode } from '../../domain/errors.ts';
import type { Decimal } from '../../domain/units.ts';
import { shown } from '../../terminal/table.ts';
import { readDecimal, readWallet, WALLET } from '../arguments.ts';
import { operation } from '../operation.ts';
import { type CommandResult, shortResult } from '../verb.ts';

const REFERENCE = 'reference of the withdrawal';
const REPEAT = '\nIf the outcome is unknown, repeat the command: it counts only once.';

const OF_ENDS: readonly OperatorCode[] = ['UNKNOWN_WITHDRAWAL', 'REFERENCE_CONFLICT'];
const OF_REQUESTS: readonly (ErrorCode | OperatorCode)[] = [
  'INVALID_AMOUNT',
  'INVALID_REFERENCE',
  'UNKNOWN_ASSET',
  'INSUFFICIENT_BALANCE',
  'CUSTODY_HOLD',
  'CAP_EXCEEDED',
  'REFERENCE_CONFLICT',
  'SCALE_CHANGED',
];

/** A withdrawal as it is now. */
interface Told {
  readonly reply: Plain<typeof withdrawalSchema>;
  readonly isNew?: boolean | undefined;
}

function answer({ reply, isNew = true }: Told): CommandResult {
  const { reference, wallet, asset, amount, state, txid } = reply;
  const paid = txid === null ? '' : ` by ${shown(txid)}`;
  const earlier = isNew ? '' : ': known already, nothing moved';
  return shortResult(
    `withdrawal ${shown(reference)} of ${amount} ${asset} for ${wallet} is ${state}${paid}${earlier}`,
    { ...reply, duplicate: !isNew },
  );
}

export const requestWithdrawal = operation({
  id: 'requestWithdrawal',
  tag: 'Money',
  summary: 'Requests a withdrawal that custody pays later',
  description:
    'The amount leaves the wallet at once, and is pending until the withdrawal is confirmed or returned. 201 if it is new, 200 if it was requested before, 409 if its reference was used for another withdrawal. A custody hold that follows leaves it pending.',
  method: 'POST',
  path: '/withdrawals',
  rights: ['debit'],
  body: withdrawalRequest,
  reply: withdrawalSchema,
  mayCreate: true,
  codes: OF_REQUESTS,
  async run(services, asked, { act, key }) {
    const movement = { ...asked, kind: 'requested', act } as const;
    const isNew =
      key === undefined ? await moved(services, movement) : await bookedBy(services, movement, key);
    return { reply: await findWithdrawal(services, asked.reference), isNew };
  },
  verbs: [
    {
      verb: 'request',
      describe: (command) =>
        command
          .argument('<wallet>', WALLET, readWallet)
          .argument('<asset>', 'asset symbol, like USDC')
          .argument('<amount>', 'decimal amount, at most as fine as the atom of the asset', readDecimal)
          .requiredOption('--reference <id>', 'unique reference of the withdrawal')
          .addHelpText('after', REPEAT)
          .description(
            'take an amount from the available balance; it is pending until it is confirmed or returned',
          ),
      input: (wallet: string, asset: string, amount: Decimal, { reference }: { reference: string }) => ({
        wallet,
        asset,
        amount,
        reference,
      }),
      answer,
    },
  ],
});

type AskedWithdrawal = Parameters<typeof bookMovements>[1][number];

/** @returns false if it was requested before */
async function moved(
  services: Parameters<typeof moveFundsOnce>[0],
  { act, ...asked }: AskedWithdrawal,
): Promise<boolean> {
  const { scale, ...movement } = await scaledMovement(services.engine, asked);
  const { duplicate } = await moveFundsOnce(services, movement, scale, act);
  return !duplicate;
}

/** Requests a withdrawal within the cap of a key. @returns false if it was requested before */
async function bookedBy(
  services: Parameters<typeof bookMovements>[0],
  asked: AskedWithdrawal,
  key: Parameters<typeof bookMovements>[2],
): Promise<boolean> {
  const [booked] = await bookMovements(services, [asked], key);
  if (booked!.status === 'rejected') throw booked!.reason;
  return !booked!.value.duplicate;
}

export const confirmWithdrawal = operation({
  id: 'confirmWithdrawal',
  tag: 'Money',
  summary: 'Confirms that a transaction paid a withdrawal',
  description:
    'The same transaction again changes nothing. Another one, or a returned withdrawal, answers 409.',
  method: 'POST',
  path: '/withdrawals/:reference/confirm',
  rights: ['debit'],
  params: referenceRequest,
  body: confirmRequest,
  usualReason: 'paid',
  reply: withdrawalSchema,
  codes: OF_ENDS,
  async run(services, { reference, txid }, { act }) {
    const { duplicate } = await endWithdrawal(services, reference, { kind: 'confirmed', txid }, act);
    return { reply: await findWithdrawal(services, reference), isNew: !duplicate };
  },
  verbs: [
    {
      verb: 'confirm',
      describe: (command) =>
        command
          .argument('<reference>', REFERENCE)
          .requiredOption('--txid <id>', 'transaction that paid the withdrawal')
          .addHelpText('after', REPEAT)
          .description('confirm that a transaction paid a withdrawal'),
      input: (reference: string, { txid }: { txid: string }) => ({ reference, txid }),
      answer,
    },
  ],
});

export const returnWithdrawal = operation({
  id: 'returnWithdrawal',
  tag: 'Money',
  summary: 'Returns the amount of a withdrawal that was not paid',
  description: 'A second return changes nothing. A confirmed withdrawal answers 409.',
  method: 'POST',
  path: '/withdrawals/:reference/return',
  rights: ['debit'],
  params: referenceRequest,
  body: reasonRequest,
  reply: withdrawalSchema,
  codes: OF_ENDS,
  async run(services, { reference }, { act }) {
    const { duplicate } = await endWithdrawal(services, reference, { kind: 'returned' }, act);
    return { reply: await findWithdrawal(services, reference), isNew: !duplicate };
  },
  verbs: [
    {
      verb: 'return',
      describe: (command) =>
        command
          .argument('<reference>', REFERENCE)
          .addHelpText('after', REPEAT)
          .description('give the amount of a withdrawal back to the wallet'),
      input: (reference: string) => ({ reference }),
      answer,
    },
  ],
});

export const getWithdrawal = operation({
  id: 'getWithdrawal',
  tag: 'Money',
  summary: 'Returns a withdrawal and its state',
  method: 'GET',
  path: '/withdrawals/:reference',
  rights: ['read', 'debit'],
  params: referenceRequest,
  reply: withdrawalSchema,
  codes: ['UNKNOWN_WITHDRAWAL'],
  run: async (services, { reference }) => ({ reply: await findWithdrawal(services, reference) }),
  verbs: [
    {
      verb: 'show',
      describe: (command) =>
        command.argument('<reference>', REFERENCE).description('show a withdrawal and its state'),
      input: (reference: string) => ({ reference }),
      answer,
    },
  ],
});
