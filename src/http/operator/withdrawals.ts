/** `/operator/v1/withdrawals`: requests withdrawals that custody pays later, confirms and returns them, lists them. */

import { listWithdrawals } from '../../books/withdrawals.ts';
import { withdrawalsRequest, withdrawalsSchema } from '../../contract/operator.ts';
import { readCursor, writeCursor } from '../../history/list-cursor.ts';
import { checked } from '../checked.ts';
import { operatorRoute } from './route.ts';

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
