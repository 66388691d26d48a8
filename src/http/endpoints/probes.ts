/** `GET /livez`, `/readyz` and `/metrics`: probes and metrics of every process. */

import type { livenessSchema, readinessSchema } from '../../contract/probes.ts';
import { errorRecord } from '../../process/redact.ts';
import type { Probe } from '../endpoint.ts';
import { json } from '../replies/reply.ts';

/** Queries no server, so that a database outage does not restart any process. */
export const getLivez: Probe = async () => json<typeof livenessSchema>({ status: 'ok' });

export const getReadyz: Probe = async (services, requestId, isDeep) => {
  try {
    const { ready, checks } = await services.ready(isDeep);
    return json<typeof readinessSchema>({ ready, checks }, ready ? 200 : 503);
  } catch (error) {
    services.logger.error({ error: errorRecord(error), requestId }, 'the readiness check failed');
    return json<typeof readinessSchema>({ ready: false, checks: {} }, 503);
  }
};

export const getMetrics: Probe = async ({ metrics }) => ({
  status: 200,
  contentType: metrics.contentType,
  text: await metrics.text(),
});
