/** A role as a process of its own, on servers that are configured. */

import type { Logger } from 'pino';
import { type Config, requireFor } from '../config.ts';
import { openLedger } from '../ledger/index.ts';
import { startApi } from './api.ts';
import { type Backends, openBackends, type ServedConfig } from './backends.ts';
import { startProbes } from './probes.ts';
import type { RunningRole } from './running-role.ts';
import { startSettlement } from './settlement.ts';
import { untilDone } from './waiting.ts';

/** A role that serves no API answers probes on the same port. */
const withProbes =
  (start: (backends: Backends) => Promise<RunningRole>) =>
  async (backends: Backends): Promise<RunningRole> => {
    const probes = await startProbes(backends);
    const running = await start(backends);
    return {
      async stop(drainMs) {
        await running.stop(drainMs);
        await probes.stop(0);
      },
    };
  };

const STARTS = {
  api: (backends: Backends) => startApi(backends, backends.config.jwtSecret!),
  settlement: withProbes(startSettlement),
} satisfies Record<string, (backends: Backends) => Promise<RunningRole>>;

export type StandaloneRole = keyof typeof STARTS;

/** @throws ConfigError naming what the role needs and was not given */
export async function startStandalone(
  role: StandaloneRole,
  config: Config,
  logger: Logger,
): Promise<RunningRole> {
  requireFor(role, config);
  const backends = openBackends(role, config as ServedConfig, logger);
  const running = await STARTS[role](backends);
  logger.info({ role }, 'running');
  return {
    async stop(drainMs) {
      await running.stop(drainMs);
      await backends.close();
    },
  };
}

/** Brings the database to this release and ends. */
export async function migrate(config: Config, logger: Logger): Promise<void> {
  requireFor('migrate', config);
  const ledger = openLedger({ databaseUrl: config.databaseUrl! });
  await untilDone('Postgres', logger, () => ledger.migrate());
  await ledger.close();
  logger.info('the database has the tables of this release');
}
