/** Entry point: `redbook <role>` runs a part of the service, `redbook <noun> <verb>` runs an operator's command. */

import { hostname } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Logger, multistream, pino } from 'pino';
import { type Config, readConfig, readOwnCopies } from './config.ts';
import { StartRefusal } from './domain/errors.ts';
import { errorRecord } from './process/redact.ts';
import { exportSpans, type SpanExport } from './process/spans.ts';
import { consoleOf } from './roles/console.ts';
import { openLogFile } from './roles/log-file.ts';
import type { RunningRole } from './roles/running-role.ts';
import { onStopSignal } from './roles/stop-signal.ts';

/**
 * Errors are redacted and cut wherever they are logged: drivers attach whole commands, which contain text from clients.
 */
const serializers = {
  err: (error: unknown) => (error instanceof Error ? errorRecord(error) : error),
};

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/**
 * Makes the logger of a process of a cluster: JSON with the names of levels, and with what tells its lines from those of
 * other processes and installations where all logs come together.
 */
const clusterLogger = (role: string, { logLevel, serviceName }: Config): Logger =>
  pino({
    level: logLevel,
    serializers,
    base: { hostname: hostname(), service: `redbook-${role}`, installation: serviceName },
    formatters: { level: (label) => ({ level: label }) },
  });

/**
 * Makes the logger of the all-in-one. Text for people goes to stdout and the log to a file beside the data. Serious
 * lines also go to stderr, in plain words. The file is open when this returns, so that a process that exits at once can
 * still log.
 */
function allInOneLogger({ logLevel, dataDir }: Config): Logger {
  if (logLevel === 'silent') return pino({ level: logLevel });
  const file = openLogFile(join(dataDir, 'redbook.log'));
  return pino(
    { level: logLevel, serializers },
    multistream([
      { level: logLevel, stream: file },
      { level: 'error', stream: consoleOf((line) => process.stderr.write(`${line}\n`)) },
    ]),
  );
}

const spansOf = async (
  role: string,
  { otlpEndpoint, serviceName }: Config,
): Promise<SpanExport | undefined> =>
  otlpEndpoint === undefined
    ? undefined
    : exportSpans(otlpEndpoint, { name: `redbook-${role}`, installation: serviceName });

/**
 * Runs until a signal. SIGTERM drains connections, Ctrl-C stops without draining, and a second signal exits at once. A
 * role that still waits for a dependency exits at once too, because it has nothing to finish and may wait for ever.
 */
async function runUntilSignal(
  starting: Promise<RunningRole>,
  { drainMs, spans }: { readonly drainMs: number; readonly spans: SpanExport | undefined },
  say: (line: string) => void,
): Promise<void> {
  let running: RunningRole | undefined;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    say('Stopping …');
    await running?.stop(signal === 'SIGTERM' ? drainMs : 0);
    await spans?.close();
    say('Stopped.');
    process.exit(0);
  };
  onStopSignal((signal) => void stop(signal));
  running = await starting;
}

/**
 * Each command imports only what it needs, so that an operator's command does not wait for the servers' code to load.
 */
async function main(argv: readonly string[]): Promise<void> {
  const [name = ''] = argv;
  // It examines settings that are wrong, too.
  if (name === 'doctor') {
    const { tellDoctor } = await import('./roles/doctor.ts');
    return process.exit(await tellDoctor(process.env, argv.slice(1), print));
  }
  const config = readConfig(process.env);
  switch (name) {
    case 'api':
    case 'stream':
    case 'settlement':
    case 'snapshot':
    case 'operator-api': {
      const spans = await spansOf(name, config);
      const { startStandalone } = await import('./roles/standalone.ts');
      const logger = clusterLogger(name, config);
      const starting = startStandalone(name, config, logger).catch((error: unknown) => {
        if (error instanceof StartRefusal) logger.fatal(error.message);
        throw error;
      });
      return runUntilSignal(starting, { drainMs: config.drainMs, spans }, (line) => logger.info(line));
    }
    case 'all': {
      const copies = readOwnCopies(argv.slice(1), config);
      const spans = await spansOf(name, config);
      const { startAll } = await import('./roles/all.ts');
      return runUntilSignal(
        startAll(config, copies, () => allInOneLogger(config), print),
        { drainMs: 0, spans },
        print,
      );
    }
    case 'migrate': {
      const { migrate } = await import('./roles/standalone.ts');
      const { values } = parseArgs({ args: argv.slice(1), options: { additive: { type: 'boolean' } } });
      return migrate(config, clusterLogger(name, config), { additiveOnly: values.additive ?? false });
    }
    case 'demo': {
      const { tellDemo } = await import('./roles/demo.ts');
      return process.exit(await tellDemo(config, argv.slice(1), print));
    }
    default: {
      const { runOperator } = await import('./operator/command-line.ts');
      const status = await runOperator(argv, async () => {
        const { openOperatorServices } = await import('./roles/operator.ts');
        return openOperatorServices(config);
      });
      // All output has been flushed. A connection that still retries an unavailable server must not keep the process
      // alive.
      process.exit(status);
    }
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const isOurs = error instanceof StartRefusal;
  process.stderr.write(`${isOurs ? error.message : String((error as Error)?.stack ?? error)}\n`);
  process.exit(isOurs ? error.exitStatus : 1);
});
