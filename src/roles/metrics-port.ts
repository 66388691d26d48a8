/** `/metrics` on a port of its own, for operators who keep it from the port that clients reach. */

import { createMetricsApp } from '../http/app.ts';
import { createHttpServer } from '../http/server.ts';
import type { Connections } from './backends.ts';
import { listen } from './listening.ts';

interface MetricsPort {
  /** The port that was taken; absent when `/metrics` is served on `PORT`. */
  readonly port?: number;
  close(): Promise<void>;
}

/** Listens on `METRICS_PORT`, if it is set. It answers until it is closed: the last figures are of the drain. */
export async function openMetricsPort(connections: Connections): Promise<MetricsPort> {
  const { config, logger, metrics } = connections;
  if (config.metricsPort === undefined) return { close: async () => undefined };
  const server = createHttpServer(createMetricsApp({ logger, metrics }));
  const listening = await listen(server, config.metricsPort, 'METRICS_PORT');
  return { port: listening.port, close: () => listening.close(0) };
}
