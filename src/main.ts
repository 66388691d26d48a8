/** `redbook <role>` runs a part of the service, `redbook <noun> <verb>` an operator's command. */

import { join } from 'node:path';
import { destination, type Level, type Logger, multistream, pino } from 'pino';
import { type Config, ConfigError, readConfig, requireFor } from './config.ts';
import { runOperator } from './operator/command-line.ts';
import { startAll } from './roles/all.ts';
import { startApi } from './roles/api.ts';
import { type Backends, openBackends, type ServedConfig } from './roles/backends.ts';
import { openOperatorServices } from './roles/operator.ts';
import { startProbes } from './roles/probes.ts';
import type { RunningRole } from './roles/running-role.ts';
import { startSettlement } from './roles/settlement.ts';

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** A role on servers that are configured, with probes of its own where it serves no API. */
async function startRole(role: 'api' | 'settlement', config: Config, logger: Logger): Promise<RunningRole> {
  requireFor(role, config);
  const backends: Backends = openBackends(config as ServedConfig, logger);
  const probes = role === 'api' ? undefined : await startProbes(backends);
  const running =
    role === 'api' ? await startApi(backends, config.jwtSecret!) : await startSettlement(backends);
  logger.info({ role }, 'running');
  return {
    async stop(drainMs) {
      await running.stop(drainMs);
      await probes?.stop(0);
      await backends.close();
    },
  };
}

async function migrate(config: Config, logger: Logger): Promise<void> {
  requireFor('migrate', config);
  const { openLedger } = await import('./ledger/index.ts');
  const ledger = openLedger({ databaseUrl: config.databaseUrl! });
  await ledger.migrate();
  await ledger.close();
  logger.info('the database has the tables of this release');
}

/** SIGTERM drains, Ctrl-C has nobody to wait for, and a second signal ends at once. */
function stopOnSignal(starting: Promise<RunningRole>, drainMs: number, say: (line: string) => void): void {
  let stopping = false;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    say('Stopping …');
    const running = await starting;
    await running.stop(signal === 'SIGTERM' ? drainMs : 0);
    say('Stopped.');
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** What people read is on stdout. The log of the all-in-one is a file beside its data; what is serious is on stderr too. */
function allInOneLogger({ logLevel, dataDir }: Config): Logger {
  if (logLevel === 'silent') return pino({ level: logLevel });
  const file = destination({ dest: join(dataDir, 'redbook.log'), mkdir: true, sync: false });
  return pino(
    { level: logLevel },
    multistream([
      { level: logLevel as Level, stream: file },
      { level: 'error', stream: destination(2) },
    ]),
  );
}

async function main(argv: readonly string[]): Promise<void> {
  const [name] = argv;
  const config = readConfig(process.env);
  const logger = pino({ level: config.logLevel });
  switch (name) {
    case 'all': {
      requireFor('all', config);
      const starting = startAll(config, allInOneLogger(config), print);
      stopOnSignal(starting, 0, print);
      await starting;
      return;
    }
    case 'api':
    case 'settlement': {
      const starting = startRole(name, config, logger);
      stopOnSignal(starting, config.drainMs, (line) => logger.info(line));
      await starting;
      return;
    }
    case 'migrate':
      return migrate(config, logger);
    default:
      process.exitCode = await runOperator([...argv], () => openOperatorServices(config));
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(
    error instanceof ConfigError ? `${error.message}\n` : `${String((error as Error)?.stack ?? error)}\n`,
  );
  process.exit(error instanceof ConfigError ? 2 : 1);
});
