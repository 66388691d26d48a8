/** `GET /livez`, `/readyz` and `/metrics`: probes and metrics of every process. */

import { z } from 'zod';
import { livenessSchema, metricsText, readinessSchema } from '../../contract/probes.ts';
import { errorRecord } from '../../process/redact.ts';
import { probe } from '../route.ts';

/** Served on the main port, unless METRICS_PORT sets a separate one. */
export const METRICS_PATH = '/metrics';

/** Queries no server, so that a database outage does not restart any process. */
export const getLivez = probe({
  path: '/livez',
  id: 'getLiveness',
  summary: 'Returns 200 while the process runs',
  reply: livenessSchema,
  handle: async (_services, _call, write) => write.json({ status: 'ok' }),
});

export const getReadyz = probe({
  path: '/readyz',
  id: 'getReadiness',
  summary: 'Returns 200 if the process takes requests, else 503',
  description:
    'A process that serves the API takes requests once it has started, also while a server is away. `?deep` asks for its servers as well.',
  reply: readinessSchema,
  parameters: { deep: z.string().optional().describe('present to ask for the servers of the process') },
  alsoWith: [503],
  async handle(services, { requestId, isDeep }, write) {
    try {
      const { ready, checks } = await services.ready(isDeep);
      return write.json({ ready, checks }, ready ? 200 : 503);
    } catch (error) {
      services.logger.error({ error: errorRecord(error), requestId }, 'the readiness check failed');
      return write.json({ ready: false, checks: {} }, 503);
    }
  },
});

export const getMetrics = probe({
  path: METRICS_PATH,
  id: 'getMetrics',
  summary: 'Returns metrics of the process',
  description: 'All callers share one read a second. Where `METRICS_PORT` is set, only that port answers.',
  reply: metricsText,
  contentType: 'text/plain',
  handle: async ({ metrics }) => ({
    status: 200,
    contentType: metrics.contentType,
    text: await metrics.text(),
  }),
});
