/** Runs one role in its own process, on configured servers. */

import type { Logger } from 'pino';
import { type Config, type ConfigOf, type Role, requireFor } from '../config.ts';
import { type MigrateOptions, openLedger } from '../ledger/index.ts';
import { type Backends, type Connections, openBackends, openConnections } from './backends.ts';
import { openOutages } from './outages.ts';
import { startProbes } from './probes.ts';
import type { RunningRole } from './running-role.ts';
import { passwordsOf, postgresName } from './server-names.ts';
import { untilMigrated } from './waiting.ts';

/** Adds probes on `PORT` to a role that serves no API. */
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

/** Runs a role with the servers it needs, and closes their connections after it has stopped. */
async function runOn<Opened extends Connections>(
  opened: Opened,
  start: (opened: Opened) => Promise<RunningRole>,
): Promise<RunningRole> {
  const { openMetricsPort } = await import('./metrics-port.ts');
  const metricsPort = await openMetricsPort(opened);
  if (metricsPort.port !== undefined) {
    opened.logger.info({ role: opened.role, metricsPort: metricsPort.port }, 'metrics server is listening');
  }
  const running = await start(opened);
  return {
    async stop(drainMs) {
      await running.stop(drainMs);
      await metricsPort.close();
      await opened.close();
    },
  };
}

export type StandaloneRole = Exclude<Role, 'all' | 'migrate'>;

/** A role's code loads while its connections are being made, so that a wrong URL is reported early. */
const STARTS: {
  readonly [R in StandaloneRole]: (config: ConfigOf<R>, logger: Logger) => Promise<RunningRole>;
} = {
  api: (config, logger) =>
    runOn(openBackends('api', config, logger), async (backends) => {
      const { startApi } = await import('./api.ts');
      return startApi(backends, config.jwtSecret);
    }),
  stream: (config, logger) =>
    runOn(openConnections('stream', config, logger), async (connections) => {
      const { startStream } = await import('./stream.ts');
      return startStream(connections);
    }),
  settlement: (config, logger) =>
    runOn(
      openBackends('settlement', config, logger),
      withProbes(async (backends) => (await import('./settlement.ts')).startSettlement(backends)),
    ),
  snapshot: (config, logger) =>
    runOn(
      openBackends('snapshot', config, logger),
      withProbes(async (backends) => (await import('./snapshot.ts')).startSnapshot(backends)),
    ),
  'operator-api': (config, logger) =>
    runOn(openBackends('operator-api', config, logger), async (backends) => {
      const { startOperatorApi } = await import('./operator-api.ts');
      return startOperatorApi(backends, { port: config.operatorPort, host: config.host });
    }),
};

/** @throws ConfigError that names the missing settings of the role */
export async function startStandalone<R extends StandaloneRole>(
  role: R,
  config: Config,
  logger: Logger,
): Promise<RunningRole> {
  const running = await STARTS[role](requireFor(role, config), logger);
  logger.info({ role }, 'running');
  return running;
}

/** Migrates the database to this release, grants the rights of its users, and returns. */
export async function migrate(config: Config, logger: Logger, options: MigrateOptions): Promise<void> {
  const served = requireFor('migrate', config);
  const ledger = openLedger({ databaseUrl: served.databaseUrl });
  const outages = openOutages(logger, passwordsOf(served));
  let left: string | undefined;
  const prepare = async (): Promise<void> => {
    left = await ledger.migrate({ ...options, onProgress: (line) => logger.info(line) });
  };
  await untilMigrated({ ledger, outages, names: { postgres: postgresName(served.databaseUrl) }, prepare });
  outages.close();
  await ledger.close();
  if (left === undefined) logger.info('the database has the tables of this release');
  else
    logger.warn(`${left} waits for \`redbook migrate\`: stop the processes of the former release before it`);
}
