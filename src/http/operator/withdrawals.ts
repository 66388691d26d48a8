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
  type withdrawalSchema,
  withdrawalsRequest,
  type withdrawalsSchema,
} from '../../contract/operator.ts';
import { readCursor, writeCursor } from '../../history/list-cursor.ts';
import { checked } from '../checked.ts';
import { json, type Reply } from '../replies/reply.ts';
import { actBy, type OperatorCall, type OperatorEndpoint } from './services.ts';

const show = async ({ services }: OperatorCall, reference: string, status = 200): Promise<Reply> => ({
  ...json<typeof withdrawalSchema>(await findWithdrawal(services, reference)),
  status,
});

export const postWithdrawal: OperatorEndpoint = {
  request: withdrawalRequest,
  readsBody: true,
  async handle(call) {
    const { services, key, body } = call;
    const { reason, ...asked } = checked(withdrawalRequest, body);
    const movement = { ...asked, kind: 'requested', act: actBy(key, reason) } as const;
    const [booked] = await bookMovements(services, [movement], key);
    services.wakeSettlement();
    if (booked!.status === 'rejected') throw booked!.reason;
    return show(call, asked.reference, booked!.value.duplicate ? 200 : 201);
  },
};

async function end(call: OperatorCall, reference: string, how: WithdrawalEnd, reason: string) {
  const { services, key } = call;
  await endWithdrawal(services, reference, how, actBy(key, reason));
  services.wakeSettlement();
  return show(call, reference);
}

export const postConfirm: OperatorEndpoint = {
  request: confirmRequest,
  readsBody: true,
  handle(call) {
    const { reference } = checked(referenceRequest, call.params);
    const { txid, reason = 'paid' } = checked(confirmRequest, call.body);
    return end(call, reference, { kind: 'confirmed', txid }, reason);
  },
};

export const postReturn: OperatorEndpoint = {
  request: reasonRequest,
  readsBody: true,
  handle(call) {
    const { reference } = checked(referenceRequest, call.params);
    return end(call, reference, { kind: 'returned' }, checked(reasonRequest, call.body).reason);
  },
};

export const getWithdrawal: OperatorEndpoint = {
  request: referenceRequest,
  handle: (call) => show(call, checked(referenceRequest, call.params).reference),
};

export const getWithdrawals: OperatorEndpoint = {
  request: withdrawalsRequest,
  async handle({ services, query }) {
    const { state, limit, cursor } = checked(withdrawalsRequest, query);
    const scope = { list: 'withdrawals', state };
    const after = cursor === undefined ? 0 : readCursor(scope, cursor);
    // One withdrawal more than the page tells that another page follows.
    const found = await listWithdrawals(services, state, after, limit + 1);
    const page = found.slice(0, limit);
    const nextCursor = found.length > limit ? writeCursor(scope, page.at(-1)!.sequence) : null;
    const withdrawals = page.map(({ sequence: _, ...one }) => one);
    return json<typeof withdrawalsSchema>({ withdrawals, nextCursor });
  },
};
