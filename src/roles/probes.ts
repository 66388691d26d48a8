/** Serves liveness, readiness and metrics of a process without the API. */

import { createProbeApp } from '../http/app.ts';
import { createHttpServer } from '../http/server.ts';
import type { Backends } from './backends.ts';
import { listen } from './listening.ts';
import { askedServer } from './readiness.ts';
import type { RunningRole } from './running-role.ts';

/** @param stage `ok` while the role does its work, otherwise the stage of starting or stopping */
export async function startProbes(backends: Backends, stage: () => string): Promise<RunningRole> {
  const { config, logger, metrics, hasMetricsPort, engineState, queueRights, ledger } = backends;
  const askPostgres = askedServer('Postgres', logger, () => ledger.settlement.cursor());
  const app = createProbeApp({
    logger,
    metrics,
    hasMetricsPort,
    ready: async () => {
      const postgres = await askPostgres();
      const checks = { process: stage(), engine: engineState(), queueRedis: queueRights(), postgres };
      return { ready: Object.values(checks).every((state) => state === 'ok'), checks };
    },
  });
  const server = createHttpServer(app);
  await listen(server, config);
  return {
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
