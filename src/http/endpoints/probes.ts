/** `GET /livez`, `/readyz` and `/metrics`: probes and metrics of every process. */

import { json, type Probe } from '../endpoint.ts';
import { errorRecord } from '../redact.ts';

/** Asks no server, so that a lost database restarts no process. */
export const getLivez: Probe = async () => json({ status: 'ok' });

export const getReadyz: Probe = async (services, requestId) => {
  try {
    const readiness = await services.ready();
    return json({ ready: readiness.ready, checks: readiness.checks }, readiness.ready ? 200 : 503);
  } catch (error) {
    services.logger.error({ error: errorRecord(error), requestId }, 'the readiness check failed');
    return json({ ready: false, checks: {} }, 503);
  }
};

export const getMetrics: Probe = async ({ metrics }) => ({
  status: 200,
  contentType: metrics.contentType,
  text: await metrics.text(),
});
