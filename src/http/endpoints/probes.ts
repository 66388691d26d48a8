/** `GET /livez`, `/readyz` and `/metrics`: what an orchestrator and a monitor ask every process. */

import { json, type Probe } from '../endpoint.ts';
import { errorRecord } from '../redact.ts';

/** The process runs; nothing else is asked, so that a lost database restarts nobody. */
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
