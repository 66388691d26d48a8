/** `/operator/v1/withdrawals`: requests withdrawals that custody pays later, confirms and returns them, lists them. */

import { bookMovements } from '../../books/movement-batch.ts';
import {
  endWithdrawal,
  findWithdrawal,
  listWithdrawals,
  type WithdrawalEnd,
} from '../../books/withdrawals.ts';
import {
  confirmRequest,
  reasonRequest,
  referenceRequest,
  withdrawalRequest,
  withdrawalSchema,
  withdrawalsRequest,
  withdrawalsSchema,
} from '../../contract/operator.ts';
import type { ErrorCode, OperatorCode } from '../../domain/errors.ts';
import { readCursor, writeCursor } from '../../history/list-cursor.ts';
import { checked } from '../checked.ts';
import { actBy, type OperatorCall, operatorRoute } from './route.ts';

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

export const postWithdrawal = operatorRoute({
  method: 'POST',
  path: '/withdrawals',
  rights: ['debit'],
  id: 'requestWithdrawal',
  tag: 'Money',
  summary: 'Requests a withdrawal that custody pays later',
  description:
    'The amount leaves the wallet at once, and is pending until the withdrawal is confirmed or returned. 201 if it is new, 200 if it was requested before, 409 if its reference was used for another withdrawal. A custody hold that follows leaves it pending.',
  reply: withdrawalSchema,
  mayCreate: true,
  codes: OF_REQUESTS,
  request: withdrawalRequest,
  readsBody: true,
  async handle({ services, key, body }, write) {
    const { reason, ...asked } = checked(withdrawalRequest, body);
    const movement = { ...asked, kind: 'requested', act: actBy(key, reason) } as const;
    const [booked] = await bookMovements(services, [movement], key);
    services.wakeSettlement();
    if (booked!.status === 'rejected') throw booked!.reason;
    const status = booked!.value.duplicate ? 200 : 201;
    return write.json(await findWithdrawal(services, asked.reference), status);
  },
});

async function end(call: OperatorCall, reference: string, how: WithdrawalEnd, reason: string) {
  const { services, key } = call;
  await endWithdrawal(services, reference, how, actBy(key, reason));
  services.wakeSettlement();
  return findWithdrawal(services, reference);
}

export const postConfirm = operatorRoute({
  method: 'POST',
  path: '/withdrawals/:reference/confirm',
  rights: ['debit'],
  id: 'confirmWithdrawal',
  tag: 'Money',
  summary: 'Confirms that a transaction paid a withdrawal',
  description:
    'The same transaction again changes nothing. Another one, or a returned withdrawal, answers 409.',
  parameters: { reference: referenceRequest.shape.reference },
  reply: withdrawalSchema,
  codes: OF_ENDS,
  request: confirmRequest,
  readsBody: true,
  async handle(call, write) {
    const { reference } = checked(referenceRequest, call.params);
    const { txid, reason = 'paid' } = checked(confirmRequest, call.body);
    return write.json(await end(call, reference, { kind: 'confirmed', txid }, reason));
  },
});

export const postReturn = operatorRoute({
  method: 'POST',
  path: '/withdrawals/:reference/return',
  rights: ['debit'],
  id: 'returnWithdrawal',
  tag: 'Money',
  summary: 'Returns the amount of a withdrawal that was not paid',
  description: 'A second return changes nothing. A confirmed withdrawal answers 409.',
  parameters: { reference: referenceRequest.shape.reference },
  reply: withdrawalSchema,
  codes: OF_ENDS,
  request: reasonRequest,
  readsBody: true,
  async handle(call, write) {
    const { reference } = checked(referenceRequest, call.params);
    const { reason } = checked(reasonRequest, call.body);
    return write.json(await end(call, reference, { kind: 'returned' }, reason));
  },
});

export const getWithdrawal = operatorRoute({
  method: 'GET',
  path: '/withdrawals/:reference',
  rights: ['read', 'debit'],
  id: 'getWithdrawal',
  tag: 'Money',
  summary: 'Returns a withdrawal and its state',
  reply: withdrawalSchema,
  codes: ['UNKNOWN_WITHDRAWAL'],
  request: referenceRequest,
  handle: async ({ services, params }, write) =>
    write.json(await findWithdrawal(services, checked(referenceRequest, params).reference)),
});

export const getWithdrawals = operatorRoute({
  method: 'GET',
  path: '/withdrawals',
  rights: ['read', 'debit'],
  id: 'listWithdrawals',
  tag: 'Money',
  summary: 'Lists withdrawals of a state, in the order in which they came into it',
  description: 'Waits until settlement has all that was answered before.',
  reply: withdrawalsSchema,
  codes: ['SETTLEMENT_STALLED'],
  request: withdrawalsRequest,
  async handle({ services, query }, write) {
    const { state, limit, cursor } = checked(withdrawalsRequest, query);
    const scope = { list: 'withdrawals', state };
    const after = cursor === undefined ? 0 : readCursor(scope, cursor);
    // One withdrawal more than the page tells that another page follows.
    const found = await listWithdrawals(services, state, after, limit + 1);
    const page = found.slice(0, limit);
    const nextCursor = found.length > limit ? writeCursor(scope, page.at(-1)!.sequence) : null;
    const withdrawals = page.map(({ sequence: _, ...one }) => one);
    return write.json({ withdrawals, nextCursor });
  },
});
