/** Liveness, readiness and metrics of a process that serves no API. */

import { createServer } from 'node:http';
import { createProbeApp } from '../http/app.ts';
import type { Backends } from './backends.ts';
import type { RunningRole } from './running-role.ts';

export async function startProbes({
  config,
  logger,
  metrics,
  engine,
  ledger,
}: Backends): Promise<RunningRole> {
  const app = createProbeApp({
    logger,
    metrics,
    ready: async () => {
      const postgres = await ledger.cursor().then(
        () => 'ok',
        (error: Error) => error.message,
      );
      const checks = { engine: engine.isOpen() ? 'ok' : 'not open', postgres };
      return { ready: Object.values(checks).every((state) => state === 'ok'), checks };
    },
  });
  const server = createServer(app);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.port, resolve);
  });
  return {
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
