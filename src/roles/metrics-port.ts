/** Serves `/metrics` on a separate port, for operators who do not want it on the port of the clients. */

import { createMetricsApp } from '../http/app.ts';
import { createHttpServer } from '../http/server.ts';
import type { Connections } from './backends.ts';
import { listen } from './listening.ts';

interface MetricsPort {
  /** Actual port; absent if `/metrics` is served on `PORT`. */
  readonly port?: number;
  close(): Promise<void>;
}

/** Listens on `METRICS_PORT` if it is set. It answers until it is closed, so that the drain can be observed. */
export async function openMetricsPort(connections: Connections): Promise<MetricsPort> {
  const { config, logger, metrics } = connections;
  const { host, metricsPort: port } = config;
  if (port === undefined) return { close: async () => undefined };
  const server = createHttpServer(createMetricsApp({ logger, metrics }));
  const listening = await listen(server, { port, host }, 'METRICS_PORT');
  return { port: listening.port, close: () => listening.close(0) };
}
