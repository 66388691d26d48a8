/** Runs a role as a process of its own, on servers that are configured. */

import type { Logger } from 'pino';
import { type Config, requireFor } from '../config.ts';
import { openLedger } from '../ledger/index.ts';
import {
  type Backends,
  type Connections,
  openBackends,
  openConnections,
  type ServedConfig,
} from './backends.ts';
import { openOutages } from './outages.ts';
import { startProbes } from './probes.ts';
import type { RunningRole } from './running-role.ts';
import { passwordsOf, postgresName } from './server-names.ts';
import { untilMigrated } from './waiting.ts';

/** Adds probes to a role that serves no API, on the same port. */
const withProbes =
  (start: (backends: Backends) => Promise<RunningRole>) =>
  async (backends: Backends): Promise<RunningRole> => {
    let stage = 'starting';
    let running: RunningRole | undefined;
    const probes = await startProbes(backends, () =>
      stage === 'ok' ? (running?.trouble?.() ?? stage) : stage,
    );
    running = await start(backends);
    stage = 'ok';
    return {
      async stop(drainMs) {
        stage = 'stopping';
        await running?.stop(drainMs);
        await probes.stop(0);
      },
    };
  };

/** Runs a role on the servers it needs, and closes them when it has stopped. */
const on =
  <Opened extends Connections>(
    open: (role: string, config: ServedConfig, logger: Logger) => Opened,
    start: (opened: Opened) => Promise<RunningRole>,
  ) =>
  async (role: string, config: ServedConfig, logger: Logger): Promise<RunningRole> => {
    const opened = open(role, config, logger);
    const { openMetricsPort } = await import('./metrics-port.ts');
    const metricsPort = await openMetricsPort(opened);
    if (metricsPort.port !== undefined) logger.info({ role, metricsPort: metricsPort.port }, 'metrics');
    const running = await start(opened);
    return {
      async stop(drainMs) {
        await running.stop(drainMs);
        await metricsPort.close();
        await opened.close();
      },
    };
  };

/** The code of a role is loaded while its connections are being made, so that a wrong URL is reported early. */
const STARTS = {
  api: on(openBackends, async (backends) => {
    const { startApi } = await import('./api.ts');
    return startApi(backends, backends.config.jwtSecret!);
  }),
  stream: on(openConnections, async (connections) => (await import('./stream.ts')).startStream(connections)),
  settlement: on(
    openBackends,
    withProbes(async (backends) => (await import('./settlement.ts')).startSettlement(backends)),
  ),
  snapshot: on(
    openBackends,
    withProbes(async (backends) => (await import('./snapshot.ts')).startSnapshot(backends)),
  ),
};

export type StandaloneRole = keyof typeof STARTS;

/** @throws ConfigError that names the missing settings of the role */
export async function startStandalone(
  role: StandaloneRole,
  config: Config,
  logger: Logger,
): Promise<RunningRole> {
  requireFor(role, config);
  const running = await STARTS[role](role, config as ServedConfig, logger);
  logger.info({ role }, 'running');
  return running;
}

/** Migrates the database to this release and ends. */
export async function migrate(config: Config, logger: Logger): Promise<void> {
  requireFor('migrate', config);
  const served = config as ServedConfig;
  const ledger = openLedger({ databaseUrl: served.databaseUrl });
  const outages = openOutages(logger, passwordsOf(served));
  await untilMigrated({ ledger, outages, names: { postgres: postgresName(served.databaseUrl) } });
  outages.close();
  await ledger.close();
  logger.info('the database has the tables of this release');
}
