/** Schemas of the replies of the probes. */

import { z } from 'zod';

export const livenessSchema = z.strictObject({ status: z.literal('ok') });

export const readinessSchema = z
  .strictObject({
    ready: z.boolean(),
    checks: z.record(z.string(), z.string()).describe('`ok` or the problem, for each dependency'),
  })
  .meta({ examples: [{ ready: true, checks: { process: 'ok', engine: 'ok' } }] });

export const metricsText = z.string().describe('Prometheus text format');
