/** `/operator/v1/trading`, `/terms`, `/status`, `/reconcile`, `/closings` and `/acts`: switches of the whole service, and its state. */

import { closeMonth } from '../../books/closing.ts';
import { reconciledDocument } from '../../books/status.ts';
import {
  actsRequest,
  actsSchema,
  closedMonthSchema,
  closeMonthRequest,
  reconcileResultsSchema,
} from '../../contract/operator.ts';
import { Refusal } from '../../domain/errors.ts';
import { readCursor, writeCursor } from '../../history/list-cursor.ts';
import { actsReport } from '../../statements/acts.ts';
import { closingDocument } from '../../statements/books.ts';
import { checked } from '../checked.ts';
import { actBy, operatorRoute } from './route.ts';

export const getReconcile = operatorRoute({
  method: 'GET',
  path: '/reconcile',
  rights: ['read'],
  id: 'getLastReconcile',
  tag: 'Service',
  summary: 'Returns the last reconcile, and each of its checks with its result',
  reply: reconcileResultsSchema,
  codes: ['NOT_FOUND'],
  async handle({ services }, write) {
    const last = await services.ledger.checks.lastResults();
    if (last === null) throw new Refusal('NOT_FOUND', 'the books were never reconciled');
    return write.json(reconciledDocument(last));
  },
});

/** Longest time that settlement may stand still before a closing is given up. */
const CLOSING_PATIENCE_MS = 5_000;

export const postClosing = operatorRoute({
  method: 'POST',
  path: '/closings',
  rights: ['market'],
  id: 'closeMonth',
  tag: 'Finance',
  summary: 'Keeps the balances of all accounts at the end of a month',
  description:
    '201 if the month is closed now, 200 if it was closed before: nothing changes then. After a lost answer, send the same request again.',
  reply: closedMonthSchema,
  mayCreate: true,
  codes: ['MONTH_NOT_OVER', 'SETTLEMENT_STALLED'],
  request: closeMonthRequest,
  readsBody: true,
  async handle({ services, key, body }, write) {
    const { month, reason } = checked(closeMonthRequest, body);
    const { isNew, ...closing } = await closeMonth(services, month, CLOSING_PATIENCE_MS, actBy(key, reason));
    services.wakeSettlement();
    return {
      ...write.json({ ...closingDocument(closing), isNew }),
      status: isNew ? 201 : 200,
    };
  },
});

/** Lists acts in the order of their events. */
export const getActs = operatorRoute({
  method: 'GET',
  path: '/acts',
  rights: ['read'],
  id: 'listActs',
  tag: 'Service',
  summary: 'Lists what operators and keys changed, oldest first',
  reply: actsSchema,
  request: actsRequest,
  async handle({ services, query }, write) {
    const { since: sinceMs, limit, cursor, ...filter } = checked(actsRequest, query);
    const scope = { list: 'acts', since: `${sinceMs}`, ...filter };
    const after = cursor === undefined ? 0 : readCursor(scope, cursor);
    const { columns, rows } = await actsReport(services.ledger, { ...filter, sinceMs, after });
    const acts: string[] = [];
    let last = after;
    for await (const cells of rows) {
      // One act more than the page tells that another page follows.
      if (acts.length === limit) return write.page('acts', acts, writeCursor(scope, last));
      last = Number(cells[EVENT_AT]);
      acts.push(JSON.stringify(Object.fromEntries(columns.map(({ name }, at) => [name, cells[at] ?? null]))));
    }
    return write.page('acts', acts, null);
  },
});

/** Column of the event of an act. */
const EVENT_AT = 1;
