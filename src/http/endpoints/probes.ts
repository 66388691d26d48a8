/** `GET /livez`, `/readyz` and `/metrics`: what an orchestrator and a monitor ask every process. */

import { json, type ProbeEndpoint } from '../endpoint.ts';
import { errorRecord } from '../redact.ts';

/** The process runs; nothing else is asked, so that a lost database restarts nobody. */
export const getLivez: ProbeEndpoint = {
  async handle() {
    return json({ status: 'ok' });
  },
};

export const getReadyz: ProbeEndpoint = {
  async handle({ services }) {
    try {
      const { ready, checks } = await services.ready();
      return json({ ready, checks }, ready ? 200 : 503);
    } catch (error) {
      services.logger.error({ error: errorRecord(error) }, 'the readiness check failed');
      return json({ ready: false, checks: {} }, 503);
    }
  },
};

export const getMetrics: ProbeEndpoint = {
  async handle({ services: { metrics } }) {
    return { status: 200, contentType: metrics.contentType, text: await metrics.text() };
  },
};
