/** `/operator/v1/trading`, `/terms`, `/status` and `/reconcile`: switches of the whole service, and its state. */

import { readStatus, reconciledDocument } from '../../books/status.ts';
import {
  type lastReconcileSchema,
  type requiredTermsSchema,
  reasonRequest,
  requireTermsRequest,
  type serviceStatusSchema,
  type tradingSchema,
} from '../../contract/operator.ts';
import { Refusal } from '../../domain/errors.ts';
import { checked } from '../checked.ts';
import { json } from '../replies/reply.ts';
import type { OperatorEndpoint } from './services.ts';

const switchTrading = (paused: boolean): OperatorEndpoint => ({
  request: reasonRequest,
  readsBody: true,
  async handle({ services, body }) {
    checked(reasonRequest, body);
    const { switches } = services.engine;
    await (paused ? switches.pause() : switches.resume());
    services.wakeSettlement();
    return json<typeof tradingSchema>({ paused });
  },
});

export const postPause = switchTrading(true);
export const postResume = switchTrading(false);

export const postTerms: OperatorEndpoint = {
  request: requireTermsRequest,
  readsBody: true,
  async handle({ services, body }) {
    const { version } = checked(requireTermsRequest, body);
    await services.engine.switches.requireTerms(version);
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
    const last = await services.ledger.checks.lastReconcile();
    if (last === null) throw new Refusal('NOT_FOUND', 'the books were never reconciled');
    return json<typeof lastReconcileSchema>(reconciledDocument(last));
  },
};
