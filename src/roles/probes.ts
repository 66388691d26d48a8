/** Liveness, readiness and metrics of a process that serves no API. */

import { createProbeApp } from '../http/app.ts';
import { createHttpServer } from '../http/server.ts';
import type { Backends } from './backends.ts';
import { listen } from './listening.ts';
import type { RunningRole } from './running-role.ts';

/** @param stage `ok` while the role does its work; before and after, what it is about */
export async function startProbes(backends: Backends, stage: () => string): Promise<RunningRole> {
  const { config, logger, metrics, engine, ledger } = backends;
  const app = createProbeApp({
    logger,
    metrics,
    ready: async () => {
      const postgres = await ledger.cursor().then(
        () => 'ok',
        (error: Error) => error.message,
      );
      const checks = { process: stage(), engine: engine.isOpen() ? 'ok' : 'not open', postgres };
      return { ready: Object.values(checks).every((state) => state === 'ok'), checks };
    },
  });
  const server = createHttpServer(app);
  await listen(server, config.port);
  return {
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
