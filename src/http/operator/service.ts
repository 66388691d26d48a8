/** `/operator/v1/trading`, `/terms`, `/status`, `/reconcile`, `/closings` and `/acts`: switches of the whole service, and its state. */

import { closeMonth } from '../../books/closing.ts';
import { readStatus, reconciledDocument } from '../../books/status.ts';
import {
  actsRequest,
  type actsSchema,
  type closedMonthSchema,
  closeMonthRequest,
  type closingsSchema,
  reasonRequest,
  type reconcileResultsSchema,
  type requiredTermsSchema,
  requireTermsRequest,
  type serviceStatusSchema,
  type tradingSchema,
} from '../../contract/operator.ts';
import { Refusal } from '../../domain/errors.ts';
import { readCursor, writeCursor } from '../../history/list-cursor.ts';
import { actsReport } from '../../statements/acts.ts';
import { closingDocument } from '../../statements/books.ts';
import { checked } from '../checked.ts';
import { json, jsonPage } from '../replies/reply.ts';
import { actBy, type OperatorEndpoint } from './services.ts';

const switchTrading = (paused: boolean): OperatorEndpoint => ({
  request: reasonRequest,
  readsBody: true,
  async handle({ services, key, body }) {
    const act = actBy(key, checked(reasonRequest, body).reason);
    const { switches } = services.engine;
    await (paused ? switches.pause(act) : switches.resume(act));
    services.wakeSettlement();
    return json<typeof tradingSchema>({ paused });
  },
});

export const postPause = switchTrading(true);
export const postResume = switchTrading(false);

export const postTerms: OperatorEndpoint = {
  request: requireTermsRequest,
  readsBody: true,
  async handle({ services, key, body }) {
    const { version, reason } = checked(requireTermsRequest, body);
    await services.engine.switches.requireTerms(version, actBy(key, reason));
    services.wakeSettlement();
    return json<typeof requiredTermsSchema>({ requiredVersion: version });
  },
};

export const getStatus: OperatorEndpoint = {
  async handle({ services }) {
    return json<typeof serviceStatusSchema>(await readStatus(services));
  },
};

export const getReconcile: OperatorEndpoint = {
  async handle({ services }) {
    const last = await services.ledger.checks.lastResults();
    if (last === null) throw new Refusal('NOT_FOUND', 'the books were never reconciled');
    return json<typeof reconcileResultsSchema>(reconciledDocument(last));
  },
};

export const getClosings: OperatorEndpoint = {
  async handle({ services }) {
    const closings = await services.ledger.balances.closings();
    return json<typeof closingsSchema>({ closings: closings.map(closingDocument) });
  },
};

/** Longest time that settlement may stand still before a closing is given up. */
const CLOSING_PATIENCE_MS = 5_000;

export const postClosing: OperatorEndpoint = {
  request: closeMonthRequest,
  readsBody: true,
  async handle({ services, key, body }) {
    const { month, reason } = checked(closeMonthRequest, body);
    const { isNew, ...closing } = await closeMonth(services, month, CLOSING_PATIENCE_MS, actBy(key, reason));
    services.wakeSettlement();
    return {
      ...json<typeof closedMonthSchema>({ ...closingDocument(closing), isNew }),
      status: isNew ? 201 : 200,
    };
  },
};

/** Lists acts in the order of their events. */
export const getActs: OperatorEndpoint = {
  request: actsRequest,
  async handle({ services, query }) {
    const { since: sinceMs, limit, cursor, ...filter } = checked(actsRequest, query);
    const scope = { list: 'acts', since: `${sinceMs}`, ...filter };
    const after = cursor === undefined ? 0 : readCursor(scope, cursor);
    const { columns, rows } = await actsReport(services.ledger, { ...filter, sinceMs, after });
    const acts: string[] = [];
    let last = after;
    for await (const cells of rows) {
      // One act more than the page tells that another page follows.
      if (acts.length === limit) return jsonPage<typeof actsSchema>('acts', acts, writeCursor(scope, last));
      last = Number(cells[EVENT_AT]);
      acts.push(JSON.stringify(Object.fromEntries(columns.map(({ name }, at) => [name, cells[at] ?? null]))));
    }
    return jsonPage<typeof actsSchema>('acts', acts, null);
  },
};

/** Column of the event of an act. */
const EVENT_AT = 1;
