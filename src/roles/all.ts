/** Runs the whole service in one process. Starts its own Redis and Postgres unless the settings name others. */

import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { type Config, listeningOn, OWN_HOST } from '../config.ts';
import { DEMO_MARKETS } from '../demo/markets.ts';
import { StartRefusal } from '../domain/errors.ts';
import type { Engine } from '../engine/index.ts';
import type { Backends } from './backends.ts';
import { tryPort } from './listening.ts';
import { openOutages } from './outages.ts';
import { loadEmbedded, servedBy } from './own-servers.ts';
import type { RunningRole } from './running-role.ts';
import { scoutServers } from './scout.ts';
import { passwordsOf } from './server-names.ts';
import { untilDone } from './waiting.ts';
import { localUrl, operatorsLine, welcome } from './welcome.ts';

const NO_OWN_SERVERS =
  'The role all runs a Redis and a Postgres of its own, which this installation leaves out. ' +
  'Run the roles api, stream, settlement and snapshot, on servers that REDIS_URL and DATABASE_URL name.';

/** Path of the all-in-one's log, in the data folder. */
const logFileOf = ({ dataDir }: Pick<Config, 'dataDir'>): string => resolve(join(dataDir, 'redbook.log'));

/**
 * Starts everything. Prints the progress and the next steps in plain words.
 * @param copies number of copies of its own engine; absent for an engine without copies
 * @param openLog called once the data folder is locked, so that the log can be opened there
 * @throws StartRefusal
 */
export async function startAll(
  asked: Config,
  copies: number | undefined,
  openLog: () => Logger,
  print: (line: string) => void,
): Promise<RunningRole> {
  const { dataDir, redisUrl, databaseUrl } = asked;
  const own = await loadEmbedded();
  if (own === undefined) throw new StartRefusal(NO_OWN_SERVERS, 2);
  const folder = own.claimFolder(dataDir);
  const { port, logger } = await tryPort(asked)
    .then((port) => ({ port, logger: openLog() }))
    .catch((error: unknown) => {
      folder.release();
      throw error;
    });
  const outages = openOutages(logger, passwordsOf(asked));
  const scout = scoutServers(asked, outages);
  print(`The log is ${logFileOf(asked)}`);
  const embedded = await folder.start({
    redisUrl,
    databaseUrl,
    copies,
    onProgress: print,
  });
  const config = listeningOn(asked, port);
  const isOwn = redisUrl === undefined && databaseUrl === undefined;
  const served = servedBy(config, embedded);
  const { openBackends } = await import('./backends.ts');
  const backends = openBackends('all', served, logger, outages);
  scout.close();
  print('Preparing the ledger …');
  const roles = await startRoles(backends, config, config.jwtSecret ?? embedded.jwtSecret);
  if (isOwn) await createDemoMarkets(backends.engine, config.networkId);
  if (config.webHosts.length === 0)
    print('WEB_HOSTS is not set: nobody can sign in by EIP-4361 (SIWE) until it is.');
  const markets = await untilDone(() => backends.engine.markets.all());
  embedded.announce({
    url: localUrl({ ...config, port: roles.port }),
    webHost: config.webHosts[0] ?? `localhost:${roles.port}`,
  });
  for (const line of ['', ...welcome(config, markets, isOwn)]) print(line);
  print(operatorsLine(roles.operatorPort, config.operatorPort));
  if (roles.metricsPort !== undefined) print(`Metrics: http://localhost:${roles.metricsPort}/metrics`);
  return {
    async stop(drainMs) {
      await roles.stop(drainMs);
      await backends.close();
      await embedded.stop();
    },
  };
}

interface RunningRoles extends RunningRole {
  /** Actual ports. */
  readonly port: number;
  readonly operatorPort: number;
  readonly metricsPort: number | undefined;
}

async function startRoles(backends: Backends, config: Config, jwtSecret: string): Promise<RunningRoles> {
  const [
    { openMetricsPort },
    { startApi },
    { startOperatorApi },
    { openStreamsOn },
    { startSettlement },
    { startSnapshot },
  ] = await Promise.all([
    import('./metrics-port.ts'),
    import('./api.ts'),
    import('./operator-api.ts'),
    import('./stream.ts'),
    import('./settlement.ts'),
    import('./snapshot.ts'),
  ]);
  const metricsPort = await openMetricsPort(backends);
  // The API waits for an open engine, whose copies have no primary before settlement runs.
  const [api, settlement] = await Promise.all([startApi(backends, jwtSecret), startSettlement(backends)]);
  const streams = openStreamsOn(api.server, backends);
  const operators = await startOperatorApi(backends, {
    port: config.operatorPort,
    host: OWN_HOST,
    nearby: true,
  });
  const snapshot = await startSnapshot(backends);
  return {
    port: api.port,
    operatorPort: operators.port,
    metricsPort: metricsPort.port,
    async stop(drainMs) {
      await Promise.all([streams.stop(drainMs), api.stop(drainMs), operators.stop(drainMs)]);
      await snapshot.stop(drainMs);
      await settlement.stop(drainMs);
      await metricsPort.close();
    },
  };
}

/**
 * Creates the demo's markets if no market exists. A server may become unavailable at any time, so each step is retried
 * until it succeeds. A retry after a lost reply finds the market that was created.
 */
async function createDemoMarkets(engine: Engine, networkId: string): Promise<void> {
  if ((await untilDone(() => engine.markets.all())).length > 0) return;
  await untilDone(() => engine.assets.set({ symbol: 'USDC', scale: 6 }));
  for (const market of DEMO_MARKETS) {
    await untilDone(async () => {
      const known = await engine.markets.all();
      if (known.some(({ symbol }) => symbol === market.symbol)) return;
      await engine.markets.create({ ...market, networkId });
    });
  }
}
